/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * inuse: memory that the kernel still uses while the program changes its mapping. What arrives, or is read, must be as
 * on Linux, wherever the memory comes from. Run as root; with several NUMA nodes pages would move if they could.
 *
 * inuse disk DISK	with transfers in flight: reads of DISK without the page cache, through a device that delays
 * inuse pipe WORD	puts pages that begin with WORD into standard output, a pipe, and ends
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define SECTORS 2048
#define DELAY "1000"	/* ms: the calls in between take less, mostly */

/* linux/mempolicy.h */
enum { BIND = 2 };
enum { STRICT = 1, MOVE = 2 };

static int disk;
static aio_context_t transfers;

static void check(int good, const char *what)
{
	if (good)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static char *map(char *at, size_t bytes)
{
	char *p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	check(p != MAP_FAILED, "mmap");
	return p;
}

static int all(const char *p, size_t bytes, char value)
{
	return p[0] == value && !memcmp(p, p + 1, bytes - 1);
}

static int bind_to(char *p, size_t bytes, unsigned int node)
{
	unsigned long mask = 1ul << node;

	return syscall(SYS_mbind, p, bytes, BIND, &mask, 64ul, MOVE | STRICT);
}

static void do_dm(int command, struct dm_ioctl *request)
{
	int fd = open("/dev/mapper/control", O_RDWR);

	request->version[0] = DM_VERSION_MAJOR;
	request->data_start = sizeof(*request);
	strcpy(request->name, "tacet-delay");
	check(fd >= 0 && ioctl(fd, command, request) == 0, "device mapper");
	close(fd);
}

/* A device with the content of @path, which answers late. */
static void open_delayed(const char *path)
{
	struct {
		struct dm_ioctl header;
		struct dm_target_spec target;
		char text[256];
	} table = { .header.data_size = sizeof(table), .header.target_count = 1, .target.length = SECTORS };
	struct dm_ioctl request = { .data_size = sizeof(request) };
	char node[] = "delayed";

	do_dm(DM_DEV_CREATE, &request);
	strcpy(table.target.target_type, "delay");
	snprintf(table.text, sizeof(table.text), "%s 0 " DELAY, path);
	do_dm(DM_TABLE_LOAD, &table.header);
	request = (struct dm_ioctl){ .data_size = sizeof(request) };
	do_dm(DM_DEV_SUSPEND, &request);	/* without the flag: resumes */
	request = (struct dm_ioctl){ .data_size = sizeof(request) };
	do_dm(DM_DEV_STATUS, &request);
	check(mknod(node, S_IFBLK | 0600, request.dev) == 0, "mknod");
	disk = open(node, O_RDONLY | O_DIRECT);
	check(disk >= 0 && unlink(node) == 0, node);
}

static void close_delayed(void)
{
	struct dm_ioctl request = { .data_size = sizeof(request) };

	close(disk);
	do_dm(DM_DEV_REMOVE, &request);
}

static void begin_reading(char *to, size_t bytes)
{
	struct iocb block = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = disk, .aio_buf = (unsigned long)to,
			      .aio_nbytes = bytes }, *blocks = &block;

	check(syscall(SYS_io_submit, transfers, 1l, &blocks) == 1, "io_submit");
}

static int has_ended(int waits, size_t bytes)
{
	struct timespec now = { 0, 0 };
	struct io_event event;
	long count = syscall(SYS_io_getevents, transfers, (long)waits, 1l, &event, waits ? NULL : &now);

	check(count >= waits && (!count || event.res == (long)bytes), "io_getevents");
	return count == 1;
}

/* Pages into which a device writes must not move, whatever the policy is. */
static void moved(void)
{
	char *p = map(NULL, 8 * PAGE);
	unsigned int node;
	int ended;

	for (node = 0; node < 2; node++) {
		memset(p, 'a', 8 * PAGE);
		begin_reading(p + PAGE, 4 * PAGE);
		errno = 0;
		bind_to(p, 8 * PAGE, 1);
		ended = has_ended(0, 4 * PAGE);
		bind_to(p, 8 * PAGE, 0);
		check(ended || has_ended(1, 4 * PAGE), "moved");
		check(all(p + PAGE, 4 * PAGE, 'D') && all(p, PAGE, 'a') && all(p + 5 * PAGE, 3 * PAGE, 'a'),
		      "a device wrote into a page that had moved");
	}
	munmap(p, 8 * PAGE);
}

/* Memory that is given back, or discarded, has other pages afterwards. */
static void given_back(void)
{
	char *p = map(NULL, 4 * PAGE), *other;

	memset(p, 'b', 4 * PAGE);
	begin_reading(p, PAGE);
	begin_reading(p + 2 * PAGE, PAGE);
	check(munmap(p, 2 * PAGE) == 0 && madvise(p + 2 * PAGE, 2 * PAGE, MADV_DONTNEED) == 0, "munmap");
	other = map(NULL, 512 * PAGE);
	memset(other, 'o', 512 * PAGE);
	map(p, 2 * PAGE);
	memset(p, 'n', 4 * PAGE);
	has_ended(1, PAGE);
	has_ended(1, PAGE);
	check(all(p, 4 * PAGE, 'n') && all(other, 512 * PAGE, 'o'), "a device wrote into a page that had been given back");
	munmap(p, 4 * PAGE);
	munmap(other, 512 * PAGE);
}

/* What arrives is the parent's. */
static void copied(void)
{
	char *p = map(NULL, PAGE);
	int status;
	pid_t child;

	memset(p, 'c', PAGE);
	begin_reading(p, PAGE);
	child = fork();
	if (!child)
		_exit(!all(p, PAGE, 'c'));
	check(waitpid(child, &status, 0) == child, "waitpid");
	has_ended(1, PAGE);
	check(all(p, PAGE, 'D'), "what a device wrote did not arrive after a fork");
	munmap(p, PAGE);
}

/* Locked memory is Linux's, wherever it was before. */
static void handed_over(void)
{
	char *p = map(NULL, 2 * PAGE);

	memset(p, 'l', 2 * PAGE);
	begin_reading(p, PAGE);
	check(syscall(SYS_pkey_mprotect, p, 2 * PAGE, PROT_READ | PROT_WRITE, -1) == 0, "pkey_mprotect");
	has_ended(1, PAGE);
	check(all(p, PAGE, 'D') && all(p + PAGE, PAGE, 'l'), "what a device wrote did not arrive in memory that was handed over");
	munmap(p, 2 * PAGE);
}

/* The kernel's own copy of what is in the pipe is these pages: the program has ended when they are read. */
static int pipe_pages(const char *word)
{
	char *p = map(NULL, 8 * PAGE);
	struct iovec part = { p, 8 * PAGE };
	size_t i;

	for (i = 0; i < 8; i++)
		snprintf(p + i * PAGE, PAGE, "%s %zu\n", word, i);
	return vmsplice(STDOUT_FILENO, &part, 1, 0) != 8 * (long)PAGE;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "pipe"))
		return pipe_pages(argv[2]);
	check(syscall(SYS_io_setup, 8, &transfers) == 0, "io_setup");
	open_delayed(argv[2]);
	moved();
	given_back();
	copied();
	handed_over();
	close_delayed();
	puts("right");
	return 0;
}
