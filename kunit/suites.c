// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Hands the suites to KUnit: by its macro where the kernel has KUnit; by hand
 * where kunit.ko was built outside it, because that one has no module notifier; and
 * in user space to kunit/user/run.c.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include "suites.h"

#if IS_ENABLED(CONFIG_KUNIT)
#define ALL_SUITES(...)	kunit_test_suites(__VA_ARGS__)
#else
#define ALL_SUITES(...)	static struct kunit_suite *suites[] = { __VA_ARGS__ }
#endif

ALL_SUITES(&wire_err_suite, &mpa_size_suite, &mpa_tx_suite, &mpa_rx_suite,
	   &mpa_rx_error_suite, &mpa_every_suite, &mpa_recover_suite, &mpa_recover_hostile_suite,
	   &ddp_header_suite, &ddp_place_suite, &rdmap_terminate_suite, &startup_frame_suite,
	   &startup_negotiate_suite, &startup_machine_suite, &sctp_message_suite,
	   &sctp_session_suite, &sctp_talk_suite, &qp_life_suite, &qp_pace_suite,
	   &qp_readq_suite, &mem_mr_suite, &mem_sgl_suite, &ring_user_suite, &ring_kernel_suite,
	   &ring_cq_suite, &abi_suite);

#if !IS_ENABLED(CONFIG_KUNIT)
static int __init suites_start(void)
{
	return kunit_run_suites(suites, ARRAY_SIZE(suites));
}

static void __exit suites_stop(void)
{
	__kunit_test_suites_exit(suites, ARRAY_SIZE(suites));
}

module_init(suites_start);
module_exit(suites_stop);
#endif

MODULE_DESCRIPTION("KUnit suites of the MPA engine");
MODULE_LICENSE("Dual BSD/GPL");
