/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A program's static data, wherever they lie: they have the contents of the file, the rest is zero, and the program can
 * change all of them, share them with the kernel, and copy them to children.
 *
 * data: tests this; data hold: says "held" and waits for the end of its input; data again N: executes itself N times.
 */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <sys/auxv.h>
#include <sys/uio.h>

enum { WORDS = 1 << 16, PAGE = 4096, BIG_BYTES = 64 << 20 };

static const char *const names[] = { "one", "two", "three" };	/* relocated, then read-only */
static ssize_t (*volatile call)(int, const void *, size_t) = write;
static uint64_t filled[WORDS] = { [0] = 1, [WORDS / 2] = 2, [WORDS - 1] = 3 };
static int middle = 77, *points_there = &middle;
static _Thread_local int of_thread = 78;
static char big[BIG_BYTES] __attribute__((aligned(PAGE)));
static char page[PAGE] __attribute__((aligned(PAGE)));
static sigjmp_buf back;
static volatile uintptr_t failed_at;

static void on_segv(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	failed_at = (uintptr_t)info->si_addr;
	siglongjmp(back, 1);
}

/* A write there gives a signal with that address. */
static int write_fails(volatile const void *there)
{
	failed_at = 0;
	if (sigsetjmp(back, 1))
		return failed_at == (uintptr_t)there;
	*(volatile char *)(uintptr_t)there = 1;
	return 0;
}

static void contents(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < WORDS; i++)
		sum += filled[i] * (i + 1);
	CHECK(sum == 1 + 2 * (WORDS / 2 + 1) + 3 * (uint64_t)WORDS);
	for (size_t i = 0; i < BIG_BYTES; i += 512)
		CHECK(big[i] == 0);
	CHECK(!strcmp(names[2], "three") && call == write && *points_there == 77 && of_thread == 78);
	filled[1] = 5;
	big[BIG_BYTES - 1] = 6;
	middle = 79;
	CHECK(filled[1] == 5 && big[BIG_BYTES - 1] == 6 && *points_there == 79);
	middle = 77;
	say("contents\n");
}

/* The loader, the kernel and the program agree on the addresses of the data. */
static void place(void)
{
	const Elf64_Phdr *headers = (const void *)getauxval(AT_PHDR), *header;
	uintptr_t bias = 0, data = (uintptr_t)filled, text = (uintptr_t)place;
	char line[512], path[256];
	int found = 0;
	FILE *maps;

	for (header = headers; header < headers + getauxval(AT_PHNUM); header++)
		if (header->p_type == PT_PHDR)
			bias = (uintptr_t)headers - header->p_vaddr;
	for (header = headers; header < headers + getauxval(AT_PHNUM); header++) {
		uintptr_t first = bias + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		found += data >= first && data < first + header->p_memsz && header->p_flags & PF_W;
		found += text >= first && text < first + header->p_memsz && header->p_flags & PF_X;
		found += getauxval(AT_ENTRY) >= first && getauxval(AT_ENTRY) < first + header->p_memsz;
	}
	/* without a loader there is no source for the address of the headers */
	CHECK(found == 3 || !bias);
	maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	for (found = 0; fgets(line, sizeof(line), maps);) {
		unsigned long start, end;
		char rights[8];

		CHECK(sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3);
		found += data >= start && data < end && !strcmp(rights, "rw-p");
		found += text >= start && text < end && !strcmp(rights, "r-xp") && strstr(line, "/data");
	}
	CHECK(found == 2 && fclose(maps) == 0);
	say("place\n");
}

static void rights(void)
{
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };

	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	CHECK(write_fails(&names[1]));
	CHECK(write_fails((const void *)(uintptr_t)rights));
	CHECK(mprotect(page, PAGE, PROT_READ) == 0 && write_fails(page + 7) && page[7] == 0);
	CHECK(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0 && !write_fails(page + 7) && page[7] == 1);
	page[7] = 0;
	say("rights\n");
}

/* Read and written by calls, also of another process. */
static void shared_with_kernel(void)
{
	struct iovec mine = { page, 5 }, theirs = { big + PAGE, 5 };
	int ends[2], status;
	pid_t child;

	CHECK(pipe(ends) == 0 && write(ends[1], "hello", 5) == 5 && read(ends[0], page, 5) == 5);
	CHECK(!memcmp(page, "hello", 5) && write(ends[1], page, 5) == 5 && read(ends[0], big + 100, 5) == 5);
	CHECK(!memcmp(big + 100, "hello", 5));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		memcpy(big + PAGE, "child", 5);
		CHECK(!memcmp(page, "hello", 5) && write(ends[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	CHECK(read(ends[0], big + 100, 1) == 1 && big[PAGE] == 0);
	CHECK(process_vm_readv(child, &mine, 1, &theirs, 1, 0) == 5 && !memcmp(page, "child", 5));
	CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
	memset(page, 0, 5);
	say("shared with the kernel\n");
}

/* The heap must not grow into the data, wherever they are. */
static void heap(void)
{
	char *start = sbrk(1 << 20);

	CHECK(start != (char *)-1 && start[0] == 0 && start[(1 << 20) - 1] == 0);
	memset(start, 1, 1 << 20);
	CHECK(brk(start) == 0 && filled[WORDS - 1] == 3 && page[0] == 0 && big[PAGE] == 0);
	say("heap\n");
}

static int again(char **words)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", atoi(words[2]) - 1);
	for (size_t i = 0; i < BIG_BYTES; i += PAGE)
		CHECK(big[i] == 0);
	memset(big, 1, BIG_BYTES);
	if (!strcmp(number, "-1"))
		return 0;
	words[2] = number;
	execv("/proc/self/exe", words);
	return 1;
}

int main(int count, char **words)
{
	char *self[] = { words[0], "again", "3", NULL };
	int status;
	pid_t child;

	if (count > 2 && !strcmp(words[1], "again"))
		return again(words);
	if (count > 1) {
		say("held\n");
		return read(0, page, 1) < 0;
	}
	PART(contents);
	PART(place);
	PART(rights);
	PART(shared_with_kernel);
	PART(heap);
	child = fork();
	if (!child)
		_exit(again(self));
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	say("again\n");
	return 0;
}
