#include <kunit/test.h>
#include "suites.h"
static struct kunit_case cases[] = { {} };
struct kunit_suite startup_negotiate_suite = { .name = "startup_negotiate", .test_cases = cases };
