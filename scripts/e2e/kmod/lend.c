// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A kernel consumer makes an MPA stream of a TCP connection that it uses already. Both ends are
 * here: a is the initiator, b the responder.
 */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <rdma/rdma_mpa.h>

#include "memprobe.h"

#define PORT	19999
#define WAIT	(20 * HZ)
#define READY	"ready"

/* The module under test may be another one, which does not export these. */
static typeof(&rdma_mpa_start) mpa_start;
static typeof(&rdma_mpa_accept) mpa_accept;
static typeof(&rdma_mpa_reject) mpa_reject;
static typeof(&rdma_mpa_status) mpa_status;

/**
 * struct talker - one end
 * @e:		its queue pair, without rdma_cm
 * @id:		has only the queue pair
 * @sock:	its end of the connection
 * @news:	counts the calls of the event function
 */
struct talker {
	struct end e;
	struct rdma_cm_id id;
	struct socket *sock;
	struct completion news;
};

static struct ib_pd *pd;
static u8 *memory;

static void tell(void *context)
{
	complete(context);
}

/* Return: 0, or -errno of the socket. */
static int say(struct talker *t, const char *text)
{
	struct kvec vec = { .iov_base = (void *)text, .iov_len = strlen(text) };
	struct msghdr msg = {};
	int ret = kernel_sendmsg(t->sock, &msg, &vec, 1, vec.iov_len);

	return ret < 0 ? ret : 0;
}

static int hear(struct talker *t, const char *text)
{
	char buf[64] = "";
	struct kvec vec = { .iov_base = buf, .iov_len = strlen(text) };
	struct msghdr msg = {};
	int ret = kernel_recvmsg(t->sock, &msg, &vec, 1, vec.iov_len, MSG_WAITALL);

	if (ret < 0)
		return ret;
	return strcmp(buf, text) ? complain("%s: '%s', not '%s'", t->e.name, buf, text) : 0;
}

static int expect_busy(struct talker *t)
{
	if (say(t, "x") != -EBUSY || hear(t, "x") != -EBUSY ||
	    kernel_sock_shutdown(t->sock, SHUT_RDWR) != -EBUSY)
		return complain("%s: the socket is not busy", t->e.name);
	return 0;
}

/* Events of earlier states may still be counted. */
static int expect_state(struct talker *t, enum mpa_stream_state state, const char *text)
{
	struct mpa_status status;

	for (;;) {
		if (mpa_status(t->sock, &status))
			return complain("%s: no status", t->e.name);
		if (status.state == state)
			break;
		if (!wait_for_completion_timeout(&t->news, WAIT))
			return complain("%s: state %u, error %u, not %u", t->e.name, status.state,
					status.error, state);
	}
	if (status.private_data_len != strlen(text) ||
	    memcmp(status.private_data, text, strlen(text)))
		return complain("%s: '%.*s', not '%s'", t->e.name, status.private_data_len,
				status.private_data, text);
	return 0;
}

static int start(struct talker *t, enum mpa_role role, const char *text)
{
	struct rdma_mpa_start s = { .role = role, .event = tell, .context = &t->news };

	if (role == MPA_INITIATOR) {
		s.ird = 4;
		s.ord = 4;
		s.private_data = text;
		s.private_data_len = strlen(text);
	} else {
		s.last = text;
		s.last_len = strlen(text);
	}
	return mpa_start(t->sock, t->id.qp, &s);
}

/* Until b has the Request */
static int ask(struct talker *a, struct talker *b)
{
	int ret;

	ret = say(a, "mpa, please");
	ret = ret ?: hear(b, "mpa, please");
	ret = ret ?: start(b, MPA_RESPONDER, READY);
	ret = ret ?: expect_busy(b);
	ret = ret ?: hear(a, READY);
	ret = ret ?: start(a, MPA_INITIATOR, "who");
	ret = ret ?: expect_busy(a);
	if (ret)
		return complain("the start: %d", ret);
	return expect_state(b, MPA_STREAM_REQUESTED, "who");
}

