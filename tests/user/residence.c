/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Calls that ask about memory, or wish for what is so anyway: mincore, mlock, munlock, msync.
 * They do not change where memory comes from.
 */
#include "check.h"

#include <fcntl.h>
#include <stdbool.h>

#define PAGE 4096l

static char *area(long pages)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void resident(void)
{
	unsigned char said[2048];
	char *at = area(1026), *end = at + 1026 * PAGE;
	long i;

	/* small pages, so that one touched page is one resident page */
	CHECK(!madvise(at, 1026 * PAGE, MADV_NOHUGEPAGE));
	memset(at, 1, 1026 * PAGE);
	CHECK(!mincore(at, 1026 * PAGE, said));
	for (i = 0; i < 1026; i++)
		CHECK(said[i] & 1);
	CHECK(!madvise(at + 600 * PAGE, 2 * PAGE, MADV_DONTNEED));
	CHECK(!mprotect(at + 700 * PAGE, PAGE, PROT_NONE));
	memset(said, 7, sizeof(said));
	CHECK(!mincore(at + 512 * PAGE, 300 * PAGE - 1, said));
	for (i = 0; i < 300; i++)
		CHECK((said[i] & 1) == (i != 88 && i != 89));
	CHECK(said[300] == 7);
	CHECK_ERRNO(mincore(at + 1, PAGE, said), EINVAL);
	CHECK_ERRNO(mincore(at, PAGE, (unsigned char *)8), EFAULT);
	CHECK_ERRNO(mincore(at, PAGE, (unsigned char *)-PAGE), EFAULT);
	CHECK(!munmap(at + PAGE, PAGE));
	CHECK_ERRNO(mincore(at, 3 * PAGE, said), ENOMEM);
	CHECK(!munmap(at, end - at));
	say("mincore\n");
}

static void unlocked(void)
{
	char *at = area(16);

	CHECK(!munlock(at + 1, PAGE) && !munlock(at, 16 * PAGE) && !munlock(at, 0));
	CHECK(!munlockall());
	CHECK(!munmap(at + 4 * PAGE, PAGE));
	CHECK_ERRNO(munlock(at, 16 * PAGE), ENOMEM);
	CHECK(!munlock(at + 5 * PAGE, 11 * PAGE));
	CHECK(!munmap(at, 16 * PAGE));
	say("munlock\n");
}

static void synchronised(void)
{
	char *at = area(16);

	at[0] = 1;
	CHECK(!msync(at, 16 * PAGE, MS_SYNC) && !msync(at, PAGE - 1, MS_ASYNC) && !msync(at, PAGE, MS_INVALIDATE));
	CHECK_ERRNO(msync(at + 1, PAGE, MS_SYNC), EINVAL);
	CHECK_ERRNO(msync(at, PAGE, MS_SYNC | MS_ASYNC), EINVAL);
	CHECK_ERRNO(msync(at, PAGE, 64), EINVAL);
	CHECK(!munmap(at + 4 * PAGE, PAGE));
	CHECK_ERRNO(msync(at, 16 * PAGE, MS_ASYNC), ENOMEM);
	CHECK(at[0] == 1 && !munmap(at, 16 * PAGE));
	say("msync\n");
}

static long locked_kib(void)
{
	char text[8192], *line;
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t length = read(fd, text, sizeof(text) - 1);

	CHECK(fd >= 0 && length > 0);
	text[length] = 0;
	close(fd);
	line = strstr(text, "VmLck:");
	CHECK(line);
	return strtol(line + 6, NULL, 10);
}

static bool all_resident(char *at, long pages)
{
	unsigned char said[64];
	long i;

	CHECK(!mincore(at, pages * PAGE, said));
	for (i = 0; i < pages; i++)
		if (!(said[i] & 1))
			return false;
	return true;
}

static void child_has_none_locked(char *at)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(locked_kib() || msync(at, PAGE, MS_ASYNC | MS_INVALIDATE));
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void locked(void)
{
	char *at = area(32);

	CHECK(locked_kib() == 0 && !mlock(at + 1, 4 * PAGE) && locked_kib() == 20);
	CHECK(all_resident(at, 5) && !mlock(at, 6 * PAGE) && locked_kib() == 24);
	CHECK_ERRNO(syscall(SYS_mlock2, at, PAGE, 2), EINVAL);
	CHECK(!syscall(SYS_mlock2, at + 8 * PAGE, PAGE, MLOCK_ONFAULT) && locked_kib() == 28);
	CHECK_ERRNO(msync(at, 32 * PAGE, MS_ASYNC | MS_INVALIDATE), EBUSY);
	CHECK_ERRNO(madvise(at, PAGE, MADV_DONTNEED), EINVAL);
	CHECK_ERRNO(madvise(at + 3 * PAGE, 3 * PAGE, MADV_FREE), EINVAL);
	at[16 * PAGE] = 1;
	CHECK(!madvise(at + 16 * PAGE, 16 * PAGE, MADV_DONTNEED) && at[16 * PAGE] == 0);
	child_has_none_locked(at);
	CHECK(!munlock(at + 2 * PAGE, 2 * PAGE) && locked_kib() == 20);
	CHECK(!madvise(at + 2 * PAGE, PAGE, MADV_DONTNEED) && !mprotect(at, PAGE, PROT_READ) && locked_kib() == 20);
	CHECK(!munmap(at + 4 * PAGE, PAGE) && locked_kib() == 16);
	CHECK_ERRNO(mlock(at + 3 * PAGE, 2 * PAGE), ENOMEM);
	CHECK(locked_kib() == 20);
	CHECK(!mprotect(at + 20 * PAGE, PAGE, PROT_NONE));
	CHECK_ERRNO(mlock(at + 20 * PAGE, PAGE), ENOMEM);
	CHECK(!munlock(at + 20 * PAGE, PAGE) && !munlock(at, 4 * PAGE) && !munlock(at + 5 * PAGE, 4 * PAGE));
	CHECK(locked_kib() == 0 && !munmap(at, 32 * PAGE));
	say("mlock\n");
}

static void all_locked(void)
{
	char *at = area(32), *later;

	CHECK(!madvise(at, 32 * PAGE, MADV_NOHUGEPAGE) && !all_resident(at, 32));
	CHECK_ERRNO(mlockall(0), EINVAL);
	CHECK(!all_resident(at, 32) && !mlockall(MCL_CURRENT) && all_resident(at, 32));
	CHECK_ERRNO(msync(at, PAGE, MS_ASYNC | MS_INVALIDATE), EBUSY);
	CHECK(!munlockall() && !msync(at, PAGE, MS_ASYNC | MS_INVALIDATE) && locked_kib() == 0);
	CHECK(!mlockall(MCL_FUTURE));
	later = area(32);
	CHECK(all_resident(later, 32) && !munlockall());
	CHECK(!munmap(at, 32 * PAGE) && !munmap(later, 32 * PAGE));
	say("mlockall\n");
}

int main(void)
{
	resident();
	unlocked();
	locked();
	all_locked();
	synchronised();
	return 0;
}
