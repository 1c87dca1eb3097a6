/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests to the module for the fault programs, which need to be faster or ruder
 * than the tacet command. Included by each of them.
 */
#ifndef TACET_TESTS_FAULTS_DOOR_H
#define TACET_TESTS_FAULTS_DOOR_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tacet/ioctl.h>

#define TOLD __attribute__((format(printf, 1, 2), noreturn))

/* Prints what is wrong, for the runner, and exits. */
static inline TOLD void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("fail: ");
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	exit(1);
}

static inline int open_door(void)
{
	return open("/dev/tacet", O_RDWR | O_CLOEXEC);
}

static inline int host_self(int door, uint32_t flags)
{
	struct tacet_host_self request = { .revision = TACET_ABI_REVISION, .flags = flags };

	return ioctl(door, TACET_HOST_SELF, &request);
}

static inline int decouple(int door, pid_t pid, uint32_t cpu, uint32_t flags)
{
	struct tacet_decouple request = {
		.revision = TACET_ABI_REVISION, .pid = pid, .cpu = cpu, .flags = flags,
	};

	return ioctl(door, TACET_DECOUPLE, &request);
}

static inline int recouple(int door, pid_t pid, uint32_t flags)
{
	struct tacet_recouple request = { .revision = TACET_ABI_REVISION, .pid = pid, .flags = flags };

	return ioctl(door, TACET_RECOUPLE, &request);
}

/* Random numbers from a seed, so that a run can be repeated. */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline void sleep_us(long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

#endif
