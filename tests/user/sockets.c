/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sockets: local pairs with descriptors and credentials, TCP and UDP on loopback. */
#include "check.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

/* In a small guest the loopback device may be down. */
static void raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0);
	request.ifr_flags |= IFF_UP;
	CHECK(ioctl(fd, SIOCSIFFLAGS, &request) == 0 || errno == EPERM);
	close(fd);
}

static void pass_descriptor(void)
{
	union { char space[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))]; struct cmsghdr align; } control;
	char byte = 'b', back[4];
	struct iovec vec = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &vec, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(sizeof(int)) };
	struct cmsghdr *part = CMSG_FIRSTHDR(&msg);
	int pair[2], pipe_ends[2], received = -1, one = 1, status;
	struct ucred cred = { 0, 0, 0 };
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(pipe_ends) == 0);
	CHECK(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0);
	pid = fork();
	if (pid == 0) {
		part->cmsg_level = SOL_SOCKET, part->cmsg_type = SCM_RIGHTS, part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &pipe_ends[1], sizeof(int));
		CHECK(sendmsg(pair[1], &msg, 0) == 1);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	msg.msg_controllen = sizeof(control);
	CHECK(recvmsg(pair[0], &msg, 0) == 1 && byte == 'b');
	for (part = CMSG_FIRSTHDR(&msg); part; part = CMSG_NXTHDR(&msg, part)) {
		if (part->cmsg_type == SCM_RIGHTS)
			memcpy(&received, CMSG_DATA(part), sizeof(int));
		if (part->cmsg_type == SCM_CREDENTIALS)
			memcpy(&cred, CMSG_DATA(part), sizeof(cred));
	}
	CHECK(received >= 0 && write(received, "via", 3) == 3);
	CHECK(read(pipe_ends[0], back, 4) == 3 && !memcmp(back, "via", 3));
	CHECK(cred.uid == getuid() && cred.gid == getgid());
	CHECK(shutdown(pair[1], SHUT_WR) == 0 && recv(pair[0], back, 1, 0) == 0);
	close(pair[0]), close(pair[1]), close(received), close(pipe_ends[0]), close(pipe_ends[1]);
	say("descriptors and credentials over a local pair\n");
}

static void local_names(void)
{
	struct sockaddr_un name = { AF_UNIX, "socket" }, peer;
	socklen_t size = sizeof(peer);
	int a = socket(AF_UNIX, SOCK_DGRAM, 0), b = socket(AF_UNIX, SOCK_DGRAM, 0);
	char buf[8];

	CHECK_ERRNO(connect(b, (struct sockaddr *)&name, sizeof(name)), ENOENT);
	CHECK(bind(a, (struct sockaddr *)&name, sizeof(name)) == 0);
	CHECK_ERRNO(bind(b, (struct sockaddr *)&name, sizeof(name)), EADDRINUSE);
	CHECK(connect(b, (struct sockaddr *)&name, sizeof(name)) == 0);
	CHECK(send(b, "first", 5, 0) == 5 && send(b, "2nd", 3, 0) == 3);
	CHECK(recv(a, buf, 8, MSG_PEEK) == 5 && recv(a, buf, 2, MSG_TRUNC) == 5 && recv(a, buf, 8, 0) == 3);
	CHECK_ERRNO(recv(a, buf, 8, MSG_DONTWAIT), EAGAIN);
	CHECK(getpeername(b, (struct sockaddr *)&peer, &size) == 0 && !strcmp(peer.sun_path, "socket"));
	close(a);
	CHECK_ERRNO(send(b, "x", 1, MSG_NOSIGNAL), ECONNREFUSED);
	close(b);
	say("local names\n");
}

#define STREAM (300 * 1000)

static void *echo(void *argument)
{
	int fd = accept4(*(int *)argument, NULL, NULL, SOCK_CLOEXEC);
	static char buf[16384];
	ssize_t n, done;

	CHECK(fd >= 0);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		for (done = 0; done < n;)
			done += send(fd, buf + done, n - done, 0);
	CHECK(n == 0 && close(fd) == 0);
	return NULL;
}

