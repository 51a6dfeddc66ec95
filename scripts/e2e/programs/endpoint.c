// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The program that uses the device when its peer is peer.py. It reads commands from
 * its standard input, one a line:
 *
 *	listen ADDRESS PORT
 *	connect ADDRESS PORT [LETTERS]
 *	receive		post the receives of all connections that have none
 *	accept		accept the requests with w that have no answer yet
 *	part		disconnect them all
 *	late_part	"receive", and at once "part"
 *	forbid		take the peers' right to read away, and fill the windows with ones
 *
 * and prints its events, one a line. LETTERS, or the Private Data of the Request, say
 * what it does with a connection:
 *
 *	h	send "hello" as soon as the connection stands
 *	e	send each message back
 *	n	no receives are posted; s: receives of 16 bytes
 *	0	Read depths 0 (else 4)
 *	x	reject; w: answer when told to; d: disconnect as soon as the connection stands
 *	u	the window is a region of its own, deregistered when a message arrives
 *	l	the window is a region of its own, without rights for the peer
 *	k	each message is sent back with a key that does not exist
 *	r	when a message arrives, the peer's memory is read READS times
 *	f	read 6 times 1000 bytes of the peer into the window as soon as it stands
 *	y	the same, 2 times 100 bytes; z: each Read with a fence
 *	q	send 32 messages of 16384 bytes as soon as it stands, and disconnect
 *	L	the same, and send 8 empty ones after the disconnect
 *	R	read from the peer as soon as it stands, and disconnect
 *	C	disconnect when a message arrives
 *	b	its queue pair is broken before it accepts, or while it connects
 *	B	its queue pair is broken when it has just accepted; p: before it connects
 *
 * Its own Private Data describes the memory that the peer may read and write: STag, address,
 * length, in network order. "freed W R" is the last line of a connection: how many
 * bytes of that window, and of the rest of the region, are not zero. Around the
 * region is memory that nobody may write to.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <infiniband/verbs.h>

#define RECEIVES	8
#define SLOT		16384
#define SENDS		(RECEIVES * SLOT)	/* offset of the slots to send from */
#define WINDOW		(SENDS + RECEIVES * SLOT)	/* offset of the peer's part */
#define WINDOW_SIZE	65536
#define MEM_SIZE	(WINDOW + WINDOW_SIZE)
#define GUARD		4096	/* bytes before and behind the region */
#define GUARD_BYTE	0x5a
#define HELLO		99
#define READS		3
#define READ_SIZE	1000
#define READ_ID		2000	/* wr_id of the first */
#define FETCH		3000	/* wr_id of the first Read that fetches */

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
	struct ibv_mr *window;		/* if it is not part of mr */
	char *mem;
	char letters[256];
	bool unanswered;
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

static char *new_memory(void)
{
	char *all = aligned_alloc(4096, GUARD + MEM_SIZE + GUARD);

	if (!all)
		die("aligned_alloc");
	memset(all, GUARD_BYTE, GUARD + MEM_SIZE + GUARD);
	return memset(all + GUARD, 0, MEM_SIZE);
}

static unsigned int not_zero(const char *p, size_t len)
{
	unsigned int n = 0;

	while (len--)
		n += !!*p++;
	return n;
}

