// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* verbs_probe [-s SERVER] [-p PORT] TEST...: the behaviour that RDMA programs may rely on. */
#include <string.h>

#include "probe.h"

int main(int argc, char **argv)
{
	static const struct test *const groups[] = {
		data_tests, watch_tests, queue_tests, error_tests, ring_tests,
		rnr_tests,
	};
	struct test all[96] = { 0 };
	size_t i, n = 0;
	const struct test *t;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (t = groups[i]; t->name; t++)
			all[n++] = *t;
	return run_tests(argc, argv, all);
}
