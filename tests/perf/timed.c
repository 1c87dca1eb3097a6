// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Preloaded into the ranks of an MPI program (MPI's profiling interface: MPI 4.1, chapter 15). The first rank prints
 * the time from a barrier after MPI_Init to the beginning of MPI_Finalize, as `inside SECONDS`. It writes 1 before and
 * 0 after that time to the file that TIMED names: the switch of busy_idle. The barrier is needed because ranks may
 * return from MPI_Init long after the first one. Works with the binary interfaces of MPICH and Open MPI, so it needs no
 * header.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int PMPI_Init(int *argc, char ***argv);
int PMPI_Finalize(void);
/* A communicator is a number in MPICH's binary interface and an address in Open MPI's; both use the same register. */
int PMPI_Barrier(const void *communicator);
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);

/* MPI_COMM_WORLD: the address of this symbol, if it exists, else the number. */
extern const char ompi_mpi_comm_world __attribute__((weak));
#define MPICH_COMM_WORLD ((const void *)0x44000000)

static struct timespec begin;

/* Is this the first rank, by the variable of MPICH's or Open MPI's launcher? */
static int first(void)
{
	const char *rank = getenv("PMI_RANK");

	if (!rank)
		rank = getenv("OMPI_COMM_WORLD_RANK");
	return rank && !atoi(rank);
}

static void turn(const char *value)
{
	const char *path = getenv("TIMED");
	int file = path ? open(path, O_WRONLY) : -1;

	if (file < 0 || write(file, value, 1) != 1) {
		perror("timed: the file that TIMED names");
		exit(1);
	}
	close(file);
}

int MPI_Init(int *argc, char ***argv)
{
	int result = PMPI_Init(argc, argv);

	PMPI_Barrier(&ompi_mpi_comm_world ? &ompi_mpi_comm_world : MPICH_COMM_WORLD);
	if (first()) {
		turn("1");
		clock_gettime(CLOCK_MONOTONIC, &begin);
	}
	return result;
}

int MPI_Finalize(void)
{
	struct timespec end;

	if (first()) {
		clock_gettime(CLOCK_MONOTONIC, &end);
		turn("0");
		printf("inside %.6f\n", (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
		fflush(stdout);
	}
	return PMPI_Finalize();
}
