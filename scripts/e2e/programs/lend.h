/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Two programs that talk over plain TCP and turn the connection into an MPA stream. One thread
 * drives both (probe.h). Side b listens, and is the responder unless a test says otherwise.
 */
#ifndef E2E_LEND_H
#define E2E_LEND_H

#include <stdbool.h>
#include <rdma/rdma_mpa.h>

#include "probe.h"

#define READY	"ready"

/* A pair whose sides have TCP sockets and queue pairs, and no rdma_cm. */
struct lent {
	struct pair p;
	int a, b;	/* connected sockets */
	struct rdma_cm_id ids[2];
};

/* From TCP to an established stream */
int tcp_listen(const struct side *server);
void tcp_join(struct lent *l, int listener);
void tcp_connect_next(struct lent *l);
void tcp_connect(struct lent *l);
void make_device(struct lent *l, struct side *s);
int try_ulp(int fd, const char *name);
void set_ulp(int fd);
void lent_open(struct lent *l);
void ask_in_text(struct lent *l, const char *request);
void stream_open(struct lent *l);
void lent_free(struct lent *l);

/* The calls of one program */
void say(int from, int to, const char *text);
struct mpa_start start_args(struct side *s, enum mpa_role role);
int set_start(int fd, const struct mpa_start *start);
int start_mpa(struct side *s, int fd, enum mpa_role role, const char *text);
int answer(int fd, enum mpa_option option, const char *text);
struct mpa_status status_of(int fd);
struct mpa_status wait_for(int fd, enum mpa_stream_state state);
void wait_failure(int fd, int error);
void has_data(const struct mpa_status *status, const char *text);
void is_refused(int fd);
void expect_end(int fd);
void echo(struct lent *l);

extern const struct test lend_both_tests[], lend_peer_tests[], lend_end_tests[], lend_lock_tests[],
	lend_arg_tests[];

#endif
