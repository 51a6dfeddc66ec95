// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* verbs_probe [-s SERVER] [-p PORT] TEST...: the behaviour that RDMA programs may rely on. */
#include "probe.h"

int main(int argc, char **argv)
{
	static const struct test *const groups[] = {
		data_tests, watch_tests, queue_tests, error_tests, ring_tests,
		rnr_tests, create_tests, show_tests,
	};

	return run_groups(argc, argv, groups, ARRAY_SIZE(groups));
}
