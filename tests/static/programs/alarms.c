/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A call that says how long it waits ends at that time, however often a signal comes that is ignored or held back: one that began
 * anew each time would never end. A handler interrupts it, and select says what is left. SIGPIPE is the writer's.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "../../user/check.h"

#define WAIT_NS 100000000l
#define OFTEN_US 20000

static int epoll;
static struct timeval left;
static volatile sig_atomic_t taken;

static int select_it(void)
{
	left = (struct timeval){ .tv_usec = WAIT_NS / 1000 };
	return select(0, NULL, NULL, NULL, &left);
}

static int pselect_it(void)
{
	return pselect(0, NULL, NULL, NULL, &(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
}

static int poll_it(void)
{
	return poll(NULL, 0, WAIT_NS / 1000000);
}

static int ppoll_it(void)
{
	return ppoll(NULL, 0, &(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
}

static int epoll_it(void)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, WAIT_NS / 1000000);
}

static int epoll_pwait2_it(void)
{
	struct epoll_event event;

	return syscall(441, epoll, &event, 1, &(struct timespec){ .tv_nsec = WAIT_NS }, NULL, 8);
}

static int (*const calls[])(void) = { select_it, pselect_it, poll_it, ppoll_it, epoll_it, epoll_pwait2_it };

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static void alarms(int first_us, int often_us)
{
	struct itimerval timer = { { .tv_usec = often_us }, { .tv_usec = first_us } };

	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void take(int signal)
{
	(void)signal;
	taken = 1;
}

static void end_at_their_time(void)
{
	for (unsigned i = 0; i < CALLS; i++) {
		int64_t began = now_ns(CLOCK_MONOTONIC);

		CHECK(calls[i]() == 0);
		CHECK(now_ns(CLOCK_MONOTONIC) - began >= WAIT_NS);
	}
}

static void ignored_and_held_back(void)
{
	sigset_t alarm, before;

	CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR);
	alarms(OFTEN_US, OFTEN_US);
	end_at_their_time();
	CHECK(sigemptyset(&alarm) == 0 && sigaddset(&alarm, SIGALRM) == 0);
	CHECK(sigprocmask(SIG_BLOCK, &alarm, &before) == 0 && signal(SIGALRM, take) != SIG_ERR);
	end_at_their_time();
	alarms(0, 0);
	CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR && sigprocmask(SIG_SETMASK, &before, NULL) == 0);
	say("ignored, held back\n");
}

static int slow[2];

static void *reads_slowly(void *bytes)
{
	static char text[20000];

	for (long left = (long)bytes; left > 0;) {
		ssize_t got;

		nanosleep(&(struct timespec){ .tv_nsec = OFTEN_US * 1000 }, NULL);
		got = read(slow[0], text, sizeof(text));
		CHECK(got > 0);
		left -= got;
	}
	return NULL;
}

static void *writes_slowly(void *bytes)
{
	for (long left = (long)bytes; left > 0; left -= 1000) {
		nanosleep(&(struct timespec){ .tv_nsec = OFTEN_US * 1000 / 4 }, NULL);
		CHECK(write(slow[1], "x", 1) == 1);
	}
	return NULL;
}

/* What has moved a part already moves the rest. */
static void wholes(void)
{
	static char text[300000];
	pthread_t other;

	CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR && pipe(slow) == 0);
	alarms(OFTEN_US, OFTEN_US);
	CHECK(pthread_create(&other, NULL, reads_slowly, (void *)sizeof(text)) == 0);
	CHECK(write(slow[1], text, sizeof(text)) == sizeof(text));
	CHECK(pthread_join(other, NULL) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, slow) == 0);
	CHECK(pthread_create(&other, NULL, writes_slowly, (void *)40000l) == 0);
	CHECK(recv(slow[0], text, 40, MSG_WAITALL) == 40);
	CHECK(pthread_join(other, NULL) == 0);
	alarms(0, 0);
	say("wholes\n");
}

static void handled(void)
{
	CHECK(signal(SIGALRM, take) != SIG_ERR);
	for (unsigned i = 0; i < CALLS; i++) {
		/* again, where the signal came before the call */
		for (int interrupted = 0; !interrupted;) {
			taken = 0;
			alarms(OFTEN_US, 0);
			interrupted = calls[i]() == -1;
			CHECK(interrupted ? errno == EINTR && taken : taken);
		}
		if (!i)
			CHECK(left.tv_sec == 0 && left.tv_usec > 0 && left.tv_usec < WAIT_NS / 1000);
	}
	say("handled\n");
}

static pthread_t writer;
static volatile sig_atomic_t by_writer, by_others;

static void broken(int signal)
{
	(void)signal;
	if (pthread_equal(pthread_self(), writer))
		by_writer++;
	else
		by_others++;
}

/* Once more while it holds the signal back: nobody else takes it. */
static void *writes(void *end)
{
	sigset_t set, before;

	for (int i = 0; i < 8; i++)
		CHECK_ERRNO(write(*(int *)end, "x", 1), EPIPE);
	CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGPIPE) == 0 && pthread_sigmask(SIG_BLOCK, &set, &before) == 0);
	CHECK_ERRNO(write(*(int *)end, "x", 1), EPIPE);
	CHECK(sigpending(&set) == 0 && sigismember(&set, SIGPIPE) == 1 && by_writer == 8);
	CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
	return NULL;
}

static void writers(void)
{
	int ends[2];

	CHECK(signal(SIGPIPE, broken) != SIG_ERR && pipe(ends) == 0 && close(ends[0]) == 0);
	CHECK(pthread_create(&writer, NULL, writes, &ends[1]) == 0 && pthread_join(writer, NULL) == 0);
	CHECK(by_writer == 9 && by_others == 0);
	say("writers\n");
}

int main(void)
{
	epoll = epoll_create1(0);
	CHECK(epoll >= 0);
	ignored_and_held_back();
	wholes();
	handled();
	writers();
	return 0;
}
