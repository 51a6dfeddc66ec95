#include <kunit/test.h>
#include "suites.h"
static struct kunit_case cases[] = { {} };
struct kunit_suite rdmap_terminate_suite = { .name = "rdmap_terminate", .test_cases = cases };
