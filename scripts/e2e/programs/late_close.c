// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * late_close.so - to be preloaded: a program of rsockets closes a little later
 *
 * The poll of rstream and riostream fails if the other end has closed before they have read its
 * last bytes (apps.sh, polled).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <rdma/rsocket.h>

int rshutdown(int socket, int how)
{
	int (*real)(int socket, int how) = dlsym(RTLD_NEXT, "rshutdown");

	if (!real) {
		fprintf(stderr, "late_close: %s\n", dlerror());
		exit(1);
	}
	usleep(300000);
	return real(socket, how);
}