static void check_guards(const char *mem)
{
	size_t i;

	for (i = 0; i < GUARD; i++)
		if (mem[i - GUARD] != GUARD_BYTE || mem[MEM_SIZE + i] != GUARD_BYTE)
			die("memory outside the region was written to");
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
	struct ibv_sge sge = { (uintptr_t)from, len, c->mr->lkey ^ wants(c, 'k') };
	struct ibv_send_wr wr = {
		.wr_id = 1000 + slot, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	memcpy(from, data, len);
	if (ibv_post_send(c->id->qp, &wr, &bad))
		say("unsent");
}

/* The address of the peer's memory does not matter, because the peer makes the answers up. */
static void post_read(struct conn *c, uint64_t id, const struct ibv_mr *mr, size_t to, uint32_t len,
		      uint64_t from)
{
	struct ibv_sge sge = { (uintptr_t)c->mem + to, len, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED | (wants(c, 'z') ? IBV_SEND_FENCE : 0),
		.wr.rdma = { .remote_addr = from, .rkey = 0x5eed00 },
	}, *bad;

	if (ibv_post_send(c->id->qp, &wr, &bad))
		die("post_read");
}

/* "read N STATUS" tells how each ends. */
static void post_reads(struct conn *c)
{
	int i;

	for (i = 0; i < READS; i++)
		post_read(c, READ_ID + i, c->mr, SENDS + i * SLOT, READ_SIZE, i * SLOT);
}

/* "fetched N" or "unfetched N STATUS" tells how each ends. */
static void fetch(struct conn *c, int n, uint32_t size)
{
	int i;

	for (i = 0; i < n; i++)
		post_read(c, FETCH + i, c->window ? c->window : c->mr, WINDOW + i * size, size,
			  (uint64_t)i << 32);
}

static struct conn *new_conn(struct rdma_cm_id *id, const void *letters, size_t len)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		die("calloc");
	if (letters)
		memcpy(c->letters, letters, len < 255 ? len : 255);
	c->id = id;
	id->context = c;
	c->next = conns;
	conns = c;
	return c;
}

static struct ibv_mr *register_memory(struct conn *c, size_t offset, size_t size, int remote)
{
	struct ibv_mr *mr = ibv_reg_mr(c->pd, c->mem + offset, size,
				       IBV_ACCESS_LOCAL_WRITE | remote);

	if (!mr)
		die("reg_mr");
	return mr;
}

static void unregister_window(struct conn *c)
{
	if (!c->window)
		return;
	if (ibv_dereg_mr(c->window))
		die("dereg_mr");
	c->window = NULL;
	say("unregistered");
}

static void post_receives(struct conn *c)
{
	uint64_t i;

	for (i = 0; i < RECEIVES; i++)
		post_recv(c, i);
}

/* Makes what the connection needs of the device, which is known now. */
static void equip(struct conn *c)
{
	int remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	c->mem = new_memory();
	c->pd = ibv_alloc_pd(c->id->verbs);
	c->cq = ibv_create_cq(c->id->verbs, 256, NULL, NULL, 0);
	if (!c->pd || !c->cq)
		die("objects");
	c->mr = register_memory(c, 0, MEM_SIZE, remote);
	if (wants(c, 'u') || wants(c, 'l'))
		c->window = register_memory(c, WINDOW, WINDOW_SIZE, wants(c, 'u') ? remote : 0);
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (rdma_create_qp(c->id, c->pd, &attr))
		die("create_qp");
	if (!wants(c, 'n'))
		post_receives(c);
}

static void free_conn(struct conn *c)
{
	struct conn **at = &conns;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	rdma_destroy_qp(c->id);
	unregister_window(c);
	if (ibv_destroy_cq(c->cq) || ibv_dereg_mr(c->mr) || ibv_dealloc_pd(c->pd))
		die("free");
	check_guards(c->mem);
	say("freed %u %u", not_zero(c->mem + WINDOW, WINDOW_SIZE), not_zero(c->mem, WINDOW));
	free(c->mem - GUARD);
	rdma_destroy_id(c->id);
	free(c);
}

static struct rdma_conn_param param_of(struct conn *c, struct window *w)
{
	uint8_t depth = wants(c, '0') ? 0 : 4;
	struct rdma_conn_param cp = {
		.private_data = w, .private_data_len = sizeof(*w),
		.responder_resources = depth, .initiator_depth = depth, .retry_count = 7,
	};

