// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm_ports [-s SERVER] [-p PORT] TEST...: which server gets a port. TCP has one table of ports,
 * and rdma_cm has one for each port space.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe.h"

static const enum rdma_port_space spaces[] = { RDMA_PS_TCP, RDMA_PS_IB };

static struct sockaddr_in6 make_address(const char *address, int port)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in *v4 = (void *)&v6;

	if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1)
		return v6;
	v4->sin_family = AF_INET;
	check(inet_pton(AF_INET, address, &v4->sin_addr) == 1, "bad address %s", address);
	return v6;
}

/* Create an id of b for a server on the port; with 0 rdma_cm chooses one. */
static struct rdma_cm_id *make_server_at(struct pair *p, enum rdma_port_space space,
					 const char *address, int port)
{
	struct sockaddr_in6 at = make_address(address, port);
	struct rdma_cm_id *id;

	enter(&p->b);
	check(!rdma_create_id(p->b.events, &id, NULL, space), "create_id: %m");
	check(!rdma_bind_addr(id, (void *)&at), "bind: %m");
	return id;
}

static struct rdma_cm_id *make_server(struct pair *p, enum rdma_port_space space,
				      const char *address)
{
	return make_server_at(p, space, address, probe_port());
}

static void must_listen(struct pair *p, struct rdma_cm_id *id)
{
	enter(&p->b);
	check(!rdma_listen(id, 8), "listen: %m");
}

static void must_not_listen(struct pair *p, struct rdma_cm_id *id, int why)
{
	enter(&p->b);
	check(rdma_listen(id, 8), "listens");
	check(errno == why, "listen: %m, expected '%s'", strerror(why));
}

static void destroy(struct rdma_cm_id *id)
{
	check(!rdma_destroy_id(id), "destroy_id: %m");
}

/* A connection reaches the server, and carries data. */
static void reach(struct pair *p, struct rdma_cm_id *server)
{
	struct rdma_cm_event *ev;

	side_resolve(p, &p->a, probe_port());
	side_make_qp(p, &p->a);
	side_connect(p, &p->a, NULL, 0);
	check(!rdma_get_cm_event(p->b.events, &ev), "get_cm_event: %m");
	check(ev->event == RDMA_CM_EVENT_CONNECT_REQUEST, "event %s", rdma_event_str(ev->event));
	check(ev->listen_id == server, "the call went to another server");
	p->b.id = ev->id;
	rdma_ack_cm_event(ev);
	side_make_qp(p, &p->b);
	side_accept(p, &p->b, NULL, 0);
	cm_expect(&p->a, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	hello(p);
	check(!rdma_disconnect(p->a.id), "disconnect: %m");
	cm_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	side_free(&p->a);
	side_free(&p->b);
}

/* The second server gets an error, whatever it asks for, and takes nothing away. */
static void rivals(struct pair *p, const char *one, const char *other)
{
	struct rdma_cm_id *first, *second;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		first = make_server(p, spaces[i], one);
		second = make_server(p, spaces[!i], other);
		must_listen(p, first);
		must_not_listen(p, second, EADDRINUSE);
		reach(p, first);
			/* The second server may listen as soon as the port is free. */
		destroy(first);
		must_listen(p, second);
		reach(p, second);
		destroy(second);
	}
}

static void taken(void)
{
	struct pair p;

	pair_init(&p, &defaults);
	rivals(&p, "0.0.0.0", "0.0.0.0");
	rivals(&p, "0.0.0.0", "10.77.0.2");
	rivals(&p, "10.77.0.2", "0.0.0.0");
	rivals(&p, "10.77.0.2", "10.77.0.2");
	pair_free(&p);
}

