#include <kunit/test.h>
#include "suites.h"
static struct kunit_case cases[] = { {} };
struct kunit_suite ddp_header_suite = { .name = "ddp_header", .test_cases = cases };
