/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A call that releases something must have released it when it returns, not at some
 * later call: Linux releases a file on the way to user mode, and a program that then
 * only computes must not keep the file.
 */
#include "check.h"

#include <sys/socket.h>

static volatile int *released;

/* The child reads the end of file, and reports it, when the last writer is gone. */
static pid_t reader(const int *ends)
{
	pid_t pid = fork();
	char byte;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ends[1]);
	CHECK(read(ends[0], &byte, 1) == 0);
	*released = 1;
	_exit(0);
}

/* @give_back drops the last use of the descriptor; no call follows it. */
static void released_by(const char *how, void (*give_back)(int))
{
	int ends[2], status;
	pid_t pid;

	*released = 0;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	pid = reader(ends);
	CHECK(close(ends[0]) == 0);
	give_back(ends[1]);
	while (!*released)
		__builtin_ia32_pause();
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 0));
	say("%s\n", how);
}

static void by_close(int fd)
{
	close(fd);
}

static void by_dup2(int fd)
{
	dup2(STDIN_FILENO, fd);
}

static void by_close_range(int fd)
{
	syscall(SYS_close_range, fd, fd, 0);
}

/* The last use of the descriptor is a message that nobody will receive. */
static void by_message(int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec byte = { .iov_base = "", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = room,
				  .msg_controllen = sizeof(room) };
	struct cmsghdr *part = CMSG_FIRSTHDR(&message);
	int carrier[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, carrier) == 0);
	*part = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(part), &fd, sizeof(fd));
	CHECK(sendmsg(carrier[0], &message, 0) == 1);
	CHECK(close(fd) == 0 && close(carrier[0]) == 0);
	close(carrier[1]);
}

int main(void)
{
	released = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(released != MAP_FAILED);
	released_by("closed", by_close);
	released_by("replaced", by_dup2);
	released_by("closed as a range", by_close_range);
	released_by("in a message that is thrown away", by_message);
	return 0;
}
