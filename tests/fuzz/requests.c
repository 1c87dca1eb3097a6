/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hostile ioctls: a valid request of a random kind, in which some words are then
 * damaged, at a good or a bad address. Called by fuzz.c from many threads. It
 * must never request a failure on purpose: it uses TACET_TEST only with invalid
 * numbers. It seldom starts or ends a partition, or nothing would be hosted.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tacet/cpu.h>
#include <tacet/ioctl.h>

#include "hostile.h"

union any {
	uint32_t words[1024];
	uint64_t longs[512];
	uint32_t revision;
	struct tacet_up up;
	struct tacet_down down;
	struct tacet_status status;
	struct tacet_cpu_status cpu_status;
	struct tacet_host_self host_self;
	struct tacet_decouple decouple;
	struct tacet_recouple recouple;
	struct tacet_list list;
	struct tacet_log_read log_read;
	struct tacet_test_hook test;
	struct tacet_profile_read profile;
};

static const unsigned long numbers[] = {
	TACET_UP, TACET_DOWN, TACET_STATUS, TACET_CPU_STATUS, TACET_HOST_SELF, TACET_DECOUPLE,
	TACET_RECOUPLE, TACET_LIST, TACET_LOG_READ, TACET_TEST, TACET_PROFILE,
};

/* The buffer for answers, large enough for all. */
static __thread char answers[1 << 16];

static int32_t some_pid(struct source *source)
{
	if (one_in(source, 3))
		return nasty(source);
	return targets[below(source, target_count)];
}

static uint64_t some_address(struct source *source)
{
	return one_in(source, 3) ? nasty(source) : (uintptr_t)answers;
}

/* Mostly small counts: the answers must fit into the buffer. */
static uint32_t some_count(struct source *source)
{
	return below(source, 8) ? below(source, 64) : nasty(source);
}

static void fill(struct source *source, union any *any, unsigned long number_)
{
	memset(any, 0, sizeof(*any));
	any->revision = TACET_ABI_REVISION;
	switch (number_) {
	case TACET_UP:
		any->up.cpus[0] = below(source, 4) ? 12 : 1ull << below(source, 5);
		any->up.node_count = 1;
		any->up.nodes[0].bytes = (below(source, 4) ? 32 : below(source, 40)) << 21;
		any->up.image_address = one_in(source, 4) ? some_address(source) : (uintptr_t)image;
		any->up.image_bytes = one_in(source, 4) ? below(source, sizeof(answers)) : image_bytes;
		break;
	case TACET_CPU_STATUS:
		any->cpu_status.cpu = below(source, 5);
		break;
	case TACET_HOST_SELF:
		any->host_self.flags = (below(source, 4) | (one_in(source, 2) ? TACET_HOST_BIND : 0) |
					(one_in(source, 4) ? TACET_HOST_PROFILE : 0));
		any->host_self.cpus[0] = below(source, 16);
		any->host_self.order_count = below(source, one_in(source, 4) ? 2000 : 5);
		for (unsigned i = 0; i < 4; i++)
			any->host_self.order[i] = one_in(source, 8) ? below(source, 65536) : 2 + below(source, 2);
		break;
	case TACET_DECOUPLE:
		any->decouple.pid = some_pid(source);
		any->decouple.cpu = one_in(source, 2) ? TACET_ANY_CPU : below(source, 5);
		any->decouple.flags = below(source, 4);
		break;
	case TACET_RECOUPLE:
		any->recouple.pid = some_pid(source);
		any->recouple.flags = below(source, 2);
		break;
	case TACET_LIST:
		any->list.capacity = some_count(source);
		any->list.address = some_address(source);
		break;
	case TACET_LOG_READ:
		any->log_read.cpu = one_in(source, 2) ? TACET_LOG_MODULE : below(source, 5);
		any->log_read.sequence = below(source, 200);
		any->log_read.address = some_address(source);
		any->log_read.capacity = some_count(source);
		break;
	case TACET_PROFILE:
		any->profile.pid = one_in(source, 2) ? 0 : some_pid(source);
		any->profile.capacity = some_count(source);
		any->profile.address = some_address(source);
		break;
	case TACET_TEST:
		any->test.cpu = below(source, 5);
		any->test.test = TACET_TEST_LAST + 1 + below(source, 1000);
		break;
	}
}

/* Damages some words of a request, but never turns it into a failure on purpose. */
static void damage(struct source *source, union any *any, unsigned long number_)
{
	size_t size = _IOC_SIZE(number_), words = size / 4;

	for (uint64_t times = below(source, 4); times; times--) {
		if (one_in(source, 2) && words >= 2)
			any->longs[below(source, words / 2)] = nasty(source);
		else
			any->words[below(source, words)] = nasty(source);
	}
	if (number_ == TACET_TEST && any->test.test <= TACET_TEST_LAST)
		any->test.test += TACET_TEST_LAST + 1;
	if (number_ == TACET_UP && any->up.fail_step)
		any->up.fail_step %= 8;
}

/* Limits a request's answer: one longer than `answers` would overwrite the memory behind it. */
static void contain(union any *any, unsigned long number_)
{
	if (number_ == TACET_LIST && any->list.address == (uintptr_t)answers &&
	    any->list.capacity > sizeof(answers) / sizeof(struct tacet_thread) &&
	    any->list.capacity <= 65536)
		any->list.capacity = 4;
	if (number_ == TACET_LOG_READ && any->log_read.address == (uintptr_t)answers &&
	    any->log_read.capacity > 128)
		any->log_read.capacity = 128;
	if (number_ == TACET_PROFILE && any->profile.address == (uintptr_t)answers &&
	    any->profile.capacity > sizeof(answers) / sizeof(struct tacet_cost))
		any->profile.capacity = 4;
}

/* Puts the request into valid memory, across its end, or at an invalid address. */
static void *place(struct source *source, union any *any, size_t size)
{
	static __thread char *pages;

	if (!pages) {
		pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE))
			_exit(70);
	}
	switch (below(source, 20)) {
	case 0: return (void *)nasty(source);
	case 1: return memcpy(pages + 4096 - size / 2, any, size / 2);
	case 2: return memcpy(pages + 4096 - size, any, size);
	default: return any;
	}
}

int hostile_request(struct source *source, int door)
{
	static __thread union any any;
	unsigned long number_ = numbers[below(source, sizeof(numbers) / sizeof(numbers[0]))];
	int result;

	if ((number_ == TACET_UP && !one_in(source, 500)) || (number_ == TACET_DOWN && !one_in(source, 2000)))
		number_ = TACET_STATUS;
	/* Host ourselves only seldom: everything is slower there. */
	if (number_ == TACET_HOST_SELF && !one_in(source, 50))
		number_ = TACET_LIST;
	fill(source, &any, number_);
	if (!one_in(source, 4))
		damage(source, &any, number_);
	contain(&any, number_);
	if (one_in(source, 30)) {
		/* Any number, except those whose answer is longer than our memory. */
		unsigned long other = _IOC(below(source, 4), one_in(source, 2) ? TACET_IOCTL_MAGIC : below(source, 256),
					   below(source, 16), below(source, 4096));
		result = other == TACET_TEST ? 0 : ioctl(door, other, &any);
	} else {
		result = ioctl(door, number_, place(source, &any, _IOC_SIZE(number_)));
	}
	return result < 0 ? errno : 0;
}
