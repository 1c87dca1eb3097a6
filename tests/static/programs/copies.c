/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Makes as many small files as its argument says, copies each, compares the copies and removes all. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "../../user/check.h"

static void put(const char *name, const char *text, size_t bytes)
{
	int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	CHECK(file >= 0 && write(file, text, bytes) == (ssize_t)bytes && close(file) == 0);
}

static size_t get(const char *name, char *text, size_t room)
{
	int file = open(name, O_RDONLY);
	ssize_t bytes = read(file, text, room);

	CHECK(file >= 0 && bytes > 0 && close(file) == 0);
	return bytes;
}

int main(int argc, char **argv)
{
	char place[64], name[64], text[4096], copy[4096];
	int files = argc > 1 ? atoi(argv[1]) : 100, found = 0;
	unsigned long sum = 0;
	struct dirent *entry;
	DIR *directory;

	snprintf(place, sizeof(place), "/tmp/tacet-static-copies-%d", getpid());
	CHECK(mkdir(place, 0700) == 0 && chdir(place) == 0 && mkdir("from", 0700) == 0 && mkdir("to", 0700) == 0);
	for (int i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "from/%d", i);
		snprintf(text, sizeof(text), "file %d of %d\n", i, files);
		put(name, text, strlen(text));
	}
	directory = opendir("from");
	while ((entry = readdir(directory))) {
		size_t bytes;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "from/%.40s", entry->d_name);
		bytes = get(name, text, sizeof(text));
		snprintf(name, sizeof(name), "to/%.40s", entry->d_name);
		put(name, text, bytes);
		found++;
	}
	CHECK(closedir(directory) == 0);
	for (int i = 0; i < files; i++) {
		size_t bytes;

		snprintf(name, sizeof(name), "to/%d", i);
		bytes = get(name, copy, sizeof(copy));
		snprintf(text, sizeof(text), "file %d of %d\n", i, files);
		CHECK(bytes == strlen(text) && !memcmp(text, copy, bytes));
		sum += bytes;
		CHECK(unlink(name) == 0);
		snprintf(name, sizeof(name), "from/%d", i);
		CHECK(unlink(name) == 0);
	}
	CHECK(rmdir("from") == 0 && rmdir("to") == 0 && chdir("/") == 0 && rmdir(place) == 0);
	say("copied %d files of %lu bytes\n", found, sum);
	return 0;
}
