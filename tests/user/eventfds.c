/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Descriptors for events: eventfd, timerfd, signalfd, inotify, pidfd, memfd. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

static void *signal_event(void *argument)
{
	sleep_ms(3);
	CHECK(eventfd_write(*(int *)argument, 5) == 0);
	return NULL;
}

static void eventfds(void)
{
	int fd = eventfd(0, 0), sem = eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK);
	eventfd_t value;
	pthread_t thread;

	CHECK(fd >= 0 && sem >= 0);
	CHECK(!pthread_create(&thread, NULL, signal_event, &fd));
	CHECK(eventfd_read(fd, &value) == 0 && value == 5 && !pthread_join(thread, NULL));
	for (int i = 0; i < 3; i++)
		CHECK(eventfd_read(sem, &value) == 0 && value == 1);
	CHECK_ERRNO(eventfd_read(sem, &value), EAGAIN);
	CHECK_ERRNO(eventfd_write(sem, UINT64_MAX), EINVAL);
	CHECK_ERRNO(write(sem, &value, 4), EINVAL);
	close(fd), close(sem);
	say("eventfd\n");
}

static void timerfds(void)
{
	struct itimerspec spec = { { 0, 2000000 }, { 0, 2000000 } }, left;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t ticks, total = 0;
	int64_t before = now_ns(CLOCK_MONOTONIC);

	CHECK(fd >= 0 && timerfd_settime(fd, 0, &spec, NULL) == 0);
	while (total < 5) {
		CHECK(read(fd, &ticks, 8) == 8 && ticks > 0);
		total += ticks;
	}
	CHECK(now_ns(CLOCK_MONOTONIC) - before >= 10000000);
	CHECK(timerfd_gettime(fd, &left) == 0 && left.it_interval.tv_nsec == 2000000);
	close(fd);
	say("timerfd\n");
}

static void signalfds(void)
{
	struct signalfd_siginfo info[2];
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	CHECK(fd >= 0);
	CHECK_ERRNO(read(fd, info, sizeof(info)), EAGAIN);
	CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 77 }) == 0 && raise(SIGUSR1) == 0);
	CHECK(read(fd, info, sizeof(info)) == sizeof(info));
	CHECK(info[0].ssi_signo == SIGUSR1 && info[0].ssi_code == SI_TKILL);
	CHECK(info[1].ssi_signo == (unsigned)SIGRTMIN && info[1].ssi_int == 77 && info[1].ssi_code == SI_QUEUE);
	CHECK(info[1].ssi_pid == (unsigned)getpid() && sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
	close(fd);
	say("signalfd\n");
}

static void notifies(void)
{
	char buf[512] __attribute__((aligned(8)));
	struct inotify_event *event = (void *)buf;
	int fd = inotify_init1(IN_NONBLOCK), watch = inotify_add_watch(fd, ".", IN_CREATE | IN_DELETE);

	CHECK(fd >= 0 && watch >= 0 && close(creat("made", 0600)) == 0);
	CHECK(read(fd, buf, sizeof(buf)) > 0 && event->mask == IN_CREATE && !strcmp(event->name, "made"));
	CHECK(unlink("made") == 0);
	CHECK(read(fd, buf, sizeof(buf)) > 0 && event->mask == IN_DELETE && event->wd == watch);
	close(fd);
	say("inotify\n");
}

static void pidfds(void)
{
	struct pollfd p = { .events = POLLIN };
	siginfo_t info = { 0 };
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(p.fd >= 0 && poll(&p, 1, 0) == 0);
	CHECK(syscall(SYS_pidfd_send_signal, p.fd, SIGTERM, NULL, 0) == 0);
	CHECK(poll(&p, 1, -1) == 1 && waitid(P_PIDFD, p.fd, &info, WEXITED) == 0);
	CHECK(info.si_pid == pid && info.si_code == CLD_KILLED && info.si_status == SIGTERM);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, p.fd, SIGTERM, NULL, 0), ESRCH);
	close(p.fd);
	say("pidfd\n");
}

static void memfds(void)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);
	char *p;

	CHECK(fd >= 0 && ftruncate(fd, 8192) == 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED && pwrite(fd, "written", 7, 4096) == 7 && !memcmp(p + 4096, "written", 7));
	memcpy(p, "mapped", 6);
	CHECK(pread(fd, p + 100, 6, 0) == 6 && !memcmp(p + 100, "mapped", 6));
	CHECK_ERRNO(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EBUSY);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	CHECK_ERRNO(ftruncate(fd, 4096), EPERM);
	CHECK(munmap(p, 8192) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
	CHECK_ERRNO(write(fd, "x", 1), EPERM);
	CHECK(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EPERM);
	close(fd);
	say("memfd\n");
}

int main(void)
{
	PART(eventfds);
	PART(timerfds);
	PART(signalfds);
	PART(notifies);
	PART(pidfds);
	PART(memfds);
	return 0;
}
