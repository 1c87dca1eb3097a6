/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The CPUs that files tell of are those of the machine that executes the program, by whichever call, directory and way to
 * write a path; and what describes another machine's CPUs and memory is not there. Prints how many CPUs there are.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "../../user/check.h"

static char text[65536];

static const char *read_all(int file)
{
	size_t used = 0;

	CHECK(file >= 0);
	for (ssize_t now; (now = read(file, text + used, sizeof(text) - 1 - used)) > 0;)
		used += now;
	text[used] = 0;
	CHECK(close(file) == 0);
	return text;
}

static int at(const char *directory, const char *path)
{
	int top = open(directory, O_RDONLY | O_DIRECTORY), file;

	CHECK(top >= 0);
	file = openat(top, path, O_RDONLY);
	CHECK(close(top) == 0);
	return file;
}

static int processors(const char *information)
{
	int count = 0;

	for (const char *found = information; (found = strstr(found, "processor\t")); found++)
		count++;
	return count;
}

static int from(const char *directory, const char *path)
{
	int file;

	CHECK(chdir(directory) == 0);
	file = open(path, O_RDONLY);
	CHECK(chdir("/") == 0);
	return file;
}

static void check_online(const char *online)
{
	CHECK(!strcmp(read_all(at("/", "sys/devices/system/cpu/online")), online));
	CHECK(!strcmp(read_all(at("/sys", "devices/system/cpu/online")), online));
	CHECK(!strcmp(read_all(at("/sys/devices/system", "cpu/./online")), online));
	CHECK(!strcmp(read_all(at("/proc", "../sys/devices/system//cpu/online")), online));
	CHECK(!strcmp(read_all(from("/sys/devices", "system/cpu/online")), online));
	CHECK(!strcmp(read_all(open("/sys/devices/../devices/system/cpu/online", O_RDONLY)), online));
	CHECK(access("/sys/devices/system/cpu/online", R_OK) == 0);
	CHECK(!strcmp(read_all(at("/sys/devices/system", "node/has_memory")), "0\n"));
}

static void check_program(const char *program)
{
	struct stat by_link, by_name;
	char name[4096] = "";
	int proc = open("/proc/self", O_RDONLY | O_DIRECTORY);

	CHECK(proc >= 0 && stat(program, &by_name) == 0 && stat("/proc/self/exe", &by_link) == 0);
	CHECK(by_link.st_ino == by_name.st_ino && by_link.st_size == by_name.st_size);
	CHECK(fstatat(proc, "exe", &by_link, 0) == 0 && by_link.st_ino == by_name.st_ino);
	CHECK(lstat("/proc/self/exe", &by_link) == 0 && S_ISLNK(by_link.st_mode));
	CHECK(readlinkat(proc, "exe", name, sizeof(name) - 1) > 0 && !strcmp(name, program));
}

static void check_others(void)
{
	static const char *const others[] = { "/sys/devices/system/cpu/cpu0/topology", "/sys/devices/system/cpu",
					      "/sys/devices/system/node", "/sys/bus/cpu/devices" };
	struct stat status;

	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		CHECK_ERRNO(open(others[i], O_RDONLY), ENOENT);
		CHECK_ERRNO(at("/", others[i] + 1), ENOENT);
		CHECK_ERRNO(stat(others[i], &status), ENOENT);
		CHECK_ERRNO(access(others[i], F_OK), ENOENT);
		CHECK_ERRNO(chdir(others[i]), ENOENT);
		CHECK(opendir(others[i]) == NULL);
	}
}

int main(int count, char **words)
{
	char online[64];

	CHECK(count == 2);
	snprintf(online, sizeof(online), "%s", read_all(open("/sys/devices/system/cpu/online", O_RDONLY)));
	check_online(online);
	CHECK(processors(read_all(open("/proc/cpuinfo", O_RDONLY))) == sysconf(_SC_NPROCESSORS_ONLN));
	CHECK(processors(read_all(at("/", "proc/cpuinfo"))) == sysconf(_SC_NPROCESSORS_ONLN));
	check_program(words[1]);
	check_others();
	say("%ld CPUs\n", sysconf(_SC_NPROCESSORS_ONLN));
	return 0;
}