/* A server for datagrams gets no connection and takes no port, neither before nor after. */
static void datagrams(void)
{
	struct rdma_cm_id *server, *before, *after, *bound;
	struct pair p;

	pair_init(&p, &defaults);
	before = make_server(&p, RDMA_PS_UDP, "0.0.0.0");
	must_listen(&p, before);
	server = make_server(&p, RDMA_PS_TCP, "0.0.0.0");
	must_listen(&p, server);
	reach(&p, server);
	destroy(before);
	after = make_server(&p, RDMA_PS_UDP, "0.0.0.0");
	must_listen(&p, after);
	reach(&p, server);
	destroy(after);
	destroy(server);
	bound = make_server(&p, RDMA_PS_UDP, "10.77.0.2");
	must_not_listen(&p, bound, EOPNOTSUPP);
	destroy(bound);
	pair_free(&p);
}

/* Both servers listen when their host has no device. The first one gets the port. */
static void await_device(void)
{
	struct rdma_cm_id *first, *second;
	struct pair p;

	pair_init(&p, &defaults);
	first = make_server(&p, RDMA_PS_IB, "0.0.0.0");
	second = make_server(&p, RDMA_PS_TCP, "0.0.0.0");
	must_listen(&p, first);
	must_listen(&p, second);
	wait_until_told("listening");
	reach(&p, first);
	destroy(first);
	destroy(second);
	pair_free(&p);
}

static void set_default(struct pair *p, int only)
{
	FILE *f;

	enter(&p->b);
	f = fopen("/proc/sys/net/ipv6/bindv6only", "w");
	check(f && fprintf(f, "%d", only) > 0 && !fclose(f), "bindv6only: %m");
}

/* A server that gets connections of its family only, or not; with -1 it does not say. */
static struct rdma_cm_id *make_family(struct pair *p, const char *address, int only)
{
	struct sockaddr_in6 at = make_address(address, probe_port());
	struct rdma_cm_id *id;

	enter(&p->b);
	check(!rdma_create_id(p->b.events, &id, NULL, RDMA_PS_TCP), "create_id: %m");
	check(only < 0 || !rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only,
					   sizeof(only)), "set_option: %m");
	check(!rdma_bind_addr(id, (void *)&at), "bind: %m");
	return id;
}

/* What the program says counts, and net.ipv6.bindv6only if it says nothing. */
static void families(void)
{
	struct rdma_cm_id *both, *v4;
	struct pair p;
	int i, only;

	pair_init(&p, &defaults);
	for (i = 0; i < 6; i++) {
		only = i / 2 - 1;
		printf("the program says %d, the default is %d\n", only, i & 1);
		set_default(&p, i & 1);
		both = make_family(&p, "::", only);
		must_listen(&p, both);
		if (only < 0 ? i & 1 : only) {
			v4 = make_family(&p, "0.0.0.0", true);
			must_listen(&p, v4);
			reach(&p, v4);
			destroy(v4);
		} else {
			reach(&p, both);
		}
		destroy(both);
	}
	set_default(&p, 0);
	pair_free(&p);
}

/* Number of ports of b from which TCP and rdma_cm choose */
#define RANGE		400

static void set_range(struct pair *p, int low)
{
	FILE *f;

	enter(&p->b);
	f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
	check(f && fprintf(f, "%d %d", low, low + RANGE - 1) > 0 && !fclose(f), "range: %m");
}

/* A TCP connection from b to a. @port is b's, chosen by TCP unless b has bound the socket. */
struct link {
	int b, a;
	int port;
};

static int tcp_socket(int family)
{
	int fd = socket(family, SOCK_STREAM, 0);

	check(fd >= 0, "socket: %m");
	return fd;
}

static void set_flag(int fd, int option)
{
	int one = 1;

	check(!setsockopt(fd, SOL_SOCKET, option, &one, sizeof(one)), "setsockopt: %m");
}

static int tcp_port(int fd)
{
	struct sockaddr_in6 at;
	socklen_t len = sizeof(at);

	check(!getsockname(fd, (void *)&at, &len), "getsockname: %m");
	return ntohs(at.sin6_port);
}

static int bind_tcp(int fd, const char *address, int port)
{
	struct sockaddr_in6 at = make_address(address, port);

	return bind(fd, (void *)&at, at.sin6_family == AF_INET ? 16 : sizeof(at));
}

