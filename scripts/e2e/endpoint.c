// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * endpoint listen ADDRESS PORT | endpoint connect ADDRESS PORT [LETTERS]
 *
 * The program behind the device when its peer is peer.py. It tells what happens
 * to it, one line an event, and does what the Private Data of the Request, or
 * LETTERS, say:
 *
 *	h	send "hello" as soon as the connection stands
 *	e	send back what arrives
 *	n	no receives are posted; s: receives of 16 octets
 *	x	reject; w: never answer
 *	q	send 8 messages of 16384 octets as soon as it stands, and disconnect
 *	b	its queue pair is broken before it accepts, or while it connects
 *	B	its queue pair is broken when it has just accepted
 *
 * Its own Private Data is where the peer may read and write: STag, address,
 * length, in network order.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <infiniband/verbs.h>

#define RECEIVES	8
#define SLOT		16384
#define SENDS		(RECEIVES * SLOT)	/* offset of the slots to send from */
#define WINDOW		(SENDS + RECEIVES * SLOT)	/* offset of the peer's part */
#define WINDOW_SIZE	65536
#define MEM_SIZE	(WINDOW + WINDOW_SIZE)
#define HELLO		99

struct window {
	uint32_t stag;
	uint64_t address;
	uint32_t length;
} __attribute__((packed));

struct conn {
	struct conn *next;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *mem;
	char letters[256];
};

static struct conn *conns;

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static const char *hex(const void *data, size_t len)
{
	static char text[2 * 256 + 2];
	const uint8_t *p = data;
	size_t i;

	strcpy(text, "-");
	for (i = 0; p && i < len && i < 256; i++)
		sprintf(text + 2 * i, "%02x", p[i]);
	return text;
}

static int wants(const struct conn *c, char letter)
{
	return !!strchr(c->letters, letter);
}

static void post_recv(struct conn *c, uint64_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->mem + slot * SLOT,
		.length = wants(c, 's') ? 16 : SLOT,
		.lkey = c->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(c->id->qp, &wr, &bad))
		die("post_recv");
}

static void post_send(struct conn *c, uint64_t slot, const void *data, uint32_t len)
{
	char *from = c->mem + SENDS + slot % RECEIVES * SLOT;
	struct ibv_sge sge = { (uintptr_t)from, len, c->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1000 + slot, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	memcpy(from, data, len);
	if (ibv_post_send(c->id->qp, &wr, &bad))
		say("unsent");
}

static struct conn *new_conn(struct rdma_cm_id *id, const void *letters, size_t len)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct conn *c = calloc(1, sizeof(*c));
	uint64_t i;

	if (!c)
		die("calloc");
	if (letters)
		memcpy(c->letters, letters, len < 255 ? len : 255);
	c->id = id;
	id->context = c;
	c->mem = aligned_alloc(4096, MEM_SIZE);
	c->pd = ibv_alloc_pd(id->verbs);
	c->cq = ibv_create_cq(id->verbs, 256, NULL, NULL, 0);
	if (!c->mem || !c->pd || !c->cq)
		die("objects");
	memset(c->mem, 0, MEM_SIZE);
	c->mr = ibv_reg_mr(c->pd, c->mem, MEM_SIZE, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!c->mr)
		die("reg_mr");
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (rdma_create_qp(id, c->pd, &attr))
		die("create_qp");
	for (i = 0; i < RECEIVES && !wants(c, 'n'); i++)
		post_recv(c, i);
	c->next = conns;
	conns = c;
	return c;
}

static void free_conn(struct conn *c)
{
	struct conn **at = &conns;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	rdma_destroy_qp(c->id);
	if (ibv_destroy_cq(c->cq) || ibv_dereg_mr(c->mr) || ibv_dealloc_pd(c->pd))
		die("free");
	free(c->mem);
	rdma_destroy_id(c->id);
	free(c);
}

static struct rdma_conn_param param_of(struct conn *c, struct window *w)
{
	struct rdma_conn_param cp = {
		.private_data = w, .private_data_len = sizeof(*w),
		.responder_resources = 4, .initiator_depth = 4, .retry_count = 7,
	};

	w->stag = htonl(c->mr->rkey);
	w->address = htobe64((uintptr_t)c->mem + WINDOW);
	w->length = htonl(WINDOW_SIZE);
	return cp;
}

static void break_qp(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		die("modify_qp");
}

/* librdmacm would refuse a broken queue pair by itself: it does not see it. */
static int accept_broken(struct rdma_cm_id *id, struct rdma_conn_param *cp)
{
	struct ibv_qp *qp = id->qp;
	int ret;

	break_qp(qp);
	cp->qp_num = qp->qp_num;
	id->qp = NULL;
	ret = rdma_accept(id, cp);
	id->qp = qp;
	return ret;
}

