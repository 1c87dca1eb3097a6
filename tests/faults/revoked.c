/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * revoked DISK PARTITION BYTES [count|mixed]: each way in which a descriptor comes to mean something else, or its device does,
 * while cores serve it. Prints what the descriptor then says: the same as on Linux. With `count` cores must have served
 * it before. With `mixed` only the change of the user, in a partition of several users.
 */
#include <linux/blkpg.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "granted.h"

static const char *disk_path, *path;
static off_t size;
static int other;	/* a file, not the disk */

static int open_other(void)
{
	return open("revoked.file", O_RDWR | O_CLOEXEC);
}

/* Another process, on Linux, or a thread: it takes part, and ends before we go on. */
static void in_child(void (*work)(int file), int file)
{
	int result;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		work(file);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &result, 0) != pid || result)
		fail("a child ended with %#x", result);
}

static void closed(void)
{
	int file = open_granted(path), again;

	close(file);
	READ("closed", LINUX, file, buffer, PIECE, 0);
	again = open_other();
	printf("the same number: %d\n", again == file);
	READ("closed and another opened", LINUX, file, buffer, PIECE, 0);
	close(file);
	file = open_granted(path);
	syscall(SYS_close_range, file, file, 0);
	READ("closed with a range", LINUX, file, buffer, PIECE, 0);
}

static void replaced(void)
{
	int file = open_granted(path), copy;

	dup2(other, file);
	READ("another by dup2", LINUX, file, buffer, PIECE, 0);
	close(file);
	file = open_granted(path);
	dup3(other, file, O_CLOEXEC);
	READ("another by dup3", LINUX, file, buffer, PIECE, 0);
	close(file);
	file = open_granted(path);
	copy = dup(file);
	READ("a copy", ANYBODY, copy, buffer, PIECE, 0);
	READ("the copied", CORE, file, buffer, PIECE, 0);
	close(file);
	READ("the copy alone", ANYBODY, copy, buffer, PIECE, 0);
	READ("the copied, closed", LINUX, file, buffer, PIECE, 0);
	close(copy);
}

static void buffered(int file)
{
	if (fcntl(file, F_SETFL, 0))
		_exit(1);
}

static void flags(void)
{
	int file = open_granted(path), copy = dup(file);

	fcntl(copy, F_SETFL, 0);
	READ("100 bytes, not direct any more", LINUX, file, buffer, 100, 1);
	fcntl(copy, F_SETFL, O_DIRECT);
	READ("100 bytes, direct again", LINUX, file, buffer, 100, 1);
	await_grant("direct again", file);
	fcntl(file, F_SETFL, O_DIRECT | O_APPEND);
	WRITE("appended", LINUX, file, buffer, PIECE, 0);
	fcntl(file, F_SETFL, O_DIRECT);
	await_grant("not appending any more", file);
	in_child(buffered, file);
	READ("not direct since a child said so", LINUX, file, buffer, 100, 1);
	close(file);
	close(copy);
}

static void set_protection(int on)
{
	int disk = open_disk(disk_path, O_RDONLY);

	if (ioctl(disk, BLKROSET, &on))
		fail("BLKROSET: %s", strerror(errno));
	close(disk);
}

static void set_size(off_t bytes)
{
	struct blkpg_partition partition = { .pno = path[strlen(path) - 1] - '0', .length = bytes };
	struct blkpg_ioctl_arg request = {
		.op = BLKPG_RESIZE_PARTITION, .datalen = sizeof(partition), .data = &partition };
	int disk = open_disk(disk_path, O_RDONLY);
	char name[100];
	FILE *start;

	snprintf(name, sizeof(name), "/sys/class/block/%s/start", strrchr(path, '/') + 1);
	start = fopen(name, "r");
	if (!start || fscanf(start, "%lld", &partition.start) != 1)
		fail("%s: %s", name, strerror(errno));
	fclose(start);
	partition.start *= BLOCK;
	if (ioctl(disk, BLKPG, &request))
		fail("BLKPG: %s", strerror(errno));
	close(disk);
}

