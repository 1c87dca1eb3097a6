/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Calls that ask about memory, or wish for what is so anyway: mincore, munlock, msync. They do
 * not change where memory comes from.
 */
#include "check.h"

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

int main(void)
{
	resident();
	unlocked();
	synchronised();
	return 0;
}
