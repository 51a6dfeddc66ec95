// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* lend_probe [-s SERVER] [-p PORT] TEST...: MPA on TCP connections that programs use already. */
#include "lend.h"

int main(int argc, char **argv)
{
	static const struct test *const groups[] = {
		lend_both_tests, lend_peer_tests, lend_end_tests, lend_lock_tests, lend_arg_tests,
	};

	return run_groups(argc, argv, groups, ARRAY_SIZE(groups));
}
