/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Writes and reads 16 MiB in pieces of many sizes, and copies standard input to standard output. */
#include <fcntl.h>
#include <sys/uio.h>

#include "../../user/check.h"

#define BYTES (16 << 20)

static uint64_t hash(const unsigned char *bytes, size_t count)
{
	uint64_t value = 14695981039346656037ull;

	for (size_t i = 0; i < count; i++)
		value = (value ^ bytes[i]) * 1099511628211ull;
	return value;
}

int main(void)
{
	static const size_t sizes[] = { 1, 4096, 65535, 65536, 65537, 1 << 20, 3 << 20 };
	unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
	char name[64], text[256];
	int file;
	struct iovec parts[3];
	ssize_t count;

	snprintf(name, sizeof(name), "/tmp/tacet-static-stream-%d", getpid());
	file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(out && in && file >= 0);
	for (uint64_t i = 0, x = 1; i < BYTES; i++)
		out[i] = (x = x * 6364136223846793005ull + 1442695040888963407ull) >> 56;
	for (size_t done = 0, turn = 0; done < BYTES; turn++) {
		size_t bytes = sizes[turn % ARRAY_LENGTH(sizes)];

		count = write(file, out + done, bytes < BYTES - done ? bytes : BYTES - done);
		CHECK(count > 0);
		done += count;
	}
	CHECK(lseek(file, 0, SEEK_SET) == 0);
	for (size_t done = 0; done < BYTES; done += count) {
		count = read(file, in + done, BYTES - done);
		CHECK(count > 0);
	}
	say("%016lx\n%016lx\n", hash(out, BYTES), hash(in, BYTES));
	for (int i = 0; i < 3; i++)
		parts[i] = (struct iovec){ in + i * 100000, 100000 };
	memset(in, 0, BYTES);
	CHECK(preadv(file, parts, 3, 1000) > 0 && in[0] == out[1000]);
	CHECK(close(file) == 0 && unlink(name) == 0);
	while ((count = read(0, text, sizeof(text))) > 0)
		CHECK(write(1, text, count) == count);
	return 0;
}
