/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * tables DISK PARTITION [count]: what a descriptor means to others: a child that makes the calls of 32-bit programs, a
 * thread with rings, a process with the same memory and another table of descriptors. Prints what the descriptor then
 * says: the same as on Linux. With `count` cores must have served it before.
 */
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>

#include "granted.h"

static const char *disk_path, *path;
static int other;	/* a file, not the disk */

/* The calls of 32-bit programs, whose numbers and registers are others. */
#define IA32_IOCTL 54
#define IA32_FCNTL 55
#define IA32_FCNTL64 221

static long ia32(long number, long b, long c, long d)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(number), "b"(b), "c"(c), "d"(d), "S"(0l), "D"(0l)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}

static void change_flags(int file, int *unused)
{
	(void)unused;
	if (ia32(IA32_FCNTL64, file, F_SETFL, 0))
		_exit(1);
}

static void change_flags_back(int file, int *unused)
{
	(void)unused;
	if (ia32(IA32_FCNTL, file, F_SETFL, O_DIRECT))
		_exit(1);
}

static void set_protection(int disk, int *on)
{
	if (ia32(IA32_IOCTL, disk, BLKROSET, (long)on))
		_exit(1);
}

/* Another process, on Linux, makes the call: in our own one the first of them takes the program's memory to Linux. */
static void by_child(void (*work)(int file, int *word), int file, int *word)
{
	int result;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		work(file, word);
		_exit(0);
	}
	if (waitpid(pid, &result, 0) != pid || result)
		fail("a child ended with %#x", result);
}

static void old_calls(void)
{
	int file = open_granted(path), disk = open_disk(disk_path, O_RDONLY);
	int *low = pages(PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_32BIT, -1);

	by_child(change_flags, file, NULL);
	READ("100 bytes since a 32-bit fcntl64", LINUX, file, buffer, 100, 1);
	by_child(change_flags_back, file, NULL);
	await_grant("direct since a 32-bit fcntl", file);
	*low = 1;
	by_child(set_protection, disk, low);
	WRITE("written to a disk that a 32-bit ioctl protects", LINUX, file, buffer, PIECE, 0);
	*low = 0;
	by_child(set_protection, disk, low);
	await_grant("not protected any more", file);
	WRITE("written again", CORE, file, buffer, PIECE, 0);
	close(file);
	close(disk);
}

/* A thread's rings close descriptors without a call: nothing is granted while there are some. */
static volatile int has_ring, ring_may_end;

static void *make_ring(void *unused)
{
	struct io_uring_params params = {};
	int ring = syscall(SYS_io_uring_setup, 1, &params);

	(void)unused;
	if (ring < 0)
		fail("io_uring_setup: %s", strerror(errno));
	has_ring = 1;
	while (!ring_may_end)
		sleep_us(1000);
	close(ring);
	return NULL;
}

static void rings(void)
{
	int file = open_granted(path);
	pthread_t thread;

	pthread_create(&thread, NULL, make_ring, NULL);
	while (!has_ring)
		sleep_us(1000);
	for (int i = 0; i < 4; i++) {
		READ("while another thread has a ring", LINUX, file, buffer, PIECE, PIECE);
		sleep_us(150000);
	}
	ring_may_end = 1;
	pthread_join(thread, NULL);
	close(file);
}

/* A process with our memory and other descriptors: its number is another file. */
static volatile int step_of_tables;

static void await_step(int number)
{
	while (step_of_tables < number)
		sleep_us(1000);
}

static int with_other_table(void *file)
{
	static unsigned char mine[PIECE] __attribute__((aligned(PIECE)));

	memset(mine, 'c', sizeof(mine));
	if (dup2(other, (long)file) < 0)
		return 1;
	step_of_tables = 1;
	await_step(2);
	for (int i = 0; i < 30; i++) {
		if (pwrite((long)file, mine, PIECE, 0) != PIECE)
			return 2;
		sleep_us(10000);
	}
	step_of_tables = 3;
	return 0;
}

static void tables(void)
{
	unsigned char *stack = memory(1 << 18), first = 0;
	int file = open_granted(path), result;
	pid_t pid;

	memset(buffer, 'p', PIECE);
	WRITE("written before there is another table", CORE, file, buffer, PIECE, 0);
	pid = clone(with_other_table, stack + (1 << 18), CLONE_VM | SIGCHLD, (void *)(long)file);
	await_step(1);
	await_grant("beside another table", file);
	step_of_tables = 2;
	await_step(3);
	if (pid < 0 || waitpid(pid, &result, 0) != pid || result)
		fail("the child ended with %#x", result);
	READ("beside another table", ANYBODY, file, buffer, PIECE, 0);
	if (pread(other, &first, 1, 0) != 1)
		fail("tables.file: %s", strerror(errno));
	printf("the child's file has %c\n", first);
	close(file);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		fail("tables: DISK PARTITION [count]");
	buffer = memory(1 << 20);
	disk_path = argv[1];
	path = argv[2];
	counting = argc > 3;
	other = open("tables.file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	memset(buffer, 'o', PIECE);
	if (other < 0 || pwrite(other, buffer, PIECE, 0) != PIECE)
		fail("tables.file: %s", strerror(errno));
	old_calls();
	rings();
	tables();
	return 0;
}