/* Connect @fd of b, or a new socket if it is -1, to an address of a. */
static struct link link_up(struct pair *p, int fd, const char *address)
{
	struct sockaddr_in6 to = make_address(address, 0);
	socklen_t len = sizeof(to);
	struct link l = { .b = fd };
	int sink;

	enter(&p->a);
	sink = tcp_socket(to.sin6_family);
	check(!bind(sink, (void *)&to, len) && !listen(sink, 1), "sink: %m");
	check(!getsockname(sink, (void *)&to, &len), "getsockname: %m");
	enter(&p->b);
	if (fd < 0)
		l.b = tcp_socket(to.sin6_family);
	check(!connect(l.b, (void *)&to, len), "connect: %m");
	l.a = accept(sink, NULL, NULL);
	check(l.a >= 0, "accept: %m");
	close(sink);
	l.port = tcp_port(l.b);
	return l;
}

static void talk(const struct link *l)
{
	char there = 'x', back = 'y';

	check(write(l->b, &there, 1) == 1 && read(l->a, &back, 1) == 1 && back == there &&
	      write(l->a, "z", 1) == 1 && read(l->b, &back, 1) == 1 && back == 'z',
	      "the TCP connection is broken");
}

/* Let b close first, so that its port is in TIME_WAIT. */
static void link_down(struct link *l)
{
	char byte;

	close(l->b);
	check(!read(l->a, &byte, 1), "no end of the TCP connection");
	close(l->a);
}

/* A TCP program that comes after the server must be refused, whatever option it sets. */
static void refuse_tcp(struct pair *p, const char *address, int port)
{
	static const int options[] = { 0, SO_REUSEADDR, SO_REUSEPORT };
	struct sockaddr_in6 at = make_address(address, 0);
	size_t i;
	int fd;

	enter(&p->b);
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		fd = tcp_socket(at.sin6_family);
		if (options[i])
			set_flag(fd, options[i]);
		check(bind_tcp(fd, address, port) || listen(fd, 1), "two listen");
		check(errno == EADDRINUSE, "TCP: %m");
		close(fd);
	}
}

/* A server and a TCP connection have the same port. Neither may disturb the other. */
static void share_port(struct pair *p, const char *to, const char *address, const char *caller)
{
	struct link l = link_up(p, -1, to);
	struct rdma_cm_id *server, *rival;
	int i;

	printf("server on %s, connection to %s\n", address, to);
	probe_server(caller, l.port);
	for (i = 0; i < 2; i++) {
		server = make_server(p, RDMA_PS_TCP, address);
		rival = make_server(p, RDMA_PS_IB, address);
		must_listen(p, server);
		must_not_listen(p, rival, EADDRINUSE);
		refuse_tcp(p, address, l.port);
		reach(p, server);
		talk(&l);
		destroy(rival);
		destroy(server);
		talk(&l);
	}
	link_down(&l);
	/* The connection is in TIME_WAIT. */
	server = make_server(p, RDMA_PS_TCP, address);
	must_listen(p, server);
	destroy(server);
}

static void beside_connections(void)
{
	struct pair p;

	pair_init(&p, &defaults);
	set_range(&p, probe_port());
	share_port(&p, "10.77.0.1", "0.0.0.0", "10.77.0.2");
	share_port(&p, "10.77.0.1", "10.77.0.2", "10.77.0.2");
	share_port(&p, "10.77.0.1", "::", "10.77.0.2");
	share_port(&p, "fd77::1", "::", "fd77::2");
	share_port(&p, "fd77::1", "fd77::2", "fd77::2");
	pair_free(&p);
}

