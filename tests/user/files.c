/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Files and directories: data, positions, names, locks, copies. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

static void data_and_positions(void)
{
	char buf[64] = { 0 }, a[3], b[4];
	struct iovec out[2] = { { "abc", 3 }, { "defg", 4 } }, in[2] = { { a, 3 }, { b, 4 } };
	int fd = open("data", O_RDWR | O_CREAT | O_EXCL, 0640);

	CHECK(fd >= 0);
	CHECK_ERRNO(open("data", O_RDWR | O_CREAT | O_EXCL, 0640), EEXIST);
	CHECK(write(fd, "0123456789", 10) == 10);
	CHECK(lseek(fd, 0, SEEK_CUR) == 10);
	CHECK(pread(fd, buf, 4, 3) == 4 && !memcmp(buf, "3456", 4));
	CHECK(pwrite(fd, "xy", 2, 8) == 2);
	CHECK(lseek(fd, -2, SEEK_END) == 8 && read(fd, buf, 64) == 2 && !memcmp(buf, "xy", 2));
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && writev(fd, out, 2) == 7);
	CHECK(preadv(fd, in, 2, 0) == 7 && !memcmp(a, "abc", 3) && !memcmp(b, "defg", 4));
	CHECK(ftruncate(fd, 5) == 0 && lseek(fd, 0, SEEK_END) == 5);
	CHECK(fallocate(fd, 0, 0, 8192) == 0 && lseek(fd, 0, SEEK_END) == 8192);
	CHECK(fsync(fd) == 0 && fdatasync(fd) == 0);
	CHECK_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK(close(fd) == 0);
	CHECK_ERRNO(close(fd), EBADF);
	CHECK_ERRNO(read(fd, buf, 1), EBADF);

	fd = open("data", O_WRONLY | O_APPEND | O_TRUNC);
	CHECK(fd >= 0 && write(fd, "one", 3) == 3);
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && write(fd, "two", 3) == 3);
	CHECK_ERRNO(read(fd, buf, 1), EBADF);
	CHECK(lseek(fd, 0, SEEK_END) == 6 && close(fd) == 0);
	say("data and positions\n");
}

static void names(void)
{
	char buf[64] = { 0 };
	struct stat st, other;
	struct statx stx;
	int dir, fd;

	umask(027);
	CHECK(mkdir("dir", 0777) == 0 && stat("dir", &st) == 0);
	CHECK(S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0750);
	dir = open("dir", O_RDONLY | O_DIRECTORY);
	CHECK(dir >= 0);
	fd = openat(dir, "a", O_RDWR | O_CREAT, 0666);
	CHECK(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0640);
	CHECK(linkat(dir, "a", dir, "b", 0) == 0 && fstatat(dir, "b", &other, 0) == 0);
	CHECK(other.st_ino == st.st_ino && other.st_nlink == 2);
	CHECK(symlinkat("a", dir, "s") == 0 && readlinkat(dir, "s", buf, 64) == 1 && buf[0] == 'a');
	CHECK(fstatat(dir, "s", &other, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(other.st_mode));
	CHECK_ERRNO(openat(dir, "s", O_RDONLY | O_NOFOLLOW), ELOOP);
	CHECK(renameat(dir, "a", dir, "c") == 0);
	CHECK_ERRNO(faccessat(dir, "s", F_OK, 0), ENOENT);
	CHECK(statx(dir, "c", 0, STATX_BASIC_STATS, &stx) == 0 && stx.stx_ino == st.st_ino);
	CHECK(fchmod(fd, 0600) == 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK_ERRNO(rmdir("dir"), ENOTEMPTY);
	CHECK(fchdir(dir) == 0 && access("c", R_OK | W_OK) == 0 && chdir("..") == 0);
	CHECK_ERRNO(openat(fd, "x", O_RDONLY), ENOTDIR);
	CHECK(unlinkat(dir, "b", 0) == 0 && unlinkat(dir, "c", 0) == 0 && unlinkat(dir, "s", 0) == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_nlink == 0);
	CHECK(write(fd, "still", 5) == 5 && pread(fd, buf, 5, 0) == 5 && !memcmp(buf, "still", 5));
	CHECK(close(fd) == 0 && close(dir) == 0 && rmdir("dir") == 0);
	say("names\n");
}

static void directories(void)
{
	struct dirent *entry;
	int seen[40] = { 0 }, total = 0;
	char name[16];
	DIR *dir;

	CHECK(mkdir("many", 0755) == 0 && chdir("many") == 0);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		CHECK(close(creat(name, 0600)) == 0);
	}
	dir = opendir(".");
	CHECK(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] == 'f') {
			CHECK(!seen[atoi(entry->d_name + 1)]++);
			total++;
		}
	CHECK(total == 40 && closedir(dir) == 0 && chdir("..") == 0);
	say("directories\n");
}

static void locked_child(void)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 5 };
	int fd = open("data", O_RDWR);

	CHECK_ERRNO(fcntl(fd, F_SETLK, &range), EAGAIN);
	CHECK(fcntl(fd, F_GETLK, &range) == 0 && range.l_type == F_WRLCK && range.l_pid == getppid());
	range.l_start = 20;
	range.l_type = F_WRLCK;
	CHECK(fcntl(fd, F_SETLK, &range) == 0);
	CHECK_ERRNO(flock(fd, LOCK_EX | LOCK_NB), EAGAIN);
}

static void descriptors_and_locks(void)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 15 };
	int fd = open("data", O_RDWR), other, locked;

	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFD) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
	other = fcntl(fd, F_DUPFD, 100);
	CHECK(other >= 100 && fcntl(other, F_GETFD) == 0);
	CHECK(lseek(fd, 3, SEEK_SET) == 3 && lseek(other, 0, SEEK_CUR) == 3);
	CHECK(dup2(fd, 200) == 200 && dup3(fd, 201, O_CLOEXEC) == 201);
	CHECK_ERRNO(dup3(fd, fd, 0), EINVAL);
	CHECK(fcntl(201, F_GETFD) == FD_CLOEXEC && (fcntl(200, F_GETFL) & O_ACCMODE) == O_RDWR);
	CHECK(close(other) == 0 && close(200) == 0 && close(201) == 0);
	locked = open("data", O_RDWR);
	CHECK(flock(locked, LOCK_EX) == 0 && fcntl(fd, F_SETLK, &range) == 0);
	CHECK(exited_with(child_status(locked_child), 0));
	CHECK(close(locked) == 0 && close(fd) == 0);
	say("descriptors and locks\n");
}

static void copies(void)
{
	static char block[70000], back[70000];
	int from = open("from", O_RDWR | O_CREAT, 0600), to = open("to", O_RDWR | O_CREAT, 0600);
	off_t at = 100;
	loff_t source = 0, target = 50000;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 7 + i / 256);
	CHECK(write(from, block, sizeof(block)) == sizeof(block));
	for (ssize_t n, left = 50000; left; left -= n)
		CHECK((n = sendfile(to, from, &at, left)) > 0);
	CHECK(at == 50100);
	CHECK(pread(to, back, 50000, 0) == 50000 && !memcmp(back, block + 100, 50000));
	CHECK(copy_file_range(from, &source, to, &target, 1000, 0) == 1000);
	CHECK(pread(to, back, 1000, 50000) == 1000 && !memcmp(back, block, 1000));
	CHECK(close(from) == 0 && close(to) == 0);
	say("copies\n");
}

int main(void)
{
	PART(data_and_positions);
	PART(names);
	PART(directories);
	PART(descriptors_and_locks);
	PART(copies);
	return 0;
}