static void answer(struct rdma_cm_id *id, const void *letters, size_t len)
{
	struct rdma_conn_param cp;
	struct window w;
	struct conn *c;
	int ret;

	if (letters && memchr(letters, 'x', len)) {
		if (rdma_reject(id, "no", 2))
			die("reject");
		rdma_destroy_id(id);
		return;
	}
	c = new_conn(id, letters, len);
	if (wants(c, 'w'))
		return;
	cp = param_of(c, &w);
	ret = wants(c, 'b') ? accept_broken(id, &cp) : rdma_accept(id, &cp);
	if (ret) {
		say("unaccepted");
		free_conn(c);
	} else if (wants(c, 'B')) {
		break_qp(id->qp);
	}
}

static void connect_to(struct rdma_event_channel *events, char **argv)
{
	const char *letters = argv[4] ? argv[4] : "";
	struct rdma_addrinfo *ai, hints = { .ai_port_space = RDMA_PS_TCP };
	struct rdma_conn_param cp;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	struct window w;

	if (rdma_getaddrinfo(argv[2], argv[3], &hints, &ai) ||
	    rdma_create_id(events, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, ai->ai_dst_addr, 2000) ||
	    rdma_get_cm_event(events, &ev) || rdma_ack_cm_event(ev) ||
	    rdma_resolve_route(id, 2000) ||
	    rdma_get_cm_event(events, &ev) || rdma_ack_cm_event(ev) || !id->verbs)
		die("resolve");
	cp = param_of(new_conn(id, letters, strlen(letters)), &w);
	if (rdma_connect(id, &cp))
		die("connect");
	if (wants(id->context, 'b'))
		break_qp(id->qp);
}

static void send_and_quit(struct conn *c)
{
	static char data[SLOT];
	int i;

	for (i = 0; i < RECEIVES; i++) {
		memset(data, '0' + i, sizeof(data));
		post_send(c, RECEIVES + i, data, sizeof(data));
	}
	if (rdma_disconnect(c->id))
		die("disconnect");
	say("quit");
}

static void listen_on(struct rdma_event_channel *events, char **argv)
{
	struct rdma_addrinfo *ai, hints = {
		.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE,
	};
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(argv[2], argv[3], &hints, &ai) ||
	    rdma_create_id(events, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, ai->ai_src_addr) || rdma_listen(id, 64))
		die("listen");
	say("listens");
}

static void on_event(struct rdma_cm_event *ev)
{
	struct rdma_conn_param *p = &ev->param.conn;
	const char *name = rdma_event_str(ev->event) + strlen("RDMA_CM_EVENT_");
	struct rdma_cm_id *id = ev->id;
	struct conn *c = id->context;
	enum rdma_cm_event_type type = ev->event;
	size_t len = p->private_data ? p->private_data_len : 0;
	uint8_t data[256];

	memcpy(data, p->private_data ? p->private_data : "", len);
	say("%s %d %d %d %zu %s", name, ev->status, p->responder_resources,
	    p->initiator_depth, len, hex(data, len));
	rdma_ack_cm_event(ev);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		answer(id, data, len);
	} else if (type == RDMA_CM_EVENT_ESTABLISHED) {
		if (c && wants(c, 'h')) {
			post_send(c, HELLO, "hello", 5);
			say("posted");
		}
		if (c && wants(c, 'q'))
			send_and_quit(c);
	} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
		rdma_disconnect(id);
		free_conn(c);
	}
}

static void on_completion(struct conn *c, const struct ibv_wc *wc)
{
	if (wc->wr_id >= RECEIVES) {
		say("sent %d", wc->status);
		return;
	}
	if (wc->status) {
		say("unreceived %d", wc->status);
		return;
	}
	say("received %u %s", wc->byte_len, hex(c->mem + wc->wr_id * SLOT, wc->byte_len));
	if (wants(c, 'e'))
		post_send(c, wc->wr_id, c->mem + wc->wr_id * SLOT, wc->byte_len);
	post_recv(c, wc->wr_id);
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	struct rdma_cm_event *ev;
	struct conn *c;
	struct ibv_wc wc;

	if (!events)
		die("event channel");
	if (argc >= 4 && !strcmp(argv[1], "connect"))
		connect_to(events, argv);
	else if (argc == 4 && !strcmp(argv[1], "listen"))
		listen_on(events, argv);
	else
		return 2;
	for (;;) {
		struct pollfd pfd = { .fd = events->fd, .events = POLLIN };

		for (c = conns; c; c = c->next)
			while (ibv_poll_cq(c->cq, 1, &wc) > 0)
				on_completion(c, &wc);
		if (poll(&pfd, 1, 1) == 1) {
			if (rdma_get_cm_event(events, &ev))
				die("get_cm_event");
			on_event(ev);
		}
	}
}
