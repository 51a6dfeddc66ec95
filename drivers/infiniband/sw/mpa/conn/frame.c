// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Frames of the startup, to the stream and from it: the Request, the Reply, and the RtR
 * frame behind it. What is in them is wire/startup.c's.
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

/* The next @n unread bytes: done with them. */
static void take_bytes(struct rnic_sock *s, void *to, u32 n)
{
	struct rnic_cursor at;

	rnic_sock_rewind(s, &at, 0);
	rnic_sock_copy(s, &at, to, n);
	rnic_sock_consume(s, n);
}

/**
 * rnic_frame_read() - take what has arrived of the frame that is due
 * @ep:		endpoint, its socket locked; @frame and @have are the frame so far
 * @kind:	which frame
 *
 * Never reads beyond it: FPDUs may follow (NEG-37). What cannot become such a frame is
 * known as soon as the bytes that say so are there.
 *
 * Return: 1 when it is whole, 0 when more is to come, -EPROTO when it is none.
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
		take_bytes(&ep->conn.s, ep->frame + ep->have, n);
		ep->have += n;
	}
}