static void device(void)
{
	int file = open_granted(path);
	uint64_t bytes = 0;

	ioctl(file, BLKGETSIZE64, &bytes);
	printf("bytes: %llu\n", (unsigned long long)bytes);
	READ("its size was asked", CORE, file, buffer, PIECE, 0);
	ioctl(file, BLKFLSBUF, 0);
	READ("its page cache was emptied", CORE, file, buffer, PIECE, 0);
	ioctl(file, BLKRAGET, &bytes);
	await_grant("after another ioctl", file);
	set_protection(1);
	WRITE("written to a protected disk", LINUX, file, buffer, PIECE, 0);
	set_protection(0);
	await_grant("not protected any more", file);
	WRITE("written again", CORE, file, buffer, PIECE, 0);
	set_size(size / 2);
	READ("beyond the half of the partition", LINUX, file, buffer, PIECE, size / 2);
	WRITE("written beyond the half", LINUX, file, buffer, PIECE, size / 2);
	await_grant("in half of the partition", file);
	READ("beyond half of it", TACET_PICO_BY_BOUNDS, file, buffer, PIECE, size / 2);
	set_size(size);
	READ("in the whole partition", ANYBODY, file, buffer, PIECE, size / 2);
	await_grant("in the whole partition", file);
	READ("at its end", CORE, file, buffer, PIECE, size - PIECE);
	close(file);
}

static void use(int file)
{
	READ("in a child", ANYBODY, file, buffer, PIECE, PIECE);
	WRITE("written in a child", ANYBODY, file, buffer, PIECE, 0);
	close(file);
	READ("closed in a child", LINUX, file, buffer, PIECE, 0);
}

/* A process with the same descriptors and other memory. */
static void share_table(const char *how, int file, int with_clone3)
{
	struct clone_args arguments = { .flags = CLONE_FILES, .exit_signal = SIGCHLD };
	long pid;
	int result;

	fflush(stdout);
	pid = with_clone3 ? syscall(SYS_clone3, &arguments, sizeof(arguments)) :
			    syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		int again;

		sleep_us(20000);
		close(file);
		again = open("revoked.file", O_RDWR);
		_exit(again == file ? 0 : 1);
	}
	for (int i = 0; i < 200 && !waitpid(pid, &result, WNOHANG); i++)
		if (pread(file, buffer, PIECE, 0) == PIECE)
			sleep_us(1000);
	waitpid(pid, &result, 0);
	READ(how, LINUX, file, buffer, PIECE, 0);
	close(file);
}

static void *unshared(void *file)
{
	long result = unshare(CLONE_FILES);

	say("unshared", result, NULL);
	dup2(other, (long)file);
	READ("another in the thread alone", LINUX, (int)(long)file, buffer, PIECE, 0);
	return NULL;
}

static void shared(void)
{
	int file = open_granted(path);
	pthread_t thread;

	in_child(use, file);
	READ("after a fork", ANYBODY, file, buffer, PIECE, PIECE);
	close(file);
	share_table("replaced by a process with the same table", open_granted(path), 0);
	share_table("replaced by one of clone3", open_granted(path), 1);
	file = open_granted(path);
	pthread_create(&thread, NULL, unshared, (void *)(long)file);
	pthread_join(thread, NULL);
	READ("after a thread has left the table", ANYBODY, file, buffer, PIECE, PIECE);
	close(file);
}

static int sockets[2];

static void send_file(int file)
{
	char room[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room,
				  .msg_controllen = sizeof(room) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
				    .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(header), &file, sizeof(file));
	if (sendmsg(sockets[0], &message, 0) != 1)
		fail("sendmsg: %s", strerror(errno));
}

/* A descriptor that came by the socket stops to be direct, for all who have the file. */
static void receive_file(int unused)
{
	char room[CMSG_SPACE(sizeof(int))] = {}, byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room,
				  .msg_controllen = sizeof(room) };
	int file;

	(void)unused;
	if (recvmsg(sockets[1], &message, 0) != 1)
		_exit(1);
	memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(file));
	READ("received", ANYBODY, file, buffer, PIECE, PIECE);
	buffered(file);
}

static void take_file(int file)
{
	int parent = syscall(SYS_pidfd_open, getppid(), 0);
	int taken = syscall(SYS_pidfd_getfd, parent, file, 0);

	READ("taken", ANYBODY, taken, buffer, PIECE, PIECE);
	buffered(taken);
}

static void passed(void)
{
	int file = open_granted(path);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		fail("socketpair: %s", strerror(errno));
	send_file(file);
	in_child(receive_file, -1);
	READ("passed on, and not direct any more", LINUX, file, buffer, 100, 1);
	close(file);
	file = open_granted(path);
	in_child(take_file, file);
	READ("taken, and not direct any more", LINUX, file, buffer, 100, 1);
	close(file);
}

/* They see what was written last, whoever wrote it. */
static void read_buffered(int unused)
{
	int file = open_disk(path, O_RDONLY);
	uint64_t *mapped = pages(PIECE, PROT_READ, MAP_SHARED, file);

	(void)unused;
	READ("buffered", LINUX, file, buffer, 64, 0);
	printf("mapped: %#llx\n", (unsigned long long)*mapped);
	close(file);
}