static int reject(struct talker *a, struct talker *b)
{
	int ret;

	ret = ask(a, b);
	ret = ret ?: mpa_reject(b->sock, "no", 2);
	ret = ret ?: expect_state(a, MPA_STREAM_REJECTED, "no");
	ret = ret ?: say(a, "never mind");
	ret = ret ?: hear(b, "never mind");
	ret = ret ?: say(b, "sorry");
	return ret ?: hear(a, "sorry");
}

static int transfer(struct talker *a, struct talker *b)
{
	u64 from = (uintptr_t)memory, to = from + 1000;
	struct ib_sge sge = { .addr = from, .length = 1000, .lkey = pd->local_dma_lkey };
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ib_wc wc;
	int ret;

	memset(memory, 0x5a, 1000);
	ret = end_post_recv(&b->e, to, 1000, pd->local_dma_lkey);
	ret = ret ?: end_do(&a->e, &send);
	ret = ret ?: end_wait(&b->e, &wc);
	if (ret || wc.status || wc.byte_len != 1000 || memchr_inv(memory, 0x5a, 2000))
		return complain("the Send: %d", ret);
	memset(memory, 0xa5, 1000);
	ret = end_rdma(&b->e, IB_WR_RDMA_WRITE, memory, 1000, to + 1000, pd->unsafe_global_rkey);
	ret = ret ?: end_rdma(&b->e, IB_WR_RDMA_READ, memory + 3000, 1000, to + 1000,
			      pd->unsafe_global_rkey);
	if (ret || memchr_inv(memory + 2000, 0xa5, 2000))
		return complain("the Write or the Read: %d", ret);
	return 0;
}

static int accept(struct talker *a, struct talker *b)
{
	int ret;

	ret = ask(a, b);
	ret = ret ?: mpa_accept(b->sock, 4, 4, "me", 2);
	ret = ret ?: expect_state(b, MPA_STREAM_ESTABLISHED, "who");
	ret = ret ?: expect_state(a, MPA_STREAM_ESTABLISHED, "me");
	return ret ?: transfer(a, b);
}

static void hang_up(struct talker *t)
{
	if (t->sock)
		sock_release(t->sock);
	t->sock = NULL;
}

static int expect_error(int ret, int err, const char *what)
{
	return ret == err ? 0 : complain("%s: %d, not %d", what, ret, err);
}

static int await_bytes(struct socket *sock)
{
	unsigned long end = jiffies + WAIT;

	while (skb_queue_empty_lockless(&sock->sk->sk_receive_queue)) {
		if (time_after(jiffies, end))
			return complain("no bytes");
		schedule_timeout_uninterruptible(1);
	}
	return 0;
}

/* What cannot be started is refused, and the connection is as before. */
static int refuse(struct talker *a, struct talker *b)
{
	struct mpa_status status;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct socket *udp, *sock = a->sock;
	int ret;

	if (mpa_status(sock, &status) != -EINVAL || mpa_reject(sock, NULL, 0) != -EINVAL)
		return complain("a plain socket has a status");
	ret = sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &udp);
	if (ret)
		return ret;
	a->sock = udp;
	ret = start(a, MPA_INITIATOR, "") ? 0 : complain("a UDP socket was taken");
	a->sock = sock;
	sock_release(udp);
	sock->sk->sk_user_data = a;
	ret = ret ?: expect_error(start(a, MPA_INITIATOR, ""), -EBUSY, "another user's socket");
	sock->sk->sk_user_data = NULL;
	ret = ret ?: expect_error(start(a, 0, ""), -EINVAL, "no role");
	ret = ret ?: expect_error(mpa_accept(sock, 0, 0, NULL, 0), -EINVAL, "no Request");
	ret = ret ?: say(b, "unread");
	ret = ret ?: await_bytes(sock);
	ret = ret ?: expect_error(start(a, MPA_INITIATOR, ""), -ENOTEMPTY, "unread bytes");
	ret = ret ?: hear(a, "unread");
	ret = ret ?: ib_modify_qp(a->id.qp, &attr, IB_QP_STATE);
	ret = ret ?: expect_error(start(a, MPA_INITIATOR, ""), -EINVAL, "a queue pair in error");
	ret = ret ?: say(a, "as before");
	return ret ?: hear(b, "as before");
}

