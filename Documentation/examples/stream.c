// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A client and a server talk in text over TCP, and then turn the same connection into an MPA
 * stream. Documentation/streams.rst explains the interface. This needs the package libibverbs-dev,
 * and no -I if rdma-mpa-tools is installed:
 *
 *	cc -I ../../include/uapi stream.c -o stream -libverbs
 *	./stream mpa1 7200			as the server, on 192.0.2.1
 *	./stream mpa0 7200 192.0.2.1 secret	as a client, whose last line is sent by RDMA
 *	./stream mpa0 7200 192.0.2.1 guess	as one that is rejected: the line is sent as text
 */
#include <err.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_mpa.h>

#define must(ok) do { if (!(ok)) err(1, "%s", #ok); } while (0)

static char line[64];		/* the one message, by RDMA or as text */
static struct ibv_mr *mr;

/* A queue pair in INIT, of the device with that name */
static struct ibv_qp *make_qp(const char *device)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	while (list && *list && strcmp(ibv_get_device_name(*list), device))
		list++;
	must(list && *list && (ctx = ibv_open_device(*list)));
	must(pd = ibv_alloc_pd(ctx));
	must(mr = ibv_reg_mr(pd, line, sizeof(line), IBV_ACCESS_LOCAL_WRITE));
	must(attr.send_cq = attr.recv_cq = ibv_create_cq(ctx, 2, NULL, NULL, 0));
	must(qp = ibv_create_qp(pd, &attr));
	must(!ibv_modify_qp(qp, &init, IBV_QP_STATE));
	return qp;
}

static int make_socket(const char *port, const char *host)
{
	struct addrinfo hints = {
		.ai_family = host ? AF_UNSPEC : AF_INET6, .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE,
	}, *ai;
	int fd, listener;

	must(!getaddrinfo(host, port, &hints, &ai));
	must((fd = socket(ai->ai_family, SOCK_STREAM, 0)) >= 0);
	if (host) {
		must(!connect(fd, ai->ai_addr, ai->ai_addrlen));
	} else {
		listener = fd;
		must(!bind(listener, ai->ai_addr, ai->ai_addrlen) && !listen(listener, 1));
		must((fd = accept(listener, NULL, NULL)) >= 0);
	}
	/* From now on the socket has the options of SOL_MPA. */
	must(!setsockopt(fd, IPPROTO_TCP, TCP_ULP, MPA_ULP, strlen(MPA_ULP)));
	return fd;
}

/* Read to the end of the line and no further: nothing may be unread when MPA starts. */
static void read_line(int fd)
{
	char *at = line;

	do
		must(at < line + sizeof(line) && read(fd, at, 1) == 1);
	while (*at++ != '\n');
	printf("text: %.*s", (int)(at - line), line);
}

static void start_mpa(int fd, struct ibv_qp *qp, struct mpa_start *start)
{
	start->verbs_fd = qp->context->cmd_fd;
	start->qp_num = qp->qp_num;
	must(!setsockopt(fd, SOL_MPA, MPA_START, start, sizeof(*start)));
}

/* Wait until MPA_STATUS has news. */
static struct mpa_status wait_for_status(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct mpa_status status;
	socklen_t len = sizeof(status);

	must(poll(&pfd, 1, -1) == 1);
	must(!getsockopt(fd, SOL_MPA, MPA_STATUS, &status, &len));
	if (status.state == MPA_STREAM_FAILED)
		errx(1, "MPA: %s", strerror(status.error));
	return status;
}

static void wait_for_completion(struct ibv_qp *qp)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(qp->send_cq, 1, &wc))
		;
	must(wc.status == IBV_WC_SUCCESS);
}

static void serve(int fd, struct ibv_qp *qp)
{
	const char *ready = "ready\n";
	struct mpa_start start = {
		/* Sent when Requests are heard, so the client's cannot come too early. */
		.role = MPA_RESPONDER, .last = (uintptr_t)ready, .last_len = strlen(ready),
	};
	struct ibv_sge sge = { .addr = (uintptr_t)line, .length = sizeof(line), .lkey = mr->lkey };
	struct ibv_recv_wr *bad, recv = { .sg_list = &sge, .num_sge = 1 };
	struct mpa_answer answer = { 0 };
	struct mpa_status status;

	read_line(fd);
	must(!ibv_post_recv(qp, &recv, &bad));
	start_mpa(fd, qp, &start);
	status = wait_for_status(fd);		/* MPA_STREAM_REQUESTED */
	if (status.private_data_len == 6 && !memcmp(status.private_data, "secret", 6)) {
		must(!setsockopt(fd, SOL_MPA, MPA_ACCEPT, &answer, sizeof(answer)));
		wait_for_completion(qp);
		printf("RDMA: %s", line);
	} else {
		must(!setsockopt(fd, SOL_MPA, MPA_REJECT, &answer, sizeof(answer)));
		read_line(fd);			/* TCP is ours again. */
	}
}

static void ask(int fd, struct ibv_qp *qp, char *word)
{
	struct mpa_start start = {
		.role = MPA_INITIATOR, .private_data = (uintptr_t)word,
		.private_data_len = strlen(word),
	};
	struct ibv_sge sge = { .addr = (uintptr_t)line, .lkey = mr->lkey };
	struct ibv_send_wr *bad, send = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int accepted;

	must(write(fd, "MPA, please\n", 12) == 12);
	read_line(fd);
	start_mpa(fd, qp, &start);
	accepted = wait_for_status(fd).state == MPA_STREAM_ESTABLISHED;
	printf("the server %s\n", accepted ? "accepts" : "rejects");
	sge.length = sprintf(line, "The word is %s.\n", word) + 1;
	if (accepted) {
		must(!ibv_post_send(qp, &send, &bad));
		wait_for_completion(qp);
	} else {
		must(write(fd, line, strlen(line)) == (ssize_t)strlen(line));
	}
}

int main(int argc, char **argv)
{
	struct ibv_qp *qp;
	int fd;

	if (argc != 3 && (argc != 5 || strlen(argv[4]) > 40))
		errx(1, "usage: stream DEVICE PORT [HOST WORD]");
	qp = make_qp(argv[1]);
	fd = make_socket(argv[2], argv[3]);
	if (argc == 5)
		ask(fd, qp, argv[4]);
	else
		serve(fd, qp);
	close(fd);	/* ends the stream as rdma_disconnect() does */
	return 0;
}
