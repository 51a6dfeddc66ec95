// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Compiles with every kernel: where it does not, no other answer means anything. */
#include <net/sock.h>
#include <rdma/ib_verbs.h>