/* A server that asks for any port must get one, although a quarter of them have connections. */
static void any_port(void)
{
	static const char *const addresses[] = { "0.0.0.0", "10.77.0.2", "::" };
	static struct link links[RANGE / 4];
	int low = probe_port(), i, shared = 0;
	bool has_link[RANGE] = { false };
	struct rdma_cm_id *server;
	struct pair p;

	pair_init(&p, &defaults);
	set_range(&p, low);
	for (i = 0; i < RANGE / 4; i++) {
		links[i] = link_up(&p, -1, "10.77.0.1");
		has_link[links[i].port - low] = true;
	}
	for (i = 0; i < RANGE; i++) {
		server = make_server_at(&p, RDMA_PS_TCP, addresses[i % 3], 0);
		must_listen(&p, server);
		shared += has_link[ntohs(rdma_get_src_port(server)) - low];
		destroy(server);
	}
	check(shared, "no port of a connection was chosen");
	for (i = 0; i < RANGE / 4; i++)
		talk(&links[i]);
	pair_free(&p);
}

/* Make a TCP socket of b that has bound the port, or any port if it is 0. */
static int hold(struct pair *p, const char *address, int port, int option, bool listening)
{
	struct sockaddr_in6 at = make_address(address, 0);
	int fd;

	enter(&p->b);
	fd = tcp_socket(at.sin6_family);
	if (option)
		set_flag(fd, option);
	check(!bind_tcp(fd, address, port), "bind: %m");
	check(!listening || !listen(fd, 1), "listen: %m");
	return fd;
}

static void refuse_server(struct pair *p, const char *address, int port)
{
	struct rdma_cm_id *server = make_server_at(p, RDMA_PS_TCP, address, port);

	must_not_listen(p, server, EADDRINUSE);
	destroy(server);
}

/* A server must not get the port before @holder is closed. */
static void respect(struct pair *p, int holder, const char *address)
{
	int port = tcp_port(holder);
	struct rdma_cm_id *server;

	refuse_server(p, address, port);
	close(holder);
	server = make_server_at(p, RDMA_PS_TCP, address, port);
	must_listen(p, server);
	destroy(server);
}

static void respect_listeners(struct pair *p, int port, int option)
{
	respect(p, hold(p, "10.77.0.2", port, option, true), "10.77.0.2");
	respect(p, hold(p, "10.77.0.2", port, option, true), "0.0.0.0");
	respect(p, hold(p, "10.77.0.2", port, option, true), "::");
	respect(p, hold(p, "0.0.0.0", port, option, true), "10.77.0.2");
	respect(p, hold(p, "0.0.0.0", port, option, true), "0.0.0.0");
	respect(p, hold(p, "0.0.0.0", port, option, true), "::");
	respect(p, hold(p, "::", port, option, true), "10.77.0.2");
	respect(p, hold(p, "::", port, option, true), "0.0.0.0");
	respect(p, hold(p, "::", port, option, true), "fd77::2");
	respect(p, hold(p, "fd77::2", port, option, true), "::");
	respect(p, hold(p, "fd77::2", port, option, true), "fd77::2");
}

/* A port belongs to the program that has bound it, also if TCP chose the port. */
static void respect_bound(struct pair *p, int port)
{
	int fd = hold(p, "0.0.0.0", port, 0, true);

	/* It belongs to another user. */
	check(!fchown(fd, 2001, -1), "fchown: %m");
	respect(p, fd, "0.0.0.0");
	respect(p, hold(p, "0.0.0.0", port, 0, false), "0.0.0.0");
	respect(p, hold(p, "0.0.0.0", port, 0, false), "10.77.0.2");
	respect(p, hold(p, "10.77.0.2", port, 0, false), "::");
	respect(p, hold(p, "0.0.0.0", 0, 0, false), "0.0.0.0");
	respect(p, hold(p, "10.77.0.2", 0, 0, false), "0.0.0.0");
}

/* A TCP program has bound the port of a connection with another address. */
static void respect_company(struct pair *p, bool listening)
{
	struct link l = link_up(p, -1, "10.77.0.1");

	respect(p, hold(p, "127.0.0.1", l.port, 0, listening), "0.0.0.0");
	respect(p, hold(p, "127.0.0.1", l.port, SO_REUSEADDR, true), "0.0.0.0");
	talk(&l);
	link_down(&l);
}