static void write_buffered(int mark)
{
	int file = open_disk(path, O_RDWR);
	uint64_t word = mark;

	WRITE("written buffered", LINUX, file, &word, sizeof(word), 0);
	close(file);
}

static void caches(void)
{
	int file = open_granted(path);

	for (int round = 0; round < 5; round++) {
		mark_blocks(buffer, PIECE, 0, 10 + round);
		WRITE("written", CORE, file, buffer, PIECE, 0);
		in_child(read_buffered, -1);
		mark_blocks(buffer, PIECE, 0, 20 + round);
		WRITE("written, with a cache", LINUX, file, buffer, PIECE, 0);
		in_child(read_buffered, -1);
		in_child(write_buffered, 30 + round);
		READ("after a buffered write", LINUX, file, buffer, PIECE, 0);
		await_grant("with a cache", file);
	}
	close(file);
}

/* A partition of one user sends the program back to Linux, unless it mixes users. */
static void users(int mixed)
{
	int file = open_granted(path);

	say("setresuid", setresuid(-1, 1000, -1), NULL);
	if (mixed) {
		READ("at first as a user", LINUX, file, buffer, PIECE, PIECE);
		await_grant("as a user", file);
		WRITE("written as a user", CORE, file, buffer, PIECE, PIECE);
	}
	READ("as a user", ANYBODY, file, buffer, PIECE, PIECE);
	WRITE("written as a user", ANYBODY, file, buffer, PIECE, PIECE);
	say("setresuid", setresuid(-1, 0, -1), NULL);
	close(file);
}

static void hold(int unused)
{
	(void)unused;
	say("claimed by another", open(path, O_RDWR | O_EXCL) < 0 ? -1 : 0, NULL);
}

static void claims(void)
{
	int file = open_disk(path, O_RDWR | O_DIRECT | O_EXCL), second;

	await_grant("claimed by the program", file);
	READ("claimed", CORE, file, buffer, PIECE, PIECE);
	in_child(hold, -1);
	second = open_disk(path, O_RDWR | O_DIRECT);
	READ("not the claimed one", LINUX, second, buffer, PIECE, PIECE);
	close(second);
	close(file);
	in_child(hold, -1);
	if (!counting)
		return;
	/* Other than on Linux: the device is claimed while cores serve it, and is free at once afterwards. */
	for (int round = 0; round < 5; round++) {
		file = open_granted(path);
		if (!mount(path, "/mnt", "ext4", 0, NULL) || errno != EBUSY)
			fail("mounting a granted partition: %s", strerror(errno));
		if (!mount(disk_path, "/mnt", "ext4", 0, NULL) || errno != EBUSY)
			fail("mounting a disk with a granted partition: %s", strerror(errno));
		close(file);
		if ((file = open(path, O_RDWR | O_EXCL)) < 0)
			fail("claiming after the close, round %d: %s", round, strerror(errno));
		close(file);
	}
}

/* The program again, with a descriptor that stays and one that does not. */
static void executed(char **argv)
{
	int file = open_granted(path), stays = open_granted(path);
	char first[16], second[16];

	fcntl(stays, F_SETFD, 0);
	snprintf(first, sizeof(first), "%d", file);
	snprintf(second, sizeof(second), "%d", stays);
	fflush(stdout);
	execl("/proc/self/exe", argv[0], argv[1], argv[2], first, second, counting ? "count" : NULL, NULL);
	fail("execl: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	if (argc < 4)
		fail("revoked: DISK PARTITION BYTES [count|mixed]");
	buffer = memory(1 << 20);
	if (argc > 4 && atoi(argv[4]) > 0) {
		path = argv[2];
		counting = argc > 5;
		READ("closed by exec", LINUX, atoi(argv[3]), buffer, PIECE, 0);
		await_grant("after exec", atoi(argv[4]));
		READ("after exec", CORE, atoi(argv[4]), buffer, PIECE, PIECE);
		users(0);
		return 0;
	}
	disk_path = argv[1];
	path = argv[2];
	size = atoll(argv[3]);
	counting = argc > 4;
	if (counting && !strcmp(argv[4], "mixed")) {
		users(1);
		return 0;
	}
	other = open("revoked.file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	memset(buffer, 'o', PIECE);
	if (other < 0 || pwrite(other, buffer, PIECE, 0) != PIECE)
		fail("revoked.file: %s", strerror(errno));
	closed();
	replaced();
	flags();
	device();
	shared();
	passed();
	caches();
	claims();
	executed(argv);
}
