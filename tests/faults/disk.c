/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * disk DEVICE: writes patterns to a block device by O_DIRECT, reads them back and compares them, in
 * pieces of many sizes. A wrong byte ends it with status 3.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_BYTES (1u << 20)
#define FIRST_BYTE (8l << 20)
#define ROUNDS 200

static unsigned char *pages(void)
{
	return mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	unsigned char *written = pages(), *read = pages();
	int file = argc > 1 ? open(argv[1], O_RDWR | O_DIRECT) : -1;

	if (file < 0 || written == MAP_FAILED || read == MAP_FAILED) {
		fprintf(stderr, "disk DEVICE: cannot be opened\n");
		return 2;
	}
	for (unsigned int round = 0; round < ROUNDS; round++) {
		ssize_t bytes = 4096u << round % 9;
		off_t at = FIRST_BYTE + round % 16 * MOST_BYTES;

		for (ssize_t i = 0; i < bytes; i++)
			written[i] = round + i / 512;
		memset(read, 0, bytes);
		if (pwrite(file, written, bytes, at) != bytes || pread(file, read, bytes, at) != bytes) {
			perror("disk");
			return 2;
		}
		if (memcmp(written, read, bytes)) {
			fprintf(stderr, "disk: round %u: %zd bytes are not those written\n", round, bytes);
			return 3;
		}
	}
	return 0;
}