	w->stag = htonl((c->window ? c->window : c->mr)->rkey);
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

/* Hides the queue pair from librdmacm, which would refuse a broken one by itself. */
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

static void accept_request(struct conn *c)
{
	struct window w;
	struct rdma_conn_param cp = param_of(c, &w);

	c->unanswered = false;
	if (wants(c, 'b') ? accept_broken(c->id, &cp) : rdma_accept(c->id, &cp)) {
		say("unaccepted %d", errno);
		free_conn(c);
	} else if (wants(c, 'B')) {
		break_qp(c->id->qp);
	}
}

static void answer(struct rdma_cm_id *id, const void *letters, size_t len)
{
	struct conn *c;

	if (letters && memchr(letters, 'x', len)) {
		if (rdma_reject(id, "no", 2))
			die("reject");
		rdma_destroy_id(id);
		return;
	}
	c = new_conn(id, letters, len);
	equip(c);
	c->unanswered = wants(c, 'w');
	if (!c->unanswered)
		accept_request(c);
}

static struct rdma_addrinfo *address_of(const char *address, const char *port, int flags)
{
	struct rdma_addrinfo *ai, hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = flags };

	if (rdma_getaddrinfo(address, port, &hints, &ai))
		die("address");
	return ai;
}

/* on_event() continues the connect. */
static void connect_to(struct rdma_event_channel *events, const char *address,
		       const char *port, const char *letters)
{
	struct rdma_addrinfo *ai = address_of(address, port, 0);
	struct rdma_cm_id *id;

	if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP))
		die("create_id");
	new_conn(id, letters, strlen(letters));
	if (rdma_resolve_addr(id, NULL, ai->ai_dst_addr, 2000))
		die("resolve_addr");
	rdma_freeaddrinfo(ai);
}

static void connect_now(struct conn *c)
{
	struct rdma_conn_param cp;
	struct window w;

	equip(c);
	cp = param_of(c, &w);
	if (wants(c, 'p'))
		break_qp(c->id->qp);
	if (rdma_connect(c->id, &cp)) {
		if (!wants(c, 'p'))
			die("connect");
		say("unconnected %d", errno);
		free_conn(c);
		return;
	}
	if (wants(c, 'b')) {
		break_qp(c->id->qp);
		say("broken");
	}
}

static void quit(struct conn *c)
{
	if (rdma_disconnect(c->id))
		die("disconnect");
	say("quit");
}

static void send_and_quit(struct conn *c)
{
	static char data[SLOT];
	int i;

	for (i = 0; i < 4 * RECEIVES; i++) {
		memset(data, '0' + i % RECEIVES, sizeof(data));
		post_send(c, RECEIVES + i, data, sizeof(data));
	}
	quit(c);
	for (i = 0; wants(c, 'L') && i < RECEIVES; i++)
		post_send(c, 5 * RECEIVES + i, "", 0);
	say("posted");
}

static void read_and_quit(struct conn *c)
{
	post_read(c, 1000, c->mr, 0, 16, 0);
	quit(c);
}

static void listen_on(struct rdma_event_channel *events, const char *address, const char *port)
{
	struct rdma_addrinfo *ai = address_of(address, port, RAI_PASSIVE);
	struct rdma_cm_id *id;

	if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, ai->ai_src_addr) || rdma_listen(id, 64))
		die("listen");
	rdma_freeaddrinfo(ai);
	say("listens");
}

static void on_established(struct conn *c)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(c->id->qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC |
			 IBV_QP_MAX_DEST_RD_ATOMIC, &init))
		die("query_qp");
	say("depths %u %u", attr.max_rd_atomic, attr.max_dest_rd_atomic);
	if (wants(c, 'h')) {
		post_send(c, HELLO, "hello", 5);
		say("posted");
	}
	if (wants(c, 'f'))
		fetch(c, 6, 1000);
	if (wants(c, 'y'))
		fetch(c, 2, 100);
	if (wants(c, 'd'))
		rdma_disconnect(c->id);
	if (wants(c, 'q') || wants(c, 'L'))
		send_and_quit(c);
	if (wants(c, 'R'))
		read_and_quit(c);
}