static int connect(struct talker *a, struct talker *b)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct socket *listener;
	int ret;

	to.sin_addr.s_addr = in_aton("10.77.9.1");
	ret = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &listener);
	if (ret)
		return complain("socket: %d", ret);
	sock_set_reuseaddr(listener->sk);
	ret = kernel_bind(listener, (void *)&to, sizeof(to));
	ret = ret ?: kernel_listen(listener, 1);
	ret = ret ?: sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &a->sock);
	ret = ret ?: kernel_connect(a->sock, (void *)&to, sizeof(to), 0);
	ret = ret ?: kernel_accept(listener, &b->sock, 0);
	sock_release(listener);
	return ret ? complain("TCP: %d", ret) : 0;
}

static int make_qp(struct talker *t, const char *name)
{
	struct ib_cq_init_attr cq_attr = { .cqe = 16 };
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;
	struct ib_cq *cq;

	t->e.name = name;
	t->e.pd = pd;
	t->e.id = &t->id;
	init_completion(&t->news);
	cq = ib_create_cq(dev, NULL, NULL, NULL, &cq_attr);
	if (IS_ERR(cq))
		return complain("create_cq: %ld", PTR_ERR(cq));
	t->e.cq = cq;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(pd, &attr);
	if (IS_ERR(qp))
		return complain("create_qp: %ld", PTR_ERR(qp));
	t->id.qp = qp;
	return 0;
}

static void free_talker(struct talker *t)
{
	hang_up(t);
	if (t->id.qp)
		ib_destroy_qp(t->id.qp);
	if (t->e.cq)
		ib_destroy_cq(t->e.cq);
}

static int talk(struct talker *a, struct talker *b)
{
	int ret;

	ret = make_qp(a, "a");
	ret = ret ?: make_qp(b, "b");
	ret = ret ?: connect(a, b);
	ret = ret ?: reject(a, b);
	ret = ret ?: accept(a, b);
	hang_up(a);
	return ret ?: expect_state(b, MPA_STREAM_CLOSED, "who");
}

static int talk_and_refuse(void)
{
	static struct talker t[4];
	int i, ret;

	memset(t, 0, sizeof(t));
	ret = talk(&t[0], &t[1]);
	ret = ret ?: make_qp(&t[2], "c");
	ret = ret ?: make_qp(&t[3], "d");
	ret = ret ?: connect(&t[2], &t[3]);
	ret = ret ?: refuse(&t[2], &t[3]);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		free_talker(&t[i]);
	return ret;
}

static int with_functions(void)
{
	int ret = -ENOENT;

	mpa_start = symbol_get(rdma_mpa_start);
	mpa_accept = symbol_get(rdma_mpa_accept);
	mpa_reject = symbol_get(rdma_mpa_reject);
	mpa_status = symbol_get(rdma_mpa_status);
	if (mpa_start && mpa_accept && mpa_reject && mpa_status)
		ret = talk_and_refuse();
	if (mpa_start)
		symbol_put(rdma_mpa_start);
	if (mpa_accept)
		symbol_put(rdma_mpa_accept);
	if (mpa_reject)
		symbol_put(rdma_mpa_reject);
	if (mpa_status)
		symbol_put(rdma_mpa_status);
	return ret;
}

int probe_lend(void)
{
	int ret = -ENOMEM;

	pd = ib_alloc_pd(dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	memory = (u8 *)get_zeroed_page(GFP_KERNEL);
	if (memory)
		ret = with_functions();
	free_page((unsigned long)memory);
	ib_dealloc_pd(pd);
	return ret;
}
