/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Files: the descriptors, offsets and names are those of Linux. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>

#include "../../user/check.h"

static void contents(void)
{
	struct iovec out[3] = { { "one ", 4 }, { "", 0 }, { "two", 3 } };
	char text[32] = "", first[4], second[8];
	struct iovec in[2] = { { first, 4 }, { second, 8 } };
	int file = open("contents", O_RDWR | O_CREAT | O_TRUNC, 0640), copy, appended;
	struct stat facts;
	off_t offset = 0;

	CHECK(file >= 0);
	CHECK(writev(file, out, 3) == 7);
	CHECK(lseek(file, 0, SEEK_CUR) == 7);
	CHECK(pwrite(file, "TWO", 3, 4) == 3);
	CHECK(pread(file, text, 31, 0) == 7 && !strcmp(text, "one TWO"));
	CHECK(lseek(file, 0, SEEK_SET) == 0 && readv(file, in, 2) == 7 && !memcmp(second, "TWO", 3));
	CHECK(read(file, text, 31) == 0);
	CHECK(fstat(file, &facts) == 0 && facts.st_size == 7 && (facts.st_mode & 0777) == 0640);
	CHECK(ftruncate(file, 3) == 0 && fstat(file, &facts) == 0 && facts.st_size == 3);
	appended = open("contents", O_WRONLY | O_APPEND);
	CHECK(write(appended, "!", 1) == 1 && close(appended) == 0);
	CHECK(pread(file, text, 31, 0) == 4 && !memcmp(text, "one!", 4));
	copy = open("copy", O_RDWR | O_CREAT, 0600);
	CHECK(sendfile(copy, file, &offset, 100) == 4 && offset == 4);
	CHECK(lseek(copy, -1, SEEK_END) == 3 && read(copy, text, 1) == 1 && text[0] == '!');
	CHECK(fsync(copy) == 0 && fchmod(copy, 0400) == 0 && futimens(copy, NULL) == 0);
	CHECK(close(copy) == 0 && close(file) == 0);
	CHECK_ERRNO(close(file), EBADF);
	CHECK_ERRNO(open("missing", O_RDONLY), ENOENT);
	CHECK_ERRNO(open("copy", O_CREAT | O_EXCL | O_WRONLY, 0600), EEXIST);
	say("contents\n");
}

static void descriptors(void)
{
	int file = open("copy", O_RDONLY), other = dup(file), third = fcntl(file, F_DUPFD_CLOEXEC, 100);
	char byte;

	CHECK(other == file + 1 && third == 100);
	CHECK(read(other, &byte, 1) == 1 && lseek(third, 0, SEEK_CUR) == 1);
	CHECK(fcntl(third, F_GETFD) == FD_CLOEXEC && fcntl(file, F_GETFD) == 0);
	CHECK(dup2(file, 50) == 50 && dup3(file, 51, O_CLOEXEC) == 51 && close(50) == 0 && close(51) == 0);
	CHECK((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY);
	CHECK_ERRNO(write(file, "x", 1), EBADF);
	CHECK(close(file) == 0 && close(other) == 0 && close(third) == 0);
	say("descriptors\n");
}

static void names(void)
{
	char text[64] = "";
	struct stat facts;

	CHECK(mkdir("directory", 0700) == 0 && mkdirat(AT_FDCWD, "directory/inner", 0700) == 0);
	CHECK(rename("contents", "directory/contents") == 0 && link("directory/contents", "hard") == 0);
	CHECK(stat("hard", &facts) == 0 && facts.st_nlink == 2);
	CHECK(symlink("directory/contents", "soft") == 0 && readlink("soft", text, 63) == 18);
	CHECK(!strcmp(text, "directory/contents") && lstat("soft", &facts) == 0 && S_ISLNK(facts.st_mode));
	CHECK(access("soft", R_OK) == 0 && faccessat(AT_FDCWD, "none", F_OK, 0) == -1);
	CHECK(chmod("hard", 0600) == 0 && truncate("hard", 0) == 0);
	CHECK_ERRNO(rmdir("directory"), ENOTEMPTY);
	CHECK(chdir("directory") == 0 && getcwd(text, 64) && !strcmp(strrchr(text, '/'), "/directory"));
	CHECK(access("../hard", F_OK) == 0 && chdir("..") == 0);
	CHECK(!getcwd(text, 2) && errno == ERANGE);
	CHECK(umask(027) == 022 || umask(022) == 027);
	say("names\n");
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void listing(void)
{
	char *found[1024];
	int count = 0;
	DIR *directory;
	struct dirent *entry;

	CHECK(mkdir("many", 0700) == 0 && chdir("many") == 0);
	for (int i = 0; i < 1000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "a-file-with-a-name-%04d", i);
		CHECK(close(open(name, O_CREAT | O_WRONLY, 0600)) == 0);
	}
	directory = opendir(".");
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			found[count++] = strdup(entry->d_name);
	CHECK(closedir(directory) == 0 && count == 1000);
	qsort(found, count, sizeof(*found), by_text);
	say("listing: %s to %s\n", found[0], found[999]);
	for (int i = 0; i < count; i++) {
		CHECK(unlink(found[i]) == 0);
		free(found[i]);
	}
	CHECK(chdir("..") == 0 && rmdir("many") == 0);
}

static void attributes_and_locks(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 2 };
	int file = open("copy2", O_RDWR | O_CREAT, 0600);
	char value[8];
	struct statfs system;

	if (fsetxattr(file, "user.tacet", "value", 5, 0) == 0)
		CHECK(getxattr("copy2", "user.tacet", value, 8) == 5 && !memcmp(value, "value", 5));
	else
		CHECK(errno == EOPNOTSUPP);
	CHECK(fgetxattr(file, "user.none", value, 8) == -1 && (errno == EOPNOTSUPP || errno == ENODATA));
	CHECK(fcntl(file, F_SETLK, &lock) == 0 && fcntl(file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK);
	CHECK(flock(file, LOCK_EX | LOCK_NB) == 0 && flock(file, LOCK_UN) == 0);
	CHECK(fstatfs(file, &system) == 0 && system.f_bsize > 0);
	CHECK(posix_fallocate(file, 0, 100) == 0 && close(file) == 0);
	say("attributes and locks\n");
}

static void remove_all(void)
{
	CHECK(unlink("soft") == 0 && unlink("hard") == 0 && unlink("copy") == 0 && unlink("copy2") == 0);
	CHECK(unlinkat(AT_FDCWD, "directory/inner", AT_REMOVEDIR) == 0 && unlink("directory/contents") == 0);
	CHECK(rmdir("directory") == 0);
}

int main(void)
{
	char place[64];

	umask(022);
	snprintf(place, sizeof(place), "/tmp/tacet-static-files-%d", getpid());
	CHECK(mkdir(place, 0700) == 0 && chdir(place) == 0);
	contents();
	descriptors();
	names();
	listing();
	attributes_and_locks();
	remove_all();
	CHECK(chdir("/") == 0 && rmdir(place) == 0);
	return 0;
}
