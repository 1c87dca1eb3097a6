/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Anonymous memory that others access by its pages: a disk without the page cache, and another process. */
#include "check.h"

#include <fcntl.h>
#include <sys/uio.h>

#define PAGE 4096l
#define BYTES (64 * PAGE)

static char *map(void)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static int is_filled(const char *p, long bytes, char with)
{
	return p[0] == with && !memcmp(p, p + 1, bytes - 1);
}

static void disk(void)
{
	int fd = open("direct", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
	char *from = map(), *to = map();

	/* before Linux 6.6, tmpfs does not support this */
	if (fd < 0 && errno == EINVAL)
		fd = open("direct", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0);
	memset(from, 'd', BYTES);
	CHECK(pwrite(fd, from, BYTES, 0) == BYTES);
	CHECK(pread(fd, to, BYTES, 0) == BYTES && is_filled(to, BYTES, 'd'));
	/* the memory has other pages by now, and only some were ever touched */
	CHECK(munmap(to, BYTES) == 0);
	to = map();
	CHECK(to[3 * PAGE] == 0);
	CHECK(pread(fd, to + PAGE, BYTES - 2 * PAGE, PAGE) == BYTES - 2 * PAGE);
	CHECK(is_filled(to + PAGE, BYTES - 2 * PAGE, 'd') && is_filled(to, PAGE, 0) && is_filled(to + BYTES - PAGE, PAGE, 0));
	CHECK(munmap(from, BYTES) == 0);
	CHECK(close(fd) == 0 && unlink("direct") == 0 && munmap(to, BYTES) == 0);
	say("a disk\n");
}

static void unmapped(void)
{
	int fd = open("unmapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *from = map();

	CHECK(fd >= 0 && munmap(from, BYTES) == 0);
	CHECK_ERRNO(pwrite(fd, from, BYTES, 0), EFAULT);
	CHECK(close(fd) == 0 && unlink("unmapped") == 0);
}

/* The child tells the address of its memory, waits, and checks what its parent has written there. */
static void told(int tells, int asks)
{
	char *p = map(), byte;

	memset(p, 'c', BYTES);
	CHECK(write(tells, &p, sizeof(p)) == sizeof(p) && read(asks, &byte, 1) == 1);
	CHECK(is_filled(p, PAGE, 'c') && is_filled(p + PAGE, BYTES - PAGE, 'p'));
}

static void process(void)
{
	int said[2], asked[2], status;
	char *mine = map(), *theirs;
	pid_t pid;

	CHECK(pipe(said) == 0 && pipe(asked) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		told(said[1], asked[0]);
		_exit(0);
	}
	CHECK(read(said[0], &theirs, sizeof(theirs)) == sizeof(theirs));
	struct iovec here = { mine, BYTES }, there = { theirs, BYTES };

	CHECK(process_vm_readv(pid, &here, 1, &there, 1, 0) == BYTES && is_filled(mine, BYTES, 'c'));
	memset(mine, 'p', BYTES);
	here.iov_len = there.iov_len = BYTES - PAGE;
	there.iov_base = theirs + PAGE;
	CHECK(process_vm_writev(pid, &here, 1, &there, 1, 0) == BYTES - PAGE && write(asked[1], "", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0 && munmap(mine, BYTES) == 0);
	say("a process\n");
}

int main(void)
{
	PART(disk);
	PART(unmapped);
	PART(process);
	return 0;
}