static void *send_stream(void *argument)
{
	static unsigned char block[STREAM];
	ssize_t n;

	for (int i = 0; i < STREAM; i++)
		block[i] = i * 31 >> 3;
	for (int done = 0; done < STREAM; done += n)
		CHECK((n = send(*(int *)argument, block + done, STREAM - done, 0)) > 0);
	CHECK(shutdown(*(int *)argument, SHUT_WR) == 0);
	return NULL;
}

static void tcp(int family)
{
	struct sockaddr_in6 address = { 0 };
	struct sockaddr_in *four = (void *)&address;
	socklen_t size = family == AF_INET ? sizeof(*four) : sizeof(address);
	int server = socket(family, SOCK_STREAM, 0), client = socket(family, SOCK_STREAM, 0), one = 1, error;
	pthread_t echoer, sender;
	static unsigned char buf[8192];
	int total = 0;
	ssize_t n;

	CHECK(server >= 0 && client >= 0);
	address.sin6_family = family;
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(server, (void *)&address, size) == 0 && listen(server, 4) == 0);
	CHECK(getsockname(server, (void *)&address, &size) == 0);
	CHECK(pthread_create(&echoer, NULL, echo, &server) == 0);
	CHECK(connect(client, (void *)&address, size) == 0);
	CHECK(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0);
	CHECK(pthread_create(&sender, NULL, send_stream, &client) == 0);
	while ((n = recv(client, buf, sizeof(buf), 0)) > 0)
		for (int i = 0; i < n; i++, total++)
			CHECK(buf[i] == (unsigned char)(total * 31 >> 3));
	CHECK(n == 0 && total == STREAM);
	CHECK(!pthread_join(sender, NULL) && !pthread_join(echoer, NULL));
	close(client), close(server);

	client = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (connect(client, (void *)&address, size) == -1 && errno == EINPROGRESS) {
		struct pollfd p = { client, POLLOUT, 0 };

		size = sizeof(error);
		CHECK(poll(&p, 1, -1) == 1 && getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
		errno = error;
	}
	CHECK(errno == ECONNREFUSED && close(client) == 0);
	say("tcp stream\n");
}

static void udp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, from;
	socklen_t size = sizeof(address);
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	char text[3][8], in[3][8];
	struct iovec vec[3], back[3];
	struct mmsghdr out[3] = { 0 }, got[3] = { 0 };
	struct timeval brief = { 0, 5000 };

	CHECK(bind(a, (void *)&address, size) == 0 && getsockname(a, (void *)&address, &size) == 0);
	CHECK(connect(b, (void *)&address, size) == 0);
	for (int i = 0; i < 3; i++) {
		vec[i] = (struct iovec){ text[i], snprintf(text[i], 8, "msg%d", i) };
		back[i] = (struct iovec){ in[i], 8 };
		out[i].msg_hdr = (struct msghdr){ .msg_iov = &vec[i], .msg_iovlen = 1 };
		got[i].msg_hdr = (struct msghdr){ .msg_iov = &back[i], .msg_iovlen = 1 };
	}
	CHECK(sendmmsg(b, out, 3, 0) == 3 && recvmmsg(a, got, 3, 0, NULL) == 3);
	for (int i = 0; i < 3; i++)
		CHECK(got[i].msg_len == 4 && !memcmp(in[i], text[i], 4));
	CHECK(send(b, "back", 4, 0) == 4 && recvfrom(a, in[0], 8, 0, (void *)&from, &size) == 4);
	CHECK(sendto(a, "pong", 4, 0, (void *)&from, size) == 4 && recv(b, in[0], 8, 0) == 4 && !memcmp(in[0], "pong", 4));
	CHECK(setsockopt(a, SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof(brief)) == 0);
	CHECK_ERRNO(recv(a, in[0], 8, 0), EAGAIN);
	close(a), close(b);
	say("udp datagrams\n");
}

int main(void)
{
	PART(raise_loopback);
	PART(pass_descriptor);
	PART(local_names);
	tcp(AF_INET);
	PART(udp);
	return 0;
}
