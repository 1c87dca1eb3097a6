// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The run's file: written as FILE.partial and renamed when it is complete. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fwq.h"

static FILE *file;
static char *partial;
static const char *destination;
static int failed;	/* errno of the first error */
static uint64_t checksum;

static const char *why(void)
{
	static char wrong[512];

	snprintf(wrong, sizeof(wrong), "%s: cannot write the run: %s", destination, strerror(failed));
	return failed ? wrong : NULL;
}

const char *file_open(const char *path)
{
	destination = path;
	checksum = 0xcbf29ce484222325u;
	if (asprintf(&partial, "%s.partial", path) < 0) {
		partial = NULL;
		failed = ENOMEM;
		return why();
	}
	file = fopen(partial, "wb");
	failed = file ? 0 : errno;
	return why();
}

void file_write(const void *bytes, size_t count)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < count; i++)
		checksum = (checksum ^ byte[i]) * 0x100000001b3u;
	if (!failed && fwrite(bytes, 1, count, file) != count)
		failed = errno;
}

void file_abandon(void)
{
	if (file) {
		fclose(file);
		unlink(partial);
	}
	file = NULL;
	free(partial);
	partial = NULL;
}

const char *file_close(void)
{
	uint64_t sum = checksum;

	file_write(&sum, sizeof(sum));
	if (!failed && (fflush(file) || fsync(fileno(file))))
		failed = errno;
	if (!failed && rename(partial, destination))
		failed = errno;
	if (failed)
		file_abandon();
	return why();
}
