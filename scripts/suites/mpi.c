// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpi ring|pingpong|gather: small programs of MPI, whose data each rank checks
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(unsigned char *bytes, int size, int seed)
{
	int i;

	for (i = 0; i < size; i++)
		bytes[i] = i * 7 + i / 251 + seed;
}

static void check_bytes(const unsigned char *bytes, int size, int seed)
{
	int i;

	for (i = 0; i < size; i++)
		if (bytes[i] != (unsigned char)(i * 7 + i / 251 + seed))
			fail("the data differs");
}

/* Each rank adds one to what the rank before it sends. */
static void pass_ring(void)
{
	int value = 0, turn;

	for (turn = 0; turn < 20; turn++) {
		if (rank == 0)
			MPI_Send(&value, 1, MPI_INT, 1 % ranks, 1, MPI_COMM_WORLD);
		MPI_Recv(&value, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		value++;
		if (rank != 0)
			MPI_Send(&value, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD);
	}
	if (rank == 0 && value != 20 * ranks)
		fail("the ring lost count");
}

/* Ranks 0 and 1: messages that are sent at once, and those that the receiver reads. */
static void play_pingpong(void)
{
	static unsigned char bytes[1 << 20];
	int size, turn, seed;

	for (size = 1; size <= (int)sizeof(bytes) && rank < 2; size *= 8) {
		for (turn = 0; turn < 10; turn++) {
			seed = size + turn;
			if (rank == turn % 2) {
				fill(bytes, size, seed);
				MPI_Send(bytes, size, MPI_BYTE, 1 - rank, size, MPI_COMM_WORLD);
			} else {
				memset(bytes, 0, size);
				MPI_Recv(bytes, size, MPI_BYTE, 1 - rank, size, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
				check_bytes(bytes, size, seed);
			}
		}
	}
}

/* All to all, and a sum that all get. */
static void gather_all(void)
{
	int size = 50000, sum = 0, other;
	unsigned char *mine = malloc(size), *all = malloc((size_t)size * ranks);

	if (!mine || !all)
		fail("no memory");
	fill(mine, size, rank);
	MPI_Allgather(mine, size, MPI_BYTE, all, size, MPI_BYTE, MPI_COMM_WORLD);
	for (other = 0; other < ranks; other++)
		check_bytes(all + (size_t)other * size, size, other);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum != ranks * (ranks - 1) / 2)
		fail("the sum is wrong");
	free(mine);
	free(all);
}

int main(int argc, char *argv[])
{
	const char *what = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks < 2)
		fail("one rank is no company");
	if (!strcmp(what, "ring"))
		pass_ring();
	else if (!strcmp(what, "pingpong"))
		play_pingpong();
	else if (!strcmp(what, "gather"))
		gather_all();
	else
		fail("usage: mpi ring|pingpong|gather");
	MPI_Finalize();
	if (rank == 0)
		printf("%s: %d ranks, well\n", what, ranks);
	return 0;
}
