/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pipes: blocking ends, end of file, SIGPIPE, atomic writes, splices. */
#include "check.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>

static int ends[2];
static int broken;

static void count_broken(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	CHECK(sig == SIGPIPE);
	broken++;
}

static void *write_slowly(void *unused)
{
	for (int i = 0; i < 5; i++) {
		sleep_ms(2);
		CHECK(write(ends[1], &i, sizeof(i)) == sizeof(i));
	}
	close(ends[1]);
	return unused;
}

static void blocking(void)
{
	pthread_t thread;
	int value;

	CHECK(pipe(ends) == 0);
	CHECK(pthread_create(&thread, NULL, write_slowly, NULL) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(read(ends[0], &value, sizeof(value)) == sizeof(value) && value == i);
	CHECK(read(ends[0], &value, sizeof(value)) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && close(ends[0]) == 0);
	say("blocking read and end of file\n");
}

static void not_blocking(void)
{
	char block[4096] = { 0 };
	long total = 0, n;

	CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
	CHECK_ERRNO(read(ends[0], block, 1), EAGAIN);
	CHECK(fcntl(ends[1], F_SETPIPE_SZ, 16384) == 16384);
	while ((n = write(ends[1], block, sizeof(block))) > 0)
		total += n;
	CHECK(n == -1 && errno == EAGAIN && total == 16384);
	CHECK(read(ends[0], block, sizeof(block)) == sizeof(block));
	CHECK(write(ends[1], block, sizeof(block)) == sizeof(block));
	close(ends[0]);
	CHECK_ERRNO(write(ends[1], block, 1), EPIPE);
	CHECK(broken == 1 && close(ends[1]) == 0);
	say("full, empty and broken\n");
}

static void die_of_pipe(void)
{
	signal(SIGPIPE, SIG_DFL);
	CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
	if (write(ends[1], "x", 1) < 0)
		_exit(3);
}

/* Records up to PIPE_BUF from several writers never mix. */
static void atomic_records(void)
{
	static char record[1000];
	int status, count[4] = { 0 };

	CHECK(pipe(ends) == 0);
	for (int w = 0; w < 4; w++)
		if (fork() == 0) {
			memset(record, 'a' + w, sizeof(record));
			for (int i = 0; i < 50; i++)
				CHECK(write(ends[1], record, sizeof(record)) == sizeof(record));
			_exit(0);
		}
	close(ends[1]);
	for (;;) {
		size_t have = 0;
		ssize_t n;

		while (have < sizeof(record) && (n = read(ends[0], record + have, sizeof(record) - have)) > 0)
			have += n;
		if (!have)
			break;
		CHECK(have == sizeof(record));
		for (size_t i = 1; i < sizeof(record); i++)
			CHECK(record[i] == record[0]);
		count[record[0] - 'a']++;
	}
	for (int w = 0; w < 4; w++)
		CHECK(count[w] == 50 && wait(&status) > 0 && exited_with(status, 0));
	close(ends[0]);
	say("atomic records\n");
}

static void splices(void)
{
	char *page = private_pages(1), back[64] = { 0 };
	struct iovec vec = { page, 64 };
	int other[2], fd = open("spliced", O_RDWR | O_CREAT, 0600);

	memset(page, 'v', 64);
	CHECK(pipe(ends) == 0 && pipe(other) == 0);
	CHECK(vmsplice(ends[1], &vec, 1, 0) == 64);
	CHECK(tee(ends[0], other[1], 64, 0) == 64);
	CHECK(splice(ends[0], NULL, fd, NULL, 64, 0) == 64);
	CHECK(read(other[0], back, 64) == 64 && back[0] == 'v' && back[63] == 'v');
	memset(back, 0, sizeof(back));
	CHECK(pread(fd, back, 64, 0) == 64 && back[0] == 'v' && back[63] == 'v');
	close(fd), close(ends[0]), close(ends[1]), close(other[0]), close(other[1]);
	say("splices\n");
}

static void fifo_writer(void)
{
	int fd = open("fifo", O_WRONLY);

	CHECK(fd >= 0 && write(fd, "through", 7) == 7);
}

static void fifo(void)
{
	char buf[8];
	int fd, status;
	pid_t pid;

	CHECK(mkfifo("fifo", 0600) == 0);
	CHECK_ERRNO(open("fifo", O_WRONLY | O_NONBLOCK), ENXIO);
	pid = fork();
	if (pid == 0) {
		fifo_writer();
		_exit(0);
	}
	fd = open("fifo", O_RDONLY);
	CHECK(fd >= 0 && read(fd, buf, 8) == 7 && !memcmp(buf, "through", 7));
	CHECK(read(fd, buf, 8) == 0 && waitpid(pid, &status, 0) == pid && status == 0);
	say("fifo\n");
}

int main(void)
{
	on_signal(SIGPIPE, count_broken, 0);
	PART(blocking);
	PART(not_blocking);
	CHILD(die_of_pipe, killed_by(status, SIGPIPE));
	say("killed by a broken pipe\n");
	PART(atomic_records);
	PART(splices);
	PART(fifo);
	return 0;
}
