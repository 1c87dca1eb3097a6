/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * formatted CONTROLLER NAMESPACE DISK [count]: the namespace gets blocks of 4 KiB, and of 512 bytes again, while the
 * program has its disk open. Prints what reads and writes then say: the same as on Linux. With `count` cores must have
 * served them where they can.
 */
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>

#include "granted.h"

#define IDENTIFY 6
#define FORMAT 0x80
#define PAGE 4096

static const char *controller;
static unsigned int namespace;

static void command(struct nvme_admin_cmd *what)
{
	int file = open_disk(controller, O_RDWR), status = ioctl(file, NVME_IOCTL_ADMIN_CMD, what);

	if (status)
		fail("command %#x: status %#x, %s", what->opcode, status, status < 0 ? strerror(errno) : "");
	close(file);
}

/* The number of the format whose blocks are so many bytes, without metadata. */
static unsigned int format_of(unsigned int bytes)
{
	static unsigned char said[PAGE] __attribute__((aligned(PAGE)));
	struct nvme_admin_cmd identify = { .opcode = IDENTIFY, .nsid = namespace, .addr = (long)said,
					   .data_len = PAGE };

	command(&identify);
	for (unsigned int i = 0; i <= said[25]; i++) {
		const unsigned char *format = said + 128 + 4 * i;

		if (1u << format[2] == bytes && !format[0] && !format[1])
			return i;
	}
	fail("no format has blocks of %u bytes", bytes);
}

/* By another process, on Linux. */
static void format(unsigned int bytes)
{
	struct nvme_admin_cmd format = { .opcode = FORMAT, .nsid = namespace, .timeout_ms = 60000 };
	int result;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		format.cdw10 = format_of(bytes);
		command(&format);
		_exit(0);
	}
	if (waitpid(pid, &result, 0) != pid || result)
		fail("formatting ended with %#x", result);
}

static uint64_t size_of(int file)
{
	uint64_t bytes = 0;

	if (ioctl(file, BLKGETSIZE64, &bytes))
		fail("BLKGETSIZE64: %s", strerror(errno));
	printf("bytes: %llu\n", (unsigned long long)bytes);
	return bytes;
}

static void use(const char *path, unsigned int block)
{
	int file = open_granted(path);
	uint64_t end = size_of(file);

	await_grant("after the ioctl", file);
	memset(buffer, block >> 8, PIECE);
	WRITE("written", CORE, file, buffer, PIECE, 0);
	WRITE("written at the end", CORE, file, buffer, PIECE, end - PIECE);
	READ("read at the end", CORE, file, buffer, PIECE, end - PIECE);
	READ("beyond the end", TACET_PICO_BY_BOUNDS, file, buffer, PIECE, end);
	READ("512 bytes", block == BLOCK ? CORE : TACET_PICO_BY_ALIGNMENT, file, buffer, BLOCK, 0);
	close(file);
}

int main(int argc, char **argv)
{
	int file;

	if (argc < 4)
		fail("formatted: CONTROLLER NAMESPACE DISK [count]");
	controller = argv[1];
	namespace = atoi(argv[2]);
	counting = argc > 4;
	buffer = memory(1 << 20);
	use(argv[3], BLOCK);
	file = open_granted(argv[3]);
	format(PAGE);
	READ("512 bytes of a page", LINUX, file, buffer, BLOCK, 0);
	READ("a page", ANYBODY, file, buffer, PIECE, 0);
	await_grant("with pages", file);
	READ("a page, again", CORE, file, buffer, PIECE, PIECE);
	use(argv[3], PAGE);
	format(BLOCK);
	READ("512 bytes again", ANYBODY, file, buffer, BLOCK, 0);
	await_grant("with blocks", file);
	READ("512 bytes, on a core", CORE, file, buffer, BLOCK, 0);
	close(file);
	use(argv[3], BLOCK);
	return 0;
}
