// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Ranks that exchange messages of all sizes: a ring, a ping-pong between the first and the last rank, and sums of all. Short
 * messages, long ones that need a rendezvous, and ones between ranks of one node take different ways in an MPI library.
 *
 * usage: exchange ROUNDS
 * Rank 0 prints one line `result RANK CHECKSUM SUM` for each rank, the same wherever the ranks run, and one line
 * `place RANK HOST CPU`. Must never print a time: emulated ranks that poll wait for each other.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST (256 << 10)
#define NAME 64

struct place {
	char host[NAME];
	int cpu;
};

static uint8_t sent[LONGEST], received[LONGEST];
static uint64_t checksum = 14695981039346656037u;

static void add(const uint8_t *bytes, int length)
{
	for (int i = 0; i < length; i++)
		checksum = (checksum ^ bytes[i]) * 1099511628211u;
}

static void fill(int rank, int round, int length)
{
	for (int i = 0; i < length; i++)
		sent[i] = (uint8_t)(rank * 31 + round * 7 + i + (i >> 8));
}

/* Each rank sends to the next one. */
static void ring(int rank, int ranks, int round, int length)
{
	fill(rank, round, length);
	MPI_Sendrecv(sent, length, MPI_BYTE, (rank + 1) % ranks, 1, received, length, MPI_BYTE, (rank + ranks - 1) % ranks, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	add(received, length);
}

static void ping_pong(int rank, int ranks, int length)
{
	int other = rank ? 0 : ranks - 1;

	if (rank && rank != ranks - 1)
		return;
	if (!rank)
		MPI_Send(received, length, MPI_BYTE, other, 2, MPI_COMM_WORLD);
	MPI_Recv(received, length, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank)
		MPI_Send(received, length, MPI_BYTE, other, 2, MPI_COMM_WORLD);
	add(received, length);
}

static void tell(int rank, int ranks, double sum)
{
	struct place own = { .cpu = sched_getcpu() };
	struct place *places = calloc((size_t)ranks, sizeof(*places));
	uint64_t *checksums = calloc((size_t)ranks, sizeof(*checksums));

	gethostname(own.host, sizeof(own.host) - 1);
	if (!places || !checksums)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Gather(&own, sizeof(own), MPI_BYTE, places, sizeof(own), MPI_BYTE, 0, MPI_COMM_WORLD);
	MPI_Gather(&checksum, 1, MPI_UINT64_T, checksums, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	for (int i = 0; !rank && i < ranks; i++) {
		printf("result %d %016llx %.6f\n", i, (unsigned long long)checksums[i], sum);
		printf("place %d %s %d\n", i, places[i].host, places[i].cpu);
	}
	free(places);
	free(checksums);
}

int main(int argc, char **argv)
{
	int rank, ranks, rounds = argc > 1 ? atoi(argv[1]) : 10;
	double sum = 0, mine;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int round = 0; round < rounds; round++) {
		int length = round % 4 == 3 ? LONGEST : 1 << (round % 4 * 5);

		ring(rank, ranks, round, length);
		ping_pong(rank, ranks, length);
		mine = (rank + 1) * 0.5 + sum / ranks;
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	tell(rank, ranks, sum);
	MPI_Finalize();
	return 0;
}
