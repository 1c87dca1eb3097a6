/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Resource limits, each reached in a child. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

static void limit(int which, rlim_t soft, rlim_t hard)
{
	CHECK(setrlimit(which, &(struct rlimit){ soft, hard }) == 0);
}

static void address_space(void)
{
	char *p;

	limit(RLIMIT_AS, 256 << 20, 256 << 20);
	p = mmap(NULL, 512 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p == MAP_FAILED && errno == ENOMEM);
	p = private_pages(1024);
	p[0] = 1;
	CHECK_ERRNO(mremap(p, 1024 * 4096, 512 << 20, MREMAP_MAYMOVE), ENOMEM);
	CHECK(p[0] == 1 && munmap(p, 1024 * 4096) == 0 && malloc(600 << 20) == NULL);
}

static void data(void)
{
	char *start = (char *)syscall(SYS_brk, 0);

	limit(RLIMIT_DATA, 1 << 20, 1 << 20);
	CHECK((char *)syscall(SYS_brk, start + (64 << 20)) == start);
}

static void descriptors(void)
{
	int fd;

	limit(RLIMIT_NOFILE, 20, 20);
	while ((fd = dup(0)) >= 0)
		CHECK(fd < 20);
	CHECK(errno == EMFILE);
	CHECK_ERRNO(dup2(0, 20), EBADF);
}

static void file_size(void)
{
	static char block[8192];
	int fd = open("limited", O_RDWR | O_CREAT, 0600);

	limit(RLIMIT_FSIZE, 4096, 4096);
	CHECK(write(fd, block, sizeof(block)) == 4096);
	CHECK(write(fd, block, 1) == -1);	/* does not return */
}

static void processes(void)
{
	CHECK(setuid(4242) == 0);
	limit(RLIMIT_NPROC, 1, 1);
	CHECK_ERRNO(fork(), EAGAIN);
}

static void locked_memory(void)
{
	char *p = private_pages(32);

	limit(RLIMIT_MEMLOCK, 65536, 65536);
	CHECK(mlock(p, 32 * 4096) == 0 && munlock(p, 32 * 4096) == 0);	/* root's has none */
	CHECK(setuid(4242) == 0 && mlock(p, 65536) == 0 && mlock(p + 4096, 15 * 4096) == 0);
	CHECK_ERRNO(mlock(p, 32 * 4096), ENOMEM);
	CHECK_ERRNO(mlock(p + 4096, 16 * 4096), ENOMEM);
	CHECK(munmap(p, 4096) == 0 && mlock(p + 65536, 4096) == 0);
	CHECK_ERRNO(mlockall(MCL_CURRENT), ENOMEM);
	limit(RLIMIT_MEMLOCK, 0, 65536);
	CHECK_ERRNO(mlock(p + 4096, 4096), EPERM);
	CHECK(munlock(p + 4096, 4096) == 0);
}

static void *endless(void *unused)
{
	for (;;)
		;
	return unused;
}

static void spin_in_thread(void)
{
	pthread_t thread;

	limit(RLIMIT_CPU, 1, 60);
	CHECK(!pthread_create(&thread, NULL, endless, NULL) && !pthread_join(thread, NULL));
}

static volatile int endlessly = 1;

static int depth(volatile char *above)
{
	volatile char here[4096];

	if (!endlessly)
		return 0;
	here[0] = above[0] + 1;
	return depth(here) + here[0];
}

static void stack(void)
{
	char first = 0;

	limit(RLIMIT_STACK, 1 << 20, 1 << 20);
	_exit(depth(&first));
}

static void set_and_get(void)
{
	struct rlimit64 old, new = { 100, 200 }, got;

	CHECK(prlimit64(0, RLIMIT_NOFILE, &new, &old) == 0 && old.rlim_max >= 200);
	CHECK(prlimit64(getpid(), RLIMIT_NOFILE, NULL, &got) == 0 && got.rlim_cur == 100 && got.rlim_max == 200);
	new = (struct rlimit64){ 300, 200 };
	CHECK_ERRNO(prlimit64(0, RLIMIT_NOFILE, &new, NULL), EINVAL);
	CHECK_ERRNO(prlimit64(0, 99, NULL, &got), EINVAL);
}

int main(void)
{
	int root = getuid() == 0;

	CHILD(set_and_get, exited_with(status, 0));
	say("set and get\n");
	CHILD(address_space, exited_with(status, 0));
	CHILD(data, exited_with(status, 0));
	say("address space and data\n");
	CHILD(descriptors, exited_with(status, 0));
	say("descriptors\n");
	CHILD(file_size, killed_by(status, SIGXFSZ));
	say("file size\n");
	if (root)
		CHILD(processes, exited_with(status, 0));
	say("processes\n");
	if (root)
		CHILD(locked_memory, exited_with(status, 0));
	say("locked memory\n");
	CHILD(stack, killed_by(status, SIGSEGV));
	say("stack\n");
	CHILD(spin_in_thread, killed_by(status, SIGXCPU));
	say("CPU time\n");
	return 0;
}
