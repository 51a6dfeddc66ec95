#include <kunit/test.h>
#include "suites.h"
static struct kunit_case cases[] = { {} };
struct kunit_suite abi_suite = { .name = "abi", .test_cases = cases };
