// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of lend_probe: calls that are refused, and options of the socket. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/kcm.h>
#include <linux/net_tstamp.h>
#include <linux/tcp.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "lend_script.h"

#define NOWHERE	((void *)16)

/* setsockopt(), and its errno: 0 if it succeeds */
static int set_errno(int fd, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_MPA, option, value, len) ? errno : 0;
}

static int start_errno(int fd, const struct mpa_start *start)
{
	return set_errno(fd, MPA_START, start, sizeof(*start));
}

#define wants(call, err)							\
	do {									\
		int got_ = (call);						\
		check(got_ == (err), "%s: '%s', not '%s'", #call, strerror(got_),	\
		      strerror(err));						\
	} while (0)

/* A text arrives, so nothing has happened to the connection. */
static void still_plain(struct lent *l)
{
	check(status_of(l->a).state == MPA_STREAM_PLAIN, "state %u", status_of(l->a).state);
	say(l->a, l->b, "hello");
	say(l->b, l->a, "hello");
}

static void bad_start(void)
{
	struct mpa_start s;
	char data[600];
	struct lent l;

	script_open(&l);
	memset(data, 0, sizeof(data));
	s = start_args(&l.p.a, MPA_INITIATOR);
	wants(set_errno(l.a, MPA_START, &s, sizeof(s) - 1), EINVAL);
	wants(set_errno(l.a, MPA_START, &s, sizeof(s) + 1), EINVAL);
	wants(set_errno(l.a, MPA_START, &s, 0), EINVAL);
	wants(set_errno(l.a, MPA_START, NOWHERE, sizeof(s)), EFAULT);
	s.reserved = 1;
	wants(start_errno(l.a, &s), EINVAL);
	s = start_args(&l.p.a, 0);
	wants(start_errno(l.a, &s), EINVAL);
	s = start_args(&l.p.a, 3);
	wants(start_errno(l.a, &s), EINVAL);
	s = start_args(&l.p.a, MPA_INITIATOR);
	s.last = (uintptr_t)data;
	s.last_len = 1;
	wants(start_errno(l.a, &s), EINVAL);
	s = start_args(&l.p.a, MPA_INITIATOR);
	s.private_data_len = 1;
	s.private_data = (uintptr_t)NOWHERE;
	wants(start_errno(l.a, &s), EFAULT);
	s.private_data = (uintptr_t)data;
	s.private_data_len = 513;
	wants(start_errno(l.a, &s), EINVAL);
	s.private_data_len = 512;	/* no room for the enhanced words */
	wants(start_errno(l.a, &s), EINVAL);
	s.private_data_len = 509;
	wants(start_errno(l.a, &s), EINVAL);
	s = start_args(&l.p.a, MPA_RESPONDER);
	s.private_data_len = 1;
	wants(start_errno(l.a, &s), EINVAL);
	s = start_args(&l.p.a, MPA_RESPONDER);
	s.ord = 1;
	wants(start_errno(l.a, &s), EINVAL);
	s = start_args(&l.p.a, MPA_RESPONDER);
	s.last_len = 1;
	s.last = (uintptr_t)NOWHERE;
	wants(start_errno(l.a, &s), EFAULT);
	still_plain(&l);
	s = start_args(&l.p.a, MPA_INITIATOR);
	s.private_data = (uintptr_t)data;
	s.private_data_len = 508;
	wants(start_errno(l.a, &s), 0);
	check(take_frame(&l, REQUEST, (uint8_t *)data) == 512, "Private Data");
	script_free(&l);
}

