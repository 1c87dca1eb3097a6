/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pipes, sockets and the calls that wait for them, also across threads. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../../user/check.h"

static void pipes(void)
{
	int ends[2];
	char text[16] = "";
	struct pollfd one = { .events = POLLIN };

	CHECK(pipe2(ends, O_NONBLOCK) == 0);
	one.fd = ends[0];
	CHECK_ERRNO(read(ends[0], text, 1), EAGAIN);
	CHECK(poll(&one, 1, 10) == 0);
	CHECK(write(ends[1], "abc", 3) == 3 && poll(&one, 1, -1) == 1 && one.revents == POLLIN);
	CHECK(read(ends[0], text, 16) == 3 && !strcmp(text, "abc"));
	CHECK(close(ends[1]) == 0 && poll(&one, 1, -1) == 1 && one.revents & POLLHUP);
	CHECK(read(ends[0], text, 16) == 0 && close(ends[0]) == 0);
	say("pipes\n");
}

static void sets(void)
{
	struct timeval at_once = { 0 };
	int ends[2], event = eventfd(3, 0), set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event wanted = { .events = EPOLLIN, .data.u64 = 77 }, found[2];
	uint64_t value = 0;
	fd_set reading;

	CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
	FD_ZERO(&reading);
	FD_SET(ends[0], &reading);
	CHECK(select(ends[0] + 1, &reading, NULL, NULL, &at_once) == 1 && FD_ISSET(ends[0], &reading));
	CHECK(epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted) == 0);
	CHECK(epoll_wait(set, found, 2, -1) == 1 && found[0].data.u64 == 77);
	CHECK(read(event, &value, 8) == 8 && value == 3 && epoll_wait(set, found, 2, 0) == 0);
	close(ends[0]), close(ends[1]), close(event), close(set);
	say("sets\n");
}

/* Echoes until its peer closes. */
static void *echo(void *argument)
{
	int listening = *(int *)argument, peer = accept(listening, NULL, NULL);
	char bytes[256];
	ssize_t count;

	CHECK(peer >= 0);
	while ((count = recv(peer, bytes, sizeof(bytes), 0)) > 0)
		CHECK(send(peer, bytes, count, 0) == count);
	CHECK(close(peer) == 0);
	return NULL;
}

static void converse(int family, struct sockaddr *address, socklen_t length)
{
	int listening = socket(family, SOCK_STREAM, 0), client = socket(family, SOCK_STREAM, 0), size = 0;
	socklen_t size_length = sizeof(size);
	char bytes[256];
	pthread_t thread;

	CHECK(bind(listening, address, length) == 0 && listen(listening, 1) == 0);
	CHECK(getsockname(listening, address, &length) == 0);
	CHECK(pthread_create(&thread, NULL, echo, &listening) == 0);
	CHECK(connect(client, address, length) == 0);
	for (int i = 0; i < 20; i++) {
		snprintf(bytes, sizeof(bytes), "message %d", i);
		CHECK(write(client, bytes, strlen(bytes) + 1) == (ssize_t)strlen(bytes) + 1);
		CHECK(recv(client, bytes, sizeof(bytes), MSG_PEEK) > 0 && read(client, bytes, sizeof(bytes)) > 0);
	}
	CHECK(getsockopt(client, SOL_SOCKET, SO_TYPE, &size, &size_length) == 0 && size == SOCK_STREAM);
	CHECK(shutdown(client, SHUT_WR) == 0 && read(client, bytes, 1) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && close(client) == 0 && close(listening) == 0);
	say("%s: %s\n", family == AF_UNIX ? "unix" : "tcp", "message 19");
}

static void datagrams(void)
{
	int pair[2], udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, from;
	socklen_t length = sizeof(own), from_length = sizeof(from);
	char one[4] = "", two[8] = "";
	struct iovec out[2] = { { "abc", 3 }, { "defg", 4 } }, in[2] = { { one, 3 }, { two, 8 } };
	struct msghdr sent = { .msg_iov = out, .msg_iovlen = 2 }, received = { .msg_iov = in, .msg_iovlen = 2 };

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	CHECK(sendmsg(pair[0], &sent, 0) == 7 && recvmsg(pair[1], &received, 0) == 7);
	CHECK(!strcmp(one, "abc") && !memcmp(two, "defg", 4));
	CHECK(bind(udp, (struct sockaddr *)&own, length) == 0 && getsockname(udp, (struct sockaddr *)&own, &length) == 0);
	CHECK(sendto(udp, "self", 4, 0, (struct sockaddr *)&own, length) == 4);
	CHECK(recvfrom(udp, two, 8, 0, (struct sockaddr *)&from, &from_length) == 4 && from.sin_port == own.sin_port);
	close(pair[0]), close(pair[1]), close(udp);
	say("datagrams\n");
}

int main(void)
{
	struct sockaddr_in tcp = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un local = { .sun_family = AF_UNIX };

	pipes();
	sets();
	snprintf(local.sun_path, sizeof(local.sun_path), "/tmp/tacet-static-%d", getpid());
	converse(AF_UNIX, (struct sockaddr *)&local, sizeof(local));
	CHECK(unlink(local.sun_path) == 0);
	converse(AF_INET, (struct sockaddr *)&tcp, sizeof(tcp));
	datagrams();
	return 0;
}