/* The program lets others bind its port, so the first to listen has it, as TCP's rule says. */
static void outrun_bound(struct pair *p, int port)
{
	int fd = hold(p, "0.0.0.0", port, SO_REUSEADDR, false);
	struct rdma_cm_id *server = make_server_at(p, RDMA_PS_TCP, "0.0.0.0", port);

	must_listen(p, server);
	check(listen(fd, 1) && errno == EADDRINUSE, "two listen");
	destroy(server);
	check(!listen(fd, 1), "listen: %m");
	close(fd);
}

static void held(void)
{
	int low = probe_port(), port = low + 7, fd;
	struct link l;
	struct pair p;

	pair_init(&p, &defaults);
	set_range(&p, low);
	respect_listeners(&p, port, 0);
	respect_listeners(&p, port, SO_REUSEADDR);
	respect_listeners(&p, port, SO_REUSEPORT);
	respect_bound(&p, port);
	respect_company(&p, true);
	respect_company(&p, false);
	outrun_bound(&p, port);
	/* The program asked for the port of this connection. */
	fd = hold(&p, "10.77.0.2", port, 0, false);
	l = link_up(&p, fd, "10.77.0.1");
	refuse_server(&p, "0.0.0.0", port);
	talk(&l);
	/* TCP has not chosen a port outside of the range. */
	l = link_up(&p, -1, "10.77.0.1");
	set_range(&p, low + RANGE);
	refuse_server(&p, "0.0.0.0", l.port);
	talk(&l);
	pair_free(&p);
}

#define ROUNDS		300

static struct {
	struct pair *p;
	pthread_barrier_t begin, end;
	int port, fd;
} race;

/* In each round try to listen with TCP, on another address than that of the connection. */
static void *compete(void *unused)
{
	int i;

	enter(&race.p->b);
	for (i = 0; i < ROUNDS; i++) {
		race.fd = tcp_socket(AF_INET);
		set_flag(race.fd, SO_REUSEADDR);
		pthread_barrier_wait(&race.begin);
		if (bind_tcp(race.fd, "127.0.0.1", race.port) || listen(race.fd, 1)) {
			check(errno == EADDRINUSE, "TCP: %m");
			close(race.fd);
			race.fd = -1;
		}
		pthread_barrier_wait(&race.end);
		pthread_barrier_wait(&race.end);
	}
	return unused;
}

/* RDMA and TCP ask for the port of a connection at the same time. Only one may get it. */
static void at_once(void)
{
	int i, rdma = 0, tcp = 0;
	struct rdma_cm_id *server;
	pthread_t thread;
	struct pair p;
	struct link l;
	bool got;

	pair_init(&p, &defaults);
	set_range(&p, probe_port());
	l = link_up(&p, -1, "10.77.0.1");
	race.p = &p;
	race.port = l.port;
	check(!pthread_barrier_init(&race.begin, NULL, 2) &&
	      !pthread_barrier_init(&race.end, NULL, 2) &&
	      !pthread_create(&thread, NULL, compete, NULL), "thread");
	for (i = 0; i < ROUNDS; i++) {
		server = make_server_at(&p, RDMA_PS_TCP, "0.0.0.0", l.port);
		pthread_barrier_wait(&race.begin);
		got = !rdma_listen(server, 8);
		check(got || errno == EADDRINUSE, "listen: %m");
		pthread_barrier_wait(&race.end);
		check(!got || race.fd < 0, "both listen");
		rdma += got;
		tcp += race.fd >= 0;
		if (race.fd >= 0)
			close(race.fd);
		destroy(server);
		pthread_barrier_wait(&race.end);
	}
	check(!pthread_join(thread, NULL), "join: %m");
	printf("of %d rounds RDMA got %d, TCP %d\n", ROUNDS, rdma, tcp);
	check(rdma + tcp, "nobody ever got the port");
	talk(&l);
	pair_free(&p);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "taken", taken },
		{ "datagrams", datagrams },
		{ "await_device", await_device },
		{ "families", families },
		{ "beside_connections", beside_connections },
		{ "any_port", any_port },
		{ "held", held },
		{ "at_once", at_once },
		{ NULL, NULL },
	};

	return run_tests(argc, argv, tests);
}
