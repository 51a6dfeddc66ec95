/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _KUNIT_SUITES_H
#define _KUNIT_SUITES_H

#include <kunit/test.h>

extern struct kunit_suite wire_err_suite;
extern struct kunit_suite mpa_size_suite;
extern struct kunit_suite mpa_tx_suite;
extern struct kunit_suite mpa_rx_suite;
extern struct kunit_suite mpa_rx_error_suite;
extern struct kunit_suite mpa_every_suite;
extern struct kunit_suite mpa_recover_suite;
extern struct kunit_suite mpa_recover_hostile_suite;
extern struct kunit_suite ddp_header_suite;
extern struct kunit_suite ddp_place_suite;
extern struct kunit_suite rdmap_terminate_suite;
extern struct kunit_suite startup_frame_suite;
extern struct kunit_suite startup_negotiate_suite;
extern struct kunit_suite startup_machine_suite;
extern struct kunit_suite sctp_message_suite;
extern struct kunit_suite sctp_session_suite;
extern struct kunit_suite sctp_talk_suite;
extern struct kunit_suite qp_life_suite;
extern struct kunit_suite qp_pace_suite;
extern struct kunit_suite qp_readq_suite;
extern struct kunit_suite mem_mr_suite;
extern struct kunit_suite mem_sgl_suite;
extern struct kunit_suite ring_user_suite;
extern struct kunit_suite ring_kernel_suite;
extern struct kunit_suite ring_cq_suite;
extern struct kunit_suite abi_suite;

/* of a framework that was built outside the kernel (scripts/kunit/framework.sh) */
int kunit_run_suites(struct kunit_suite **suites, int number);

#endif
