/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The mappings that a process sees as its own, whichever kernel backs them. */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static char text[65536];

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

/* The line of the mapping that begins at p; it has no end. */
static char *line_of(const char *p)
{
	char start[32], *line;

	snprintf(start, sizeof(start), "%lx-", (long)p);
	line = strstr(read_file("/proc/self/maps"), start);
	CHECK(line);
	return strtok(line, "\n");
}

/* Whatever file answers, calls answer as for Linux's own. */
static void as_a_file(void)
{
	int fd = open("/proc/self/maps", O_RDONLY), set = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd polled = { fd, POLLIN | POLLOUT, 0 };
	char first[16], again[16];
	struct winsize window;
	struct stat about;

	CHECK(fd >= 0 && set >= 0);
	CHECK_ERRNO(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), EPERM);
	CHECK(poll(&polled, 1, 0) == 1 && polled.revents == (POLLIN | POLLOUT));
	CHECK_ERRNO(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0), ENODEV);
	CHECK_ERRNO(ioctl(fd, TIOCGWINSZ, &window), ENOTTY);
	CHECK_ERRNO(write(fd, "a", 1), EBADF);
	CHECK(fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & 0777) == 0444 && about.st_size == 0);
	CHECK_ERRNO(lseek(fd, 0, SEEK_END), EINVAL);
	CHECK_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK(read(fd, first, 16) == 16 && lseek(fd, 0, SEEK_CUR) == 16 && lseek(fd, 0, SEEK_SET) == 0);
	CHECK(read(fd, again, 16) == 16 && !memcmp(first, again, 16));
	CHECK(pread(fd, again, 16, 0) == 16 && !memcmp(first, again, 16));
	CHECK(close(fd) == 0 && close(set) == 0);
}

int main(void)
{
	char *p = private_pages(3), *named, line[64];
	unsigned char there[3];
	Elf64_auxv_t *aux;

	p[0] = 1;
	CHECK(sbrk(4096) != (void *)-1);	/* now a heap exists */
	CHECK(mprotect(p + 4096, 4096, PROT_READ | PROT_EXEC) == 0 && mprotect(p + 8192, 4096, PROT_NONE) == 0);
	read_file("/proc/self/maps");
	snprintf(line, sizeof(line), "%lx-%lx r-xp", (long)p + 4096, (long)p + 8192);
	CHECK(strstr(text, line) && strstr(text, "[stack]") && strstr(text, "[heap]") && strstr(text, "[vdso]"));
	snprintf(line, sizeof(line), "%lx-", (long)p + 8192);
	CHECK(strstr(text, line));
	read_file("/proc/self/auxv");
	for (aux = (Elf64_auxv_t *)text; aux->a_type != AT_PAGESZ; aux++)
		CHECK(aux->a_type != AT_NULL);
	CHECK(aux->a_un.a_val == 4096);
	say("memory map\n");
	PART(as_a_file);
	say("as a file\n");
	/* for mincore, memory of the partition becomes Linux's: it looks the same */
	CHECK(mincore(p, 3 * 4096, there) == 0);
	named = line_of(p);
	CHECK(strstr(named, " rw-p ") && !strchr(named, '/') && !strchr(named, '['));
	CHECK(strstr(line_of(p + 4096), " r-xp ") && strstr(line_of(p + 8192), " ---p "));
	read_file("/proc/self/maps");
	CHECK(strstr(text, "[heap]") && !strstr(text, "/dev/zero"));
	say("the same on Linux\n");
	return 0;
}
