/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What others see of a process: R while it computes, S while it waits, whichever kernel serves the call. A program that
 * waits until another one waits depends on both.
 */
#include "check.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

static volatile int *shared;	/* 0: a futex, 1: how far the child is, 2: it may continue */
static int queue, set, pair[2];

static void on_usr1(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
}

static char state_of(pid_t pid)
{
	char path[64], text[1024] = { 0 }, *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && close(fd) == 0);
	end = strrchr(text, ')');
	CHECK(end);
	return end[2];
}

static void compute_ms(int ms)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + ms * 1000000ll;

	while (now_ns(CLOCK_MONOTONIC) < end)
		;
}

static void wait_msgrcv(void)
{
	struct { long type; char text[8]; } message;

	CHECK_ERRNO(msgrcv(queue, &message, 8, 1, 0), EINTR);
}

static void wait_removed(void)
{
	struct { long type; char text[8]; } message;

	CHECK_ERRNO(msgrcv(queue, &message, 8, 1, 0), EIDRM);
}

static void wait_semop(void)
{
	struct sembuf operation = { 0, -1, 0 };

	CHECK(semop(set, &operation, 1) == 0);
}

static void wait_zero(void)
{
	struct sembuf operation = { 1, 0, 0 };

	CHECK(semop(set, &operation, 1) == 0);
}

static void wait_futex(void)
{
	CHECK_ERRNO(syscall(SYS_futex, shared, FUTEX_WAIT, 0, NULL, NULL, 0), EINTR);
}

static void wait_private_futex(void)
{
	static int word;

	CHECK_ERRNO(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0), EINTR);
}

static void wait_sleep(void)
{
	struct timespec long_time = { 1000, 0 };

	CHECK_ERRNO(nanosleep(&long_time, NULL), EINTR);
}

static void wait_poll(void)
{
	struct pollfd polled = { pair[0], POLLIN, 0 };

	CHECK_ERRNO(poll(&polled, 1, -1), EINTR);
}

static void wait_lock(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	int fd = open("lock", O_RDWR);

	CHECK(fd >= 0);
	CHECK_ERRNO(fcntl(fd, F_SETLKW, &lock), EINTR);
}

static void wait_pause(void)
{
	CHECK_ERRNO(pause(), EINTR);
}

/* Computes for long, waits, computes again until it may end. */
static pid_t start(void (*wait)(void))
{
	pid_t pid;

	store(&shared[1], 0);
	store(&shared[2], 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		store(&shared[1], 1);
		compute_ms(400);
		store(&shared[1], 2);
		wait();
		store(&shared[1], 3);
		while (!load(&shared[2]))
			;
		_exit(0);
	}
	return pid;
}

/* It is seen computing; when it is seen waiting, it has come as far as its wait. */
static void until_asleep(pid_t pid)
{
	wait_until(load(&shared[1]) == 1);
	while (state_of(pid) != 'R')
		CHECK(load(&shared[1]) == 1);
	while (state_of(pid) != 'S')
		sched_yield();
	CHECK(load(&shared[1]) == 2);
}

/* Its wait ends, it computes: that is seen in the end. */
static void until_done(pid_t pid)
{
	int status;

	wait_until(load(&shared[1]) == 3);
	while (state_of(pid) != 'R')
		sched_yield();
	store(&shared[2], 1);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 0));
}

static void interrupted(void (*wait)(void))
{
	pid_t pid = start(wait);

	until_asleep(pid);
	CHECK(kill(pid, SIGUSR1) == 0);
	until_done(pid);
}

static void counted(void)
{
	struct sembuf add = { 0, 1, 0 }, take = { 1, -1, 0 };
	pid_t pid = start(wait_semop);

	until_asleep(pid);
	CHECK(semctl(set, 0, GETNCNT) == 1 && semctl(set, 0, GETZCNT) == 0);
	CHECK(semop(set, &add, 1) == 0);
	until_done(pid);
	pid = start(wait_zero);
	until_asleep(pid);
	CHECK(semctl(set, 1, GETZCNT) == 1 && semctl(set, 1, GETNCNT) == 0);
	CHECK(semop(set, &take, 1) == 0);
	until_done(pid);
}

static void *spin(void *unused)
{
	add(&shared[3], 1);
	for (;;)
		;
	return unused;
}

static void stopped_child(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, spin, NULL));
	spin(NULL);
}

/* A process whose threads compute stops, continues and dies at once: no signal is lost on one that is seen computing. */
static void signals(void)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		stopped_child();
	}
	wait_until(load(&shared[3]) == 2);
	for (int i = 0; i < 3; i++) {
		CHECK(kill(pid, SIGSTOP) == 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
		CHECK(state_of(pid) == 'T');
		CHECK(kill(pid, SIGCONT) == 0);
		while (state_of(pid) != 'R')
			sched_yield();
	}
	CHECK(kill(pid, SIGTERM) == 0 && waitpid(pid, &status, 0) == pid && killed_by(status, SIGTERM));
}

int main(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	pid_t pid;
	int fd;

	on_signal(SIGUSR1, on_usr1, 0);
	shared = shared_memory(4096);
	queue = msgget(IPC_PRIVATE, 0600);
	set = semget(IPC_PRIVATE, 2, 0600);
	fd = open("lock", O_RDWR | O_CREAT, 0600);
	CHECK(queue >= 0 && set >= 0 && pipe(pair) == 0 && fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0);
	CHECK(semctl(set, 1, SETVAL, 1) == 0);
	interrupted(wait_msgrcv);
	pid = start(wait_removed);
	until_asleep(pid);
	CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
	until_done(pid);
	say("messages\n");
	PART(counted);
	CHECK(semctl(set, 0, IPC_RMID) == 0);
	say("semaphores\n");
	interrupted(wait_futex);
	interrupted(wait_private_futex);
	interrupted(wait_sleep);
	say("futexes and sleeps\n");
	interrupted(wait_poll);
	interrupted(wait_lock);
	interrupted(wait_pause);
	say("files and signals\n");
	PART(signals);
	say("stopped\n");
	return 0;
}