static void on_completion(struct conn *c, const struct ibv_wc *wc)
{
	if (wc->wr_id >= FETCH) {
		if (wc->status)
			say("unfetched %d %d", (int)wc->wr_id - FETCH, wc->status);
		else
			say("fetched %d", (int)wc->wr_id - FETCH);
		return;
	}
	if (wc->wr_id >= READ_ID) {
		say("read %d %d", (int)(wc->wr_id - READ_ID), wc->status);
		return;
	}
	if (wc->wr_id >= RECEIVES) {
		say("sent %d", wc->status);
		return;
	}
	if (wc->status) {
		say("unreceived %d", wc->status);
		return;
	}
	if (wants(c, 'u'))
		unregister_window(c);
	say("received %u %s", wc->byte_len, hex(c->mem + wc->wr_id * SLOT, wc->byte_len));
	if (wants(c, 'r'))
		post_reads(c);
	if (wants(c, 'e') || wants(c, 'k'))
		post_send(c, wc->wr_id, c->mem + wc->wr_id * SLOT, wc->byte_len);
	if (wants(c, 'C'))
		quit(c);
	post_recv(c, wc->wr_id);
}

static void poll_completions(struct conn *c)
{
	struct ibv_wc wc;

	while (c->cq && ibv_poll_cq(c->cq, 1, &wc) > 0)
		on_completion(c, &wc);
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
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		answer(id, data, len);
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, 2000))
			die("resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect_now(c);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(c);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (wants(c, 'L'))
			poll_completions(c);
		rdma_disconnect(id);
		if (wants(c, 'r') || wants(c, 'u'))
			poll_completions(c);
		free_conn(c);
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		free_conn(c);
		break;
	default:
		break;
	}
}

static void receive_late(struct conn *c)
{
	if (wants(c, 'n'))
		post_receives(c);
}

static void accept_late(struct conn *c)
{
	if (c->unanswered)
		accept_request(c);
}

static void part(struct conn *c)
{
	rdma_disconnect(c->id);
}

static void receive_and_part(struct conn *c)
{
	receive_late(c);
	part(c);
}

static void forbid(struct conn *c)
{
	struct ibv_qp_attr attr = {
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};

	if (ibv_modify_qp(c->id->qp, &attr, IBV_QP_ACCESS_FLAGS))
		die("modify_qp");
	memset(c->mem + WINDOW, 1, WINDOW_SIZE);
	say("forbidden");
}

static const struct command {
	const char *line;
	void (*carry_out)(struct conn *c);
} commands[] = {
	{ "receive\n", receive_late },
	{ "accept\n", accept_late },
	{ "part\n", part },
	{ "late_part\n", receive_and_part },
	{ "forbid\n", forbid },
	{ NULL, NULL },
};

/* Return: true if it is a command for all connections; it may free them. */
static bool command_conns(const char *line)
{
	struct conn *c, *next;
	int i;

	for (i = 0; commands[i].line; i++) {
		if (strcmp(line, commands[i].line))
			continue;
		for (c = conns; c; c = next) {
			next = c->next;
			commands[i].carry_out(c);
		}
		return true;
	}
	return false;
}

static void on_command(struct rdma_event_channel *events)
{
	char line[512], verb[16], address[64], port[16], letters[256] = "";

	if (!fgets(line, sizeof(line), stdin))
		exit(0);
	if (command_conns(line))
		return;
	if (sscanf(line, "%15s %63s %15s %255s", verb, address, port, letters) < 3)
		die("command");
	else if (!strcmp(verb, "listen"))
		listen_on(events, address, port);
	else
		connect_to(events, address, port, letters);
}

int main(void)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	struct rdma_cm_event *ev;
	struct conn *c;

	if (!events)
		die("event channel");
	setvbuf(stdin, NULL, _IONBF, 0);	/* a buffer would hide lines from poll() */
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = events->fd, .events = POLLIN },
			{ .fd = STDIN_FILENO, .events = POLLIN },
		};

		for (c = conns; c; c = c->next)
			poll_completions(c);
		if (poll(fds, 2, 1) <= 0)
			continue;
		if (fds[1].revents)
			on_command(events);
		if (fds[0].revents) {
			if (rdma_get_cm_event(events, &ev))
				die("get_cm_event");
			on_event(ev);
		}
	}
}
