#include <kunit/test.h>
#include "suites.h"
static struct kunit_case cases[] = { {} };
struct kunit_suite startup_frame_suite = { .name = "startup_frame", .test_cases = cases };
