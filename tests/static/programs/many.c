/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * poll of more entries than a message of a static node has room for: what is ready is found wherever it is, nothing else
 * changes, and the call waits, ends by time and is interrupted as a short one.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "../../user/check.h"

#define ENTRIES 12000

static struct pollfd entries[ENTRIES];
static nfds_t count = ENTRIES;
static int empty[2], full[2];
static volatile sig_atomic_t taken;

static void raise_limit(void)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	if (limit.rlim_cur < count)
		count = limit.rlim_cur;
	CHECK_ERRNO(syscall(SYS_poll, entries, limit.rlim_cur + 1, 0), EINVAL);
}

/* No entry is ready. Every third has no descriptor. */
static void prepare(void)
{
	for (nfds_t i = 0; i < count; i++)
		entries[i] = (struct pollfd){ i % 3 ? empty[0] : -1, POLLIN, POLLNVAL };
}

static void expect(nfds_t at)
{
	for (nfds_t i = 0; i < count; i++) {
		CHECK(entries[i].fd == (i == at ? full[0] : i % 3 ? empty[0] : -1) && entries[i].events == POLLIN);
		CHECK(entries[i].revents == (i == at ? POLLIN : 0));
	}
}

static void find_each(void)
{
	const nfds_t places[] = { 0, 1, 8191, 8192, count - 1 };

	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		if (places[i] >= count)
			continue;
		prepare();
		entries[places[i]].fd = full[0];
		CHECK(poll(entries, count, -1) == 1);
		expect(places[i]);
	}
	say("found\n");
}

static void *write_later(void *none)
{
	(void)none;
	usleep(50000);
	CHECK(write(full[1], "", 1) == 1);
	return NULL;
}

static void wait_for_one(void)
{
	pthread_t thread;
	char byte;

	CHECK(read(full[0], &byte, 1) == 1);
	prepare();
	entries[count - 1].fd = full[0];
	CHECK(pthread_create(&thread, NULL, write_later, NULL) == 0);
	CHECK(poll(entries, count, -1) == 1);
	expect(count - 1);
	CHECK(pthread_join(thread, NULL) == 0);
	say("came\n");
}

static void wait_for_time(void)
{
	prepare();
	CHECK(ppoll(entries, count, &(struct timespec){ .tv_nsec = 20000000 }, NULL) == 0);
	expect(count);
	say("ended\n");
}

static void take(int signal)
{
	(void)signal;
	taken = 1;
}

static void wait_for_signal(void)
{
	CHECK(sigaction(SIGALRM, &(struct sigaction){ .sa_handler = take, .sa_flags = SA_RESTART }, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_usec = 50000 }, NULL) == 0);
	CHECK_ERRNO(poll(entries, count, -1), EINTR);
	CHECK(taken);
	say("interrupted\n");
}

int main(void)
{
	raise_limit();
	CHECK(pipe(empty) == 0 && pipe(full) == 0 && write(full[1], "", 1) == 1);
	find_each();
	wait_for_one();
	wait_for_time();
	prepare();
	wait_for_signal();
	return 0;
}
