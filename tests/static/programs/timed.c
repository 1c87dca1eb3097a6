/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sockets with a time limit (SO_RCVTIMEO, SO_SNDTIMEO): a call ends at its time, however often a signal comes that is ignored
 * or held back, and a handler interrupts it though it says SA_RESTART. Without a limit such a handler interrupts nothing.
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "../../user/check.h"

#define LIMIT_NS 100000000l
/* Linux counts these limits in ticks, and the first has begun: it may end as much earlier. */
#define LONGEST_TICK_NS 10000000l
#define OFTEN_US 20000

static int pair[2], listener, full_listener, away;
static struct sockaddr_un full_name = { .sun_family = AF_UNIX, .sun_path = "\0tacet-timed-" };
static volatile sig_atomic_t taken, feed;

static long recv_it(void)
{
	char byte;

	return recv(pair[0], &byte, 1, 0);
}

static long read_it(void)
{
	char byte;

	return read(pair[0], &byte, 1);
}

static long readv_it(void)
{
	char byte;

	return readv(pair[0], &(struct iovec){ &byte, 1 }, 1);
}

static long recvmsg_it(void)
{
	char byte;
	struct iovec part = { &byte, 1 };

	return recvmsg(pair[0], &(struct msghdr){ .msg_iov = &part, .msg_iovlen = 1 }, 0);
}

static long accept_it(void)
{
	return accept(listener, NULL, NULL);
}

static long send_it(void)
{
	return send(pair[0], "x", 1, 0);
}

static long write_it(void)
{
	return write(pair[0], "x", 1);
}

static long connect_it(void)
{
	return connect(away, (struct sockaddr *)&full_name, sizeof(full_name));
}

static long (*const calls[])(void) = { recv_it, read_it, readv_it, recvmsg_it, accept_it, send_it, write_it, connect_it };

static void limit(int socket)
{
	const struct timeval time = { .tv_usec = LIMIT_NS / 1000 };

	CHECK(setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
	CHECK(setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) == 0);
}

static int listening(struct sockaddr_un *name, int backlog)
{
	int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "tacet-timed-%d-%d", getpid(), backlog);
	CHECK(socket_ >= 0 && bind(socket_, (struct sockaddr *)name, sizeof(*name)) == 0 && listen(socket_, backlog) == 0);
	return socket_;
}

static void prepare(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	static char bytes[65536];
	int first;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	while (send(pair[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	CHECK(errno == EAGAIN);
	while (send(pair[0], bytes, 1, MSG_DONTWAIT) > 0)
		;
	listener = listening(&name, 5);
	full_listener = listening(&full_name, 0);
	first = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(first, (struct sockaddr *)&full_name, sizeof(full_name)) == 0);
	away = socket(AF_UNIX, SOCK_STREAM, 0);
	limit(pair[0]);
	limit(listener);
	limit(away);
}

static void alarms(int first_us, int often_us)
{
	struct itimerval timer = { { .tv_usec = often_us }, { .tv_usec = first_us } };

	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void take(int signal)
{
	(void)signal;
	taken = 1;
	if (feed)
		CHECK(write(pair[1], "y", 1) == 1);
}

static void end_at_their_time(void)
{
	for (unsigned i = 0; i < ARRAY_LENGTH(calls); i++) {
		int64_t began = now_ns(CLOCK_MONOTONIC);

		CHECK_ERRNO(calls[i](), EAGAIN);
		CHECK(now_ns(CLOCK_MONOTONIC) - began >= LIMIT_NS - LONGEST_TICK_NS);
	}
}

static void ignored_and_held_back(void)
{
	sigset_t alarm, before;

	end_at_their_time();
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

static void handled(void)
{
	const struct sigaction action = { .sa_handler = take, .sa_flags = SA_RESTART };

	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	for (unsigned i = 0; i < ARRAY_LENGTH(calls); i++) {
		/* again, where the signal came before the call */
		for (int interrupted = 0; !interrupted;) {
			taken = 0;
			alarms(OFTEN_US, 0);
			CHECK(calls[i]() == -1 && taken);
			interrupted = errno == EINTR;
		}
	}
	say("handled\n");
}

static void without_limit(void)
{
	const struct timeval none = { 0 };

	CHECK(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)) == 0);
	feed = 1;
	alarms(OFTEN_US, 0);
	CHECK(recv_it() == 1);
	say("restarted\n");
}

int main(void)
{
	prepare();
	ignored_and_held_back();
	handled();
	without_limit();
	return 0;
}
