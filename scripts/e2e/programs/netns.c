// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * netns [-t SECONDS] NAMESPACE PROGRAM [ARGUMENT...]
 *
 * Runs a program in a network namespace made by ip(8), as "ip netns exec" does, but
 * without a /sys of its own, and with a time limit, as timeout(1) does: the status is
 * 124 if the time was over. Those two programs link a dozen libraries between them, and under
 * emulation starting programs is most of the cost of the scenarios. So this one is static.
 * When the time is over the shell command in NETNS_LATE runs before the program is ended, so
 * that it can show what the program waits for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMED_OUT	124
#define CANNOT		125

static void die(const char *what)
{
	fprintf(stderr, "netns: %s: %s\n", what, strerror(errno));
	exit(CANNOT);
}

static void usage(void)
{
	fputs("usage: netns [-t SECONDS] NAMESPACE PROGRAM [ARGUMENT...]\n", stderr);
	exit(CANNOT);
}

static void enter(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
}

static void run(char **argv)
{
	execvp(argv[0], argv);
	die(argv[0]);
}

static int has_ended(pid_t pid)
{
	siginfo_t info = {};

	if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT))
		die("waitid");
	return info.si_pid;
}

/* Waits for the child's end. Returns false when time is up. */
static int ends(pid_t pid, const sigset_t *child, time_t seconds)
{
	struct timespec limit = { .tv_sec = seconds };

	while (!has_ended(pid)) {
		if (sigtimedwait(child, NULL, &limit) >= 0)
			continue;
		if (errno == EAGAIN)
			return 0;
		if (errno != EINTR)
			die("sigtimedwait");
	}
	return 1;
}

static void tell_late(void)
{
	const char *command = getenv("NETNS_LATE");

	if (command && system(command))
		fputs("netns: NETNS_LATE failed\n", stderr);
}

static int limited(char **argv, long seconds)
{
	int status, over = 0;
	sigset_t child;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_UNBLOCK, &child, NULL);
		run(argv);
	}
	if (!ends(pid, &child, seconds)) {
		over = 1;
		tell_late();
		kill(pid, SIGTERM);
		if (!ends(pid, &child, 1))
			kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("waitpid");
	}
	if (over)
		return TIMED_OUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	long seconds = 0;
	char *end;

	argv++;
	argc--;
	if (argc > 1 && !strcmp(argv[0], "-t")) {
		seconds = strtol(argv[1], &end, 10);
		if (*end || seconds < 1)
			usage();
		argv += 2;
		argc -= 2;
	}
	if (argc < 2)
		usage();
	enter(argv[0]);
	if (seconds)
		return limited(argv + 1, seconds);
	run(argv + 1);
	return 0;
}
