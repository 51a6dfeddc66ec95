// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send and receive startup frames: the Request, the Reply, and the RtR frame.
 * wire/startup.c encodes and parses them.
 */
#include <linux/slab.h>

#include "conn/ep.h"
#include "tcp/stream.h"

/**
 * rnic_frame_send() - send a frame
 * @ep:	endpoint with nothing unsent
 * @f:	the frame
 * @pd:	its Private Data, @f->pd_len bytes
 *
 * Context: process, socket lock not held.
 * Return: 0 or -errno.
 */
int rnic_frame_send(struct rnic_ep *ep, const struct mpa_frame *f, const void *pd)
{
	u8 *buf;
	u32 len;
	int ret;

	buf = kmalloc(MPA_FRAME_MAX, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	len = mpa_frame_build(f, pd, buf);
	ret = len ? rnic_sock_send(&ep->conn.s, buf, len) : -EINVAL;
	kfree(buf);
	return ret;
}

/**
 * rnic_frame_read() - read the bytes that have arrived of a startup frame
 * @ep:		endpoint, its socket locked; @frame and @have hold the frame so far
 * @kind:	which frame
 *
 * Does not read beyond the frame, because FPDUs may follow (NEG-37). Fails at the first byte
 * that cannot belong to such a frame.
 *
 * Context: process.
 * Return: 1 if the frame is complete, 0 if bytes are missing, -EPROTO if it is not such a
 * frame.
 */
int rnic_frame_read(struct rnic_ep *ep, enum mpa_kind kind)
{
	enum wire_err err;
	u32 need, n;

	rnic_sock_assert_locked(&ep->conn.s);
	for (;;) {
		need = mpa_frame_need(ep->frame, ep->have, kind, &err);
		if (err)
			return -EPROTO;
		if (ep->have == need)
			return 1;
		n = min(need - ep->have, rnic_sock_unread(&ep->conn.s));
		if (!n)
			return 0;
		if (rnic_sock_copy(&ep->conn.s, ep->frame + ep->have, n))
			return -EPROTO;
		rnic_sock_consume(&ep->conn.s, n);
		ep->have += n;
	}
}
