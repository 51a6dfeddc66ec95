// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Compiles with every kernel. If it does not, the results of the other probes mean nothing. */
#include <net/sock.h>
#include <rdma/ib_verbs.h>
