/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Waiting for several things: poll, select, epoll, and signals while waiting. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>

static int ends[2];
static volatile int handled;

static void count(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	handled++;
}

static void *write_later(void *unused)
{
	sleep_ms(5);
	CHECK(write(ends[1], "x", 1) == 1);
	return unused;
}

static pthread_t later(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, write_later, NULL) == 0);
	return thread;
}

static void drain(void)
{
	char c;

	CHECK(read(ends[0], &c, 1) == 1);
}

static void polls(void)
{
	struct pollfd fds[3] = { { ends[0], POLLIN, 0 }, { ends[1], POLLOUT, 0 }, { 999, POLLIN, 0 } };
	int64_t before = now_ns(CLOCK_MONOTONIC);
	pthread_t thread;

	CHECK(poll(fds, 1, 0) == 0 && poll(fds, 1, 10) == 0);
	CHECK(now_ns(CLOCK_MONOTONIC) - before >= 10000000);
	CHECK(poll(fds, 3, -1) == 2 && !fds[0].revents && fds[1].revents == POLLOUT && fds[2].revents == POLLNVAL);
	thread = later();
	CHECK(poll(fds, 1, -1) == 1 && fds[0].revents == POLLIN);
	CHECK(!pthread_join(thread, NULL));
	drain();
	say("poll\n");
}

static void selects(void)
{
	struct timeval brief = { 0, 3000 };
	pthread_t thread;
	fd_set in;

	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	CHECK(select(ends[0] + 1, &in, NULL, NULL, &brief) == 0 && !FD_ISSET(ends[0], &in));
	CHECK(brief.tv_sec == 0 && brief.tv_usec == 0);
	FD_SET(ends[0], &in);
	thread = later();
	CHECK(select(ends[0] + 1, &in, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &in));
	CHECK(!pthread_join(thread, NULL));
	drain();
	say("select\n");
}

/* A pending signal, unblocked only by the call itself, interrupts the call. */
static void signals_while_waiting(void)
{
	struct timespec hour = { 3600, 0 };
	struct epoll_event event;
	sigset_t blocked, open;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	on_signal(SIGUSR1, count, SA_RESTART);
	sigemptyset(&open);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0 && handled == 0);
	CHECK_ERRNO(ppoll(NULL, 0, &hour, &open), EINTR);
	CHECK(handled == 1 && raise(SIGUSR1) == 0);
	CHECK_ERRNO(pselect(0, NULL, NULL, NULL, &hour, &open), EINTR);
	CHECK(handled == 2 && raise(SIGUSR1) == 0);
	CHECK_ERRNO(epoll_pwait(ep, &event, 1, -1, &open), EINTR);
	CHECK(handled == 3 && sigprocmask(SIG_UNBLOCK, &blocked, NULL) == 0 && handled == 3);
	close(ep);
	say("signals while waiting\n");
}

static void epolls(void)
{
	int ep = epoll_create1(0), fd = eventfd(0, EFD_NONBLOCK);
	struct epoll_event event = { EPOLLIN, { .u64 = 0x1122334455667788 } }, got[4];
	uint64_t one = 1, value;
	pthread_t thread;

	CHECK(ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &event) == 0);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &event), EEXIST);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL), ENOENT);
	CHECK(epoll_wait(ep, got, 4, 0) == 0);
	thread = later();
	CHECK(epoll_wait(ep, got, 4, -1) == 1 && got[0].events == EPOLLIN && got[0].data.u64 == event.data.u64);
	CHECK(!pthread_join(thread, NULL) && epoll_wait(ep, got, 4, 0) == 1);
	drain();
	CHECK(epoll_wait(ep, got, 4, 0) == 0);

	event.events = EPOLLIN | EPOLLET;
	event.data.u64 = 2;
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event) == 0 && write(fd, &one, 8) == 8);
	CHECK(epoll_wait(ep, got, 4, -1) == 1 && got[0].data.u64 == 2 && epoll_wait(ep, got, 4, 0) == 0);
	CHECK(write(fd, &one, 8) == 8 && epoll_wait(ep, got, 4, -1) == 1);
	event.events = EPOLLIN | EPOLLONESHOT;
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &event) == 0 && epoll_wait(ep, got, 4, -1) == 1);
	CHECK(write(fd, &one, 8) == 8 && epoll_wait(ep, got, 4, 0) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &event) == 0 && epoll_wait(ep, got, 4, -1) == 1);
	CHECK(read(fd, &value, 8) == 8 && value == 3);
	CHECK(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL) == 0);
	close(fd), close(ep);
	say("epoll\n");
}

static void *wait_in_epoll(void *argument)
{
	struct epoll_event got;
	char c;

	CHECK(epoll_wait(*(int *)argument, &got, 1, -1) == 1 && read(ends[0], &c, 1) == 1);
	return NULL;
}

static void epoll_many_waiters(void)
{
	struct epoll_event event = { EPOLLIN, { .fd = ends[0] } };
	int ep = epoll_create1(0);
	pthread_t threads[8];

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &event) == 0);
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(&threads[i], NULL, wait_in_epoll, &ep));
	for (int i = 0; i < 8; i++)
		CHECK(write(ends[1], "x", 1) == 1);
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_join(threads[i], NULL));
	close(ep);
	say("many waiters\n");
}

int main(void)
{
	CHECK(pipe(ends) == 0);
	PART(polls);
	PART(selects);
	PART(signals_while_waiting);
	PART(epolls);
	PART(epoll_many_waiters);
	return 0;
}
