/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A descriptor that names another file than the one that its thread has opened: one that somebody put there before the
 * call's end. It is read and closed as the file that it is.
 */
#include "check.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>

#define NAME "/proc/self/stat"

/* Its contents begin with the number of the process. */
static void is_ours(int file)
{
	char text[512] = "";

	CHECK(pread(file, text, sizeof(text) - 1, 0) > 0);
	CHECK(atoi(text) == getpid());
}

/* openat() of the calling thread is answered by whoever has the descriptor. */
static int ask_for_files(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_LENGTH(code), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static volatile int asks = -1;

static void *open_one(void *unused)
{
	int file;

	asks = ask_for_files();
	CHECK(asks >= 0);
	file = open(NAME, O_RDONLY);
	CHECK(file >= 0);
	is_ours(file);
	return (void *)(long)file + (unused != NULL);
}

/* The opening thread gets a duplicate of a file that this one has opened. */
static void answered(void)
{
	struct seccomp_notif request = { 0 };
	struct seccomp_notif_addfd answer = { .flags = SECCOMP_ADDFD_FLAG_SEND };
	pthread_t thread;
	void *given;
	int own = open(NAME, O_RDONLY);

	CHECK(own >= 0);
	is_ours(own);
	asks = -1;
	CHECK(pthread_create(&thread, NULL, open_one, NULL) == 0);
	while (asks < 0)
		sched_yield();
	CHECK(ioctl(asks, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0);
	answer.id = request.id;
	answer.srcfd = own;
	CHECK(ioctl(asks, SECCOMP_IOCTL_NOTIF_ADDFD, &answer) >= 0);
	CHECK(pthread_join(thread, &given) == 0);
	is_ours(own);
	CHECK(close(own) == 0);
	is_ours((int)(long)given);
	CHECK(close((int)(long)given) == 0);
	CHECK(close(asks) == 0);
}

static int own, number;
static volatile int stop;

static void *duplicate(void *unused)
{
	while (!stop)
		dup2(own, number);
	return unused;
}

/* Another thread guesses the number of each descriptor, and puts its own file there. */
static void guessed(void)
{
	int left = rounds(300, 20000);
	pthread_t thread;

	own = open(NAME, O_RDONLY);
	number = open(NAME, O_RDONLY);
	CHECK(own >= 0 && number >= 0 && close(number) == 0);
	CHECK(pthread_create(&thread, NULL, duplicate, NULL) == 0);
	while (left--) {
		int file = open(NAME, O_RDONLY);

		if (file != number)
			CHECK(close(file) == 0);
		close(number);
		is_ours(own);
	}
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0);
	close(number);
	is_ours(own);
	CHECK(close(own) == 0);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		answered();
	say("answered by another thread: ok\n");
	guessed();
	say("replaced by another thread: ok\n");
	return 0;
}
