// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The code of the tracepoints, made by the kernel's macros out of trace.h.
 */
#define CREATE_TRACE_POINTS
#include "qp/trace.h"