static void bad_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int null = open("/dev/null", O_RDWR);
	struct mpa_start s;
	struct lent l;

	script_open(&l);
	make_device(&l, &l.p.b);
	enter(&l.p.a);
	s = start_args(&l.p.a, MPA_INITIATOR);
	s.verbs_fd = 1000;
	wants(start_errno(l.a, &s), EBADF);
	s.verbs_fd = -1;
	wants(start_errno(l.a, &s), EBADF);
	s.verbs_fd = null;
	wants(start_errno(l.a, &s), EPERM);
	s.verbs_fd = l.a;
	wants(start_errno(l.a, &s), EPERM);
	s = start_args(&l.p.a, MPA_INITIATOR);
	s.qp_num ^= 0x800000;
	wants(start_errno(l.a, &s), EPERM);
	s.qp_num = l.p.b.id->qp->qp_num;	/* made with another descriptor */
	wants(start_errno(l.a, &s), EPERM);
	/* The device is one of another namespace. */
	s = start_args(&l.p.b, MPA_INITIATOR);
	wants(start_errno(l.a, &s), EADDRNOTAVAIL);
	check(!ibv_modify_qp(l.p.a.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
	s = start_args(&l.p.a, MPA_INITIATOR);
	wants(start_errno(l.a, &s), EINVAL);
	still_plain(&l);
	attr.qp_state = IBV_QPS_RESET;
	check(!ibv_modify_qp(l.p.a.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
	attr.qp_state = IBV_QPS_INIT;
	check(!ibv_modify_qp(l.p.a.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
	wants(start_errno(l.a, &s), 0);
	close(null);
	script_free(&l);
}

/* The queue pair runs already, on another connection. */
static void used_qp(void)
{
	struct lent l, other;
	struct mpa_start s;

	reach_state(&l, MPA_STREAM_ESTABLISHED);
	script_open(&other);
	s = start_args(&l.p.a, MPA_INITIATOR);
	wants(start_errno(other.a, &s), EINVAL);
	still_plain(&other);
	script_free(&other);
	check(status_of(l.a).state == MPA_STREAM_ESTABLISHED, "state %u", status_of(l.a).state);
	script_free(&l);
}

/* One queue pair is named for two connections. The first that is accepted has it. */
static void qp_for_two(void)
{
	struct lent l, other;
	struct mpa_start s;
	int ret;

	script_open(&l);
	script_open(&other);
	begin_state(&l, MPA_STREAM_ESTABLISHED);
	s = start_args(&l.p.a, MPA_INITIATOR);
	ret = start_errno(other.a, &s);
	check(!ret || ret == EINVAL, "MPA_START: %s", strerror(ret));
	play_state(&l, MPA_STREAM_ESTABLISHED);
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	if (!ret) {
		play_state(&other, MPA_STREAM_ESTABLISHED);
		wait_for(other.a, MPA_STREAM_FAILED);
	}
	check(status_of(l.a).state == MPA_STREAM_ESTABLISHED, "state %u", status_of(l.a).state);
	script_free(&other);
	script_free(&l);
}

/* What each state takes of MPA_START, MPA_ACCEPT and MPA_REJECT */
static void wrong_state(void)
{
	struct mpa_answer a = { 0 };
	struct mpa_start s;
	struct lent l;
	bool busy;
	int state;

	for (state = 0; state <= MPA_STREAM_CLOSED; state++) {
		if (state == MPA_STREAM_PLAIN)
			script_open(&l);
		else
			reach_state(&l, state);
		busy = state == MPA_STREAM_STARTING || state == MPA_STREAM_REQUESTED ||
		       state == MPA_STREAM_ESTABLISHED;
		s = start_args(&l.p.a, MPA_RESPONDER);
		if (busy)
			wants(start_errno(l.a, &s), EBUSY);
		if (state != MPA_STREAM_REQUESTED) {
			wants(set_errno(l.a, MPA_ACCEPT, &a, sizeof(a)), EINVAL);
			wants(set_errno(l.a, MPA_REJECT, &a, sizeof(a)), EINVAL);
		}
		check(status_of(l.a).state == state, "state %u", status_of(l.a).state);
		script_free(&l);
	}
}

static void bad_answer(void)
{
	struct mpa_answer a = { 0 };
	char data[600] = "";
	struct lent l;
	uint8_t pd[512];

	reach_state(&l, MPA_STREAM_REQUESTED);
	wants(set_errno(l.a, MPA_ACCEPT, &a, sizeof(a) - 1), EINVAL);
	wants(set_errno(l.a, MPA_ACCEPT, NOWHERE, sizeof(a)), EFAULT);
	a.reserved = 1;
	wants(set_errno(l.a, MPA_ACCEPT, &a, sizeof(a)), EINVAL);
	a.reserved = 0;
	a.private_data_len = 1;
	a.private_data = (uintptr_t)NOWHERE;
	wants(set_errno(l.a, MPA_ACCEPT, &a, sizeof(a)), EFAULT);
	a.private_data = (uintptr_t)data;
	a.private_data_len = 513;
	wants(set_errno(l.a, MPA_REJECT, &a, sizeof(a)), EINVAL);
	a.private_data_len = 509;	/* no room for the enhanced words */
	wants(set_errno(l.a, MPA_ACCEPT, &a, sizeof(a)), EINVAL);
	wants(set_errno(l.a, MPA_REJECT, &a, sizeof(a)), EINVAL);
	a.private_data_len = 508;
	a.ird = 1;
	wants(set_errno(l.a, MPA_REJECT, &a, sizeof(a)), EINVAL);
	check(status_of(l.a).state == MPA_STREAM_REQUESTED, "state %u", status_of(l.a).state);
	wants(set_errno(l.a, MPA_ACCEPT, &a, sizeof(a)), 0);
	check(take_frame(&l, REPLY, pd) == 512, "Private Data");
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	script_free(&l);
}

/* Return: its errno */
static int get_errno(int fd, int option, void *value, socklen_t *len)
{
	return getsockopt(fd, SOL_MPA, option, value, len) ? errno : 0;
}

static void bad_option(void)
{
	struct mpa_status status;
	socklen_t len = sizeof(status);
	char more[sizeof(status) + 8];
	struct lent l;

	script_open(&l);
	wants(set_errno(l.a, 0, &status, 8), ENOPROTOOPT);
	wants(set_errno(l.a, MPA_STATUS, &status, sizeof(status)), ENOPROTOOPT);
	wants(set_errno(l.a, 5, &status, 8), ENOPROTOOPT);
	wants(get_errno(l.a, 0, &status, &len), ENOPROTOOPT);
	wants(get_errno(l.a, MPA_START, &status, &len), ENOPROTOOPT);
	wants(get_errno(l.a, MPA_STATUS, NOWHERE, &len), EFAULT);
	wants(get_errno(l.a, MPA_STATUS, &status, NOWHERE), EFAULT);
	len = sizeof(status) - 1;
	wants(get_errno(l.a, MPA_STATUS, &status, &len), EINVAL);
	len = -1;
	wants(get_errno(l.a, MPA_STATUS, &status, &len), EINVAL);
	len = sizeof(more);
	wants(get_errno(l.a, MPA_STATUS, more, &len), 0);
	check(len == sizeof(status), "%u bytes", len);
	/* Without the protocol */
	check(set_errno(l.b, MPA_START, &status, sizeof(status)), "MPA_START");
	check(get_errno(l.b, MPA_STATUS, &status, &len), "MPA_STATUS");
	script_free(&l);
}

static int ulp_errno(int fd, const char *name)
{
	return try_ulp(fd, name) ? errno : 0;
}

static void bad_socket(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct lent l;

	wants(ulp_errno(fd, MPA_ULP), ENOTCONN);
	check(!bind(fd, (void *)&any, sizeof(any)) && !listen(fd, 1), "listen: %m");
	wants(ulp_errno(fd, MPA_ULP), ENOTCONN);
	close(fd);
	tcp_connect(&l);
	shutdown(l.b, SHUT_WR);
	check(!read(l.a, &any, 1), "read: %m");
	wants(ulp_errno(l.a, MPA_ULP), ENOTCONN);
	close(l.a);
	close(l.b);
	lent_free(&l);
	script_open(&l);
	wants(ulp_errno(l.a, MPA_ULP), EEXIST);
	check(accept(l.a, NULL, NULL) < 0 && errno == EINVAL, "accept: %m");
	still_plain(&l);
	shutdown(l.a, SHUT_WR);
	check(start_mpa(&l.p.a, l.a, MPA_INITIATOR, "") && errno == ENOTCONN, "MPA_START: %m");
	script_free(&l);
}

/* A socket has one protocol (lend.sh asks for a kernel with TLS). */
static void tls(void)
{
	struct lent l;

	tcp_connect(&l);
	wants(ulp_errno(l.a, "tls"), 0);
	wants(ulp_errno(l.a, MPA_ULP), EEXIST);
	set_ulp(l.b);
	wants(ulp_errno(l.b, "tls"), EEXIST);
	say(l.a, l.b, "hello");
	close(l.a);
	close(l.b);
	lent_free(&l);
}

/* The sockmap (lend.sh) has one place, which the end that is established last gets. */
static void sockmap(void)
{
	struct lent l;

	tcp_connect(&l);
	wants(ulp_errno(l.b, MPA_ULP), EBUSY);
	say(l.a, l.b, "hello");
	close(l.a);
	close(l.b);
	lent_free(&l);
}

/* A program of BPF that finds the end of a message for KCM: "return 0" waits for more bytes. */
static int make_parser(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t)"Dual BSD/GPL",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	check(fd >= 0, "BPF_PROG_LOAD: %m");
	return fd;
}

/* KCM reads the connection before MPA starts, and cannot take it afterwards. */
static void kcm(void)
{
	int fd = socket(AF_KCM, SOCK_DGRAM, KCMPROTO_CONNECTED);
	struct kcm_attach attach = { .bpf_fd = make_parser() };
	struct kcm_unattach unattach;
	struct mpa_start s;
	struct lent l;

	check(fd >= 0, "AF_KCM: %m");
	script_open(&l);
	attach.fd = l.a;
	unattach.fd = l.a;
	check(!ioctl(fd, SIOCKCMATTACH, &attach), "SIOCKCMATTACH: %m");
	s = start_args(&l.p.a, MPA_INITIATOR);
	wants(start_errno(l.a, &s), EBUSY);
	check(!ioctl(fd, SIOCKCMUNATTACH, &unattach), "SIOCKCMUNATTACH: %m");
	still_plain(&l);
	wants(start_errno(l.a, &s), 0);
	check(ioctl(fd, SIOCKCMATTACH, &attach) && errno == EALREADY, "SIOCKCMATTACH: %m");
	script_free(&l);
	close(fd);
	close(attach.bpf_fd);
}

/* In repair mode, what the driver sends would go nowhere. */
static void repair(void)
{
	int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP;
	struct mpa_start s;
	struct lent l;

	script_open(&l);
	check(!setsockopt(l.a, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), "TCP_REPAIR: %m");
	s = start_args(&l.p.a, MPA_INITIATOR);
	wants(start_errno(l.a, &s), EBUSY);
	check(!setsockopt(l.a, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)), "TCP_REPAIR: %m");
	still_plain(&l);
	script_free(&l);
}

/* The connection does not leave the host, so no device carries it. */
static void loopback(void)
{
	struct mpa_start s;
	struct lent l;

	memset(&l, 0, sizeof(l));
	pair_init(&l.p, &defaults);
	probe_server("127.0.0.1", 0);
	enter(&l.p.a);
	l.a = socket(AF_INET, SOCK_STREAM, 0);
	tcp_join(&l, tcp_listen(&l.p.a));
	make_device(&l, &l.p.a);
	set_ulp(l.a);
	s = start_args(&l.p.a, MPA_INITIATOR);
	wants(start_errno(l.a, &s), EADDRNOTAVAIL);
	still_plain(&l);
	script_free(&l);
}

/* Each call that reads, writes or disconnects */
static void busy(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct tcp_zerocopy_receive zc = { .length = 4096 };
	int pipes[2], file = memfd_create("file", 0), val = AF_INET, on = 1;
	socklen_t len = sizeof(zc), size = 16;
	char ulp[16] = "";
	struct lent l;
	off_t at = 0;

	reach_state(&l, MPA_STREAM_ESTABLISHED);
	check(!pipe(pipes) && write(pipes[1], "text", 4) == 4, "pipe: %m");
	check(file >= 0 && write(file, "text", 4) == 4, "file: %m");
	is_refused(l.a);
	check(send(l.a, "x", 1, MSG_OOB) < 0 && errno == EBUSY, "send: %m");
	check(recv(l.a, &len, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EBUSY, "recv: %m");
	check(sendfile(l.a, file, &at, 4) < 0 && errno == EBUSY, "sendfile: %m");
	check(splice(pipes[0], NULL, l.a, NULL, 4, 0) < 0 && errno == EBUSY, "splice: %m");
	check(splice(l.a, NULL, pipes[1], NULL, 4, 0) < 0 && errno == EBUSY, "splice: %m");
	check(shutdown(l.a, SHUT_WR) && errno == EBUSY, "shutdown: %m");
	check(shutdown(l.a, SHUT_RDWR) && errno == EBUSY, "shutdown: %m");
	check(connect(l.a, &none, sizeof(none)) && errno == EBUSY, "connect: %m");
	check(listen(l.a, 1), "listen");
	check(accept(l.a, NULL, NULL) < 0 && errno == EINVAL, "accept: %m");
	check(getsockopt(l.a, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &zc, &len) && errno == EBUSY,
	      "TCP_ZEROCOPY_RECEIVE: %m");
	check(setsockopt(l.a, IPPROTO_IPV6, IPV6_ADDRFORM, &val, sizeof(val)), "IPV6_ADDRFORM");
	check(setsockopt(l.a, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) && errno == EBUSY,
	      "TCP_REPAIR: %m");
	check(!getsockopt(l.a, IPPROTO_TCP, TCP_ULP, ulp, &size) && !strcmp(ulp, "mpa"),
	      "TCP_ULP: %s", ulp);
	check(status_of(l.a).state == MPA_STREAM_ESTABLISHED, "state %u", status_of(l.a).state);
	close(pipes[0]);
	close(pipes[1]);
	close(file);
	script_free(&l);
}

/* An IPv6 socket with an IPv4 connection cannot become an IPv4 socket: it would lose our calls. */
static void addrform(void)
{
	int val = AF_INET;
	struct lent l;

	probe_server("::ffff:10.77.0.2", 0);
	script_open(&l);
	check(setsockopt(l.a, IPPROTO_IPV6, IPV6_ADDRFORM, &val, sizeof(val)) && errno == EBUSY,
	      "IPV6_ADDRFORM: %m");
	still_plain(&l);
	begin_state(&l, MPA_STREAM_ESTABLISHED);
	play_state(&l, MPA_STREAM_ESTABLISHED);
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	check(setsockopt(l.a, IPPROTO_IPV6, IPV6_ADDRFORM, &val, sizeof(val)) && errno == EBUSY,
	      "IPV6_ADDRFORM: %m");
	is_refused(l.a);
	script_free(&l);
}

/* What nobody reads from the error queue of a socket counts against its receive buffer. */
static void stamps(void)
{
	int flags = SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE;
	struct lent l;
	char byte;

	stream_open(&l);
	check(recv(l.b, &byte, 1, MSG_ERRQUEUE) < 0 && errno == EAGAIN, "recv: %m");
	check(!setsockopt(l.b, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)), "set: %m");
	echo(&l);
	while (recv(l.b, &byte, 1, MSG_ERRQUEUE) < 0)
		check(errno == EAGAIN, "recv: %m");
	close(l.a);
	close(l.b);
	lent_free(&l);
}

static const struct option {
	int level, name, value;
} options[] = {
	{ SOL_SOCKET, SO_RCVLOWAT, 1000 },	/* more than a Reply has */
	{ SOL_SOCKET, SO_RCVBUF, 20000 },	/* the kernel doubles it */
	{ SOL_SOCKET, SO_OOBINLINE, 0 },
	{ IPPROTO_TCP, TCP_NODELAY, 0 },
	{ IPPROTO_TCP, TCP_NOTSENT_LOWAT, 12345 },
	{ IPPROTO_TCP, TCP_CORK, 1 },
	{ IPPROTO_TCP, TCP_WINDOW_CLAMP, 12000 },
	{ SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE },
};

static void get_options(int fd, int *values)
{
	socklen_t len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		len = sizeof(*values);
		check(!getsockopt(fd, options[i].level, options[i].name, &values[i], &len),
		      "option %zu: %m", i);
	}
}

/* The driver has options of its own while it has the stream, and only then. */
static void options_return(void)
{
	int before[ARRAY_SIZE(options)], during[ARRAY_SIZE(options)], after[ARRAY_SIZE(options)];
	const struct option *o;
	struct lent l;
	size_t i;

	lent_open(&l);
	for (o = options; o < options + ARRAY_SIZE(options); o++)
		check(!setsockopt(l.a, o->level, o->name, &o->value, sizeof(o->value)), "set: %m");
	get_options(l.a, before);
	ask_in_text(&l, "who");
	get_options(l.a, during);
	check(during[1] >= 512 << 10 && during[2] && during[3] && !during[5] &&
	      during[7] == SOF_TIMESTAMPING_SOFTWARE, "receive buffer %d, options %d %d %d %d",
	      during[1], during[2], during[3], during[5], during[7]);
	wait_for(l.b, MPA_STREAM_REQUESTED);
	check(!answer(l.b, MPA_REJECT, ""), "MPA_REJECT: %m");
	wait_for(l.a, MPA_STREAM_REJECTED);
	get_options(l.a, after);
	for (i = 0; i < ARRAY_SIZE(options); i++)
		check(before[i] == after[i], "option %zu was %d, is %d", i, before[i], after[i]);
	close(l.a);
	close(l.b);
	lent_free(&l);
}

const struct test lend_arg_tests[] = {
	{ "bad_start", bad_start },
	{ "bad_qp", bad_qp },
	{ "used_qp", used_qp },
	{ "qp_for_two", qp_for_two },
	{ "wrong_state", wrong_state },
	{ "bad_answer", bad_answer },
	{ "bad_option", bad_option },
	{ "bad_socket", bad_socket },
	{ "tls", tls },
	{ "sockmap", sockmap },
	{ "kcm", kcm },
	{ "repair", repair },
	{ "loopback", loopback },
	{ "busy", busy },
	{ "stamps", stamps },
	{ "addrform", addrform },
	{ "options_return", options_return },
	{ NULL, NULL },
};
