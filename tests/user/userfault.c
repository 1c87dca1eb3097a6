/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Another thread of the program serves a page fault (userfaultfd). */
#include "check.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>

#define PAGE 4096L
#define PAGES 32

static int fd;
static char *area;
static int answered;

static void *answer(void *unused)
{
	static char page[PAGE] __attribute__((aligned(4096)));
	struct uffd_msg msg;

	while (load(&answered) < PAGES) {
		struct uffdio_copy copy = { .src = (uintptr_t)page, .len = PAGE };

		CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.event == UFFD_EVENT_PAGEFAULT);
		copy.dst = msg.arg.pagefault.address & -PAGE;
		memset(page, (copy.dst - (uintptr_t)area) / PAGE + 1, PAGE);
		add(&answered, 1);
		CHECK(ioctl(fd, UFFDIO_COPY, &copy) == 0 && copy.copy == PAGE);
	}
	return unused;
}

static void with_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;
	int file;

	CHECK(ioctl(fd, UFFDIO_API, &api) == 0);
	area = private_pages(PAGES);
	range.range.start = (uintptr_t)area;
	range.range.len = PAGES * PAGE;
	CHECK(ioctl(fd, UFFDIO_REGISTER, &range) == 0);
	CHECK(!pthread_create(&thread, NULL, answer, NULL));
	for (int i = 0; i < PAGES - 1; i++)
		CHECK(((volatile char *)area)[i * PAGE + i] == i + 1);
	/* the last one from inside a system call */
	file = open("page", O_RDWR | O_CREAT, 0600);
	CHECK(write(file, area + (PAGES - 1) * PAGE, PAGE) == PAGE);
	CHECK(!pthread_join(thread, NULL) && answered == PAGES && area[PAGES * PAGE - 1] == PAGES);
}

static int descriptor(void)
{
#ifdef OF_THE_DEVICE
	int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);

	if (device >= 0) {
		int made = ioctl(device, _IO(0xaa, 0), O_CLOEXEC);	/* USERFAULTFD_IOC_NEW */

		/* A static node opens its proxy's device, and makes nothing of it. */
		if (made >= 0 || errno != ENOTTY)
			return made;
	} else {
		CHECK(errno == ENOENT || errno == EACCES);
	}
	errno = ENOSYS;
	return -1;
#else
	return (int)syscall(SYS_userfaultfd, O_CLOEXEC);
#endif
}

static int serve_faults(void)
{
	fd = descriptor();
	if (fd >= 0)
		with_userfaultfd();
	else
		CHECK(errno == ENOSYS || errno == EPERM);
	say("faults answered by a thread\n");
	return 0;
}

#ifndef OF_THE_DEVICE
int main(void)
{
	return serve_faults();
}
#endif
