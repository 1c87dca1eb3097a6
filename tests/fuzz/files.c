/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hostile reads and writes of the files below /sys/kernel/tacet: bytes, huge
 * numbers, other processes' pids. Called by fuzz.c from many threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"

static size_t text(struct source *source, char *buffer, size_t size)
{
	size_t length = below(source, one_in(source, 20) ? size : 24);

	switch (below(source, 4)) {
	case 0:
		for (size_t i = 0; i < length; i++)
			buffer[i] = number(source);
		return length;
	case 1:
		return snprintf(buffer, size, "%d\n", targets[below(source, target_count)]);
	case 2:
		return snprintf(buffer, size, "%ld", (long)below(source, 7) - 2);
	default:
		return snprintf(buffer, size, "%s%lu%s", one_in(source, 2) ? "-" : "", nasty(source),
				one_in(source, 2) ? "" : " x");
	}
}

int hostile_file(struct source *source)
{
	char path[80], buffer[8192];
	int file, result = 0;

	if (one_in(source, 2))
		snprintf(path, sizeof(path), "/sys/kernel/tacet/decouple");
	else
		snprintf(path, sizeof(path), "/sys/kernel/tacet/%d/cpu", targets[below(source, target_count)]);
	file = open(path, one_in(source, 2) ? O_RDWR : O_RDONLY);
	if (file < 0)
		return errno;
	if (one_in(source, 3))
		result = pread(file, buffer, below(source, sizeof(buffer)), below(source, 4) ? 0 : nasty(source) >> 1);
	else
		result = write(file, buffer, text(source, buffer, sizeof(buffer)));
	result = result < 0 ? errno : 0;
	close(file);
	return result;
}
