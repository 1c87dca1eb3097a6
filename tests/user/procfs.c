/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A process reads about itself and its relatives, and reads their memory. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/uio.h>

static char text[65536];
static volatile long *shared;
static char secret[10000];

static char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n, size = 0;

	CHECK(fd >= 0);
	while ((n = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += n;
	text[size] = 0;
	CHECK(n == 0 && close(fd) == 0);
	return text;
}

static long field(const char *name)
{
	char *at = strstr(text, name);

	CHECK(at);
	return strtol(at + strlen(name), NULL, 10);
}

static void about_itself(void)
{
	char path[256], *end;
	struct stat a, b;

	read_file("/proc/self/status");
	CHECK(field("\nPid:") == getpid() && field("\nPPid:") == getppid() && field("\nUid:") == getuid() && field("\nThreads:") == 1);
	read_file("/proc/self/stat");
	CHECK(strtol(text, NULL, 10) == getpid() && (end = strrchr(text, ')')) && end[2] == 'R');
	CHECK(strstr(read_file("/proc/self/cmdline"), "procfs"));
	CHECK(readlink("/proc/self/exe", path, sizeof(path)) > 0 && strstr(path, "procfs"));
	CHECK(stat("/proc/self/fd/0", &a) == 0 && fstat(0, &b) == 0 && a.st_ino == b.st_ino);
	CHECK(stat("/proc/self/cwd", &a) == 0 && stat(".", &b) == 0 && a.st_ino == b.st_ino);
	CHECK(prctl(PR_SET_NAME, "new name") == 0 && !strcmp(read_file("/proc/self/comm"), "new name\n"));
	read_file("/proc/self/limits");
	CHECK(strstr(text, "Max open files"));
	say("itself\n");
}

static void own_memory(void)
{
	int fd = open("/proc/self/mem", O_RDWR), map = open("/proc/self/pagemap", O_RDONLY);
	char *p = private_pages(2), got[8];
	uint64_t entries[2];

	CHECK(pwrite(fd, "visible", 8, (off_t)p) == 8 && !strcmp(p, "visible"));
	CHECK(pread(fd, got, 8, (off_t)p) == 8 && !strcmp(got, "visible"));
	CHECK(mprotect(p, 4096, PROT_READ) == 0);
	/* even to read-only memory, unless the kernel is configured to refuse that */
	if (pwrite(fd, "CHANGED", 8, (off_t)p) == 8)
		CHECK(!strcmp(p, "CHANGED"));
	else
		CHECK(errno == EIO && !strcmp(p, "visible"));
	CHECK(pread(fd, got, 8, (off_t)p) == 8);	/* whichever kernel had the page, Linux has it now */
	CHECK(pread(map, entries, 16, (off_t)p / 4096 * 8) == 16 && entries[0] >> 63 == 1 && entries[1] >> 63 == 0);
	close(fd), close(map);
	say("own memory\n");
}

static void *named(void *unused)
{
	prctl(PR_SET_NAME, "worker");
	store(&shared[1], gettid());
	while (!load(&shared[0]))
		sched_yield();
	return unused;
}

static void threads(void)
{
	pthread_t thread;
	struct dirent *entry;
	char path[64];
	int found = 0;
	DIR *dir;

	CHECK(!pthread_create(&thread, NULL, named, NULL));
	wait_until(load(&shared[1]));
	dir = opendir("/proc/self/task");
	while ((entry = readdir(dir)))
		found += entry->d_name[0] != '.';
	CHECK(closedir(dir) == 0 && found == 2);
	snprintf(path, sizeof(path), "/proc/self/task/%ld/comm", shared[1]);
	CHECK(!strcmp(read_file(path), "worker\n"));
	store(&shared[0], 1);
	CHECK(!pthread_join(thread, NULL));
	say("threads\n");
}

/* The parent reads and writes a spinning child's memory, page by page. */
static void of_a_child(void)
{
	static char copy[sizeof(secret)];
	struct iovec local = { copy, sizeof(copy) }, remote = { secret, sizeof(secret) };
	char path[64];
	pid_t pid;
	int status;

	shared[0] = 0;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		memset(secret, 's', sizeof(secret));
		store(&shared[0], 1);
		while (*(volatile char *)secret != 'w')
			;
		for (size_t i = 0; i < sizeof(secret); i++)
			CHECK(secret[i] == (i < 5000 ? 'w' : 's'));
		_exit(17);
	}
	wait_until(load(&shared[0]) == 1);
	CHECK(process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(copy));
	for (size_t i = 0; i < sizeof(copy); i++)
		CHECK(copy[i] == 's');
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	/* on a core it computes while Linux sees its proxy sleep */
	CHECK(strchr("RS", strrchr(read_file(path), ')')[2]));
	/* the byte that it waits for is written last */
	memset(copy, 'w', sizeof(copy));
	local = (struct iovec){ copy, 4999 }, remote = (struct iovec){ secret + 1, 4999 };
	CHECK(process_vm_writev(pid, &local, 1, &remote, 1, 0) == 4999);
	local.iov_len = remote.iov_len = 1;
	remote.iov_base = secret;
	CHECK(process_vm_writev(pid, &local, 1, &remote, 1, 0) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 17));
	CHECK_ERRNO(process_vm_readv(pid, &local, 1, &remote, 1, 0), ESRCH);
	say("a spinning child\n");
}

static char *layout(char *out)
{
	char *heap = malloc(10);

	sprintf(out, "%p %p", (void *)&out, (void *)heap);
	free(heap);
	return out;
}

/* Every new program gets a random layout, unless it turns that off. */
static void randomised(const char *self)
{
	char seen[2][64];

	if (read_file("/proc/sys/kernel/randomize_va_space")[0] != '2' || personality(~0u) & ADDR_NO_RANDOMIZE)
		goto done;
	for (int i = 0; i < 2; i++) {
		int ends[2];

		CHECK(pipe(ends) == 0);
		if (fork() == 0) {
			dup2(ends[1], 1);
			execl("/proc/self/exe", self, "layout", NULL);
		}
		CHECK(wait(NULL) > 0 && read(ends[0], seen[i], 64) > 8);
		close(ends[0]), close(ends[1]);
	}
	CHECK(strcmp(seen[0], seen[1]));
done:
	say("layout\n");
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc > 1) {
		say("%s", layout(line));
		return 0;
	}
	shared = shared_memory(4096);
	free(malloc(10));
	PART(about_itself);
	PART(own_memory);
	PART(threads);
	PART(of_a_child);
	randomised(argv[0]);
	return 0;
}
