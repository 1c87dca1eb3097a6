// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * One kind of system call many times: instructions by the markers, time by the clock.
 *
 * usage: shipped getcwd|read|write|bulk ROUNDS FILE
 * read: one byte of FILE a round; write: 64 KiB to the begin of FILE a round; bulk: a whole FILE of 64 MiB, once. Prints
 * `ns NANOSECONDS` of one round. The same binary runs on Linux and on a static node, where all these calls are shipped.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "marker.h"

#define PIECE (64 << 10)
#define PORTION (1 << 20)
#define WHOLE (64 << 20)
#define WARM 3

static char buffer[PORTION];

static int read_whole(int file)
{
	for (off_t at = 0; at < WHOLE; at += PORTION)
		if (pread(file, buffer, PORTION, at) != PORTION)
			return 0;
	return 1;
}

static int once(const char *kind, int file)
{
	switch (*kind) {
	case 'g':
		return getcwd(buffer, PATH_MAX) != NULL;
	case 'b':
		return read_whole(file);
	case 'r':
		return pread(file, buffer, 1, 0) == 1;
	default:
		return pwrite(file, buffer, PIECE, 0) == PIECE;
	}
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static void fail(const char *kind)
{
	perror(kind);
	exit(1);
}

int main(int count, char **words)
{
	long rounds = count == 4 ? atol(words[2]) : 0;
	const char *kind = count == 4 ? words[1] : "";
	int file;
	double began;

	if (rounds < 1 || (strcmp(kind, "getcwd") && strcmp(kind, "read") && strcmp(kind, "write") &&
			   strcmp(kind, "bulk"))) {
		fprintf(stderr, "usage: shipped getcwd|read|write|bulk ROUNDS FILE\n");
		return 2;
	}
	file = open(words[3], O_RDWR | O_CREAT, 0600);
	if (file < 0 || pwrite(file, buffer, PIECE, 0) != PIECE)
		fail(words[3]);
	for (long i = 0; i < (*kind == 'b' ? 1 : WARM); i++)
		if (!once(kind, file))
			fail(kind);
	began = now_ns();
	MARK(MARK_REGION, 1);
	for (long i = 0; i < rounds; i++)
		if (!once(kind, file))
			fail(kind);
	MARK(MARK_REGION_END, 1);
	printf("ns %.0f\n", (now_ns() - began) / rounds);
	return 0;
}
