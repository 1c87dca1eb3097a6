// SPDX-License-Identifier: Apache-2.0 OR MIT
// Addresses at which other tools put their own memory: a program that is linked with one of them begins like this. It
// has so much data that it could be moved, and the name of a sanitizer that forbids that.
#include "check.h"

#include <sys/mman.h>

extern void __tsan_init(void) __attribute__((weak));

static volatile char data[16 << 20];

struct place {
	unsigned long start, end;
};

// compiler-rt/lib: asan_mapping.h, msan.h, tsan_platform.h; the allocators of several releases.
static const struct place asan[] = { { 0x7fff8000, 0x10007fff8000 }, { 0x600000000000, 0x640000100000 }, {} };
static const struct place newer_asan[] = { { 0x7fff8000, 0x10007fff8000 }, { 0x500000000000, 0x540000100000 }, {} };
static const struct place msan[] = { { 0x010000000000, 0x510000000000 }, { 0x600000000000, 0x780000000000 }, {} };
static const struct place tsan[] = { { 0x008000000000, 0x550000000000 }, { 0x568000000000, 0x7e8000000000 }, {} };
static const struct place newer_tsan[] = { { 0x020000000000, 0x550000000000 }, { 0x5a0000000000, 0x7c0000000000 }, {} };
// Go's heap, Java's heaps (compressed, ZGC), V8's cage, Valgrind, Wine's libraries.
static const struct place runtimes[] = {
	{ 0x000800000000, 0x001000000000 }, { 0x00c000000000, 0x010000000000 }, { 0x040000000000, 0x400000000000 },
	{ 0x6fff00000000, 0x700000000000 }, {},
};

// Takes all of them, as such a tool does: without replacing what is there.
static void take(const char *tool, const struct place *place)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

	for (; place->end; place++) {
		size_t bytes = place->end - place->start;
		void *at = mmap((void *)place->start, bytes, PROT_NONE, flags, -1, 0);

		if (at != (void *)place->start) {
			say("%s: something lies in %lx-%lx\n", tool, place->start, place->end);
			continue;
		}
		CHECK(mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0);
		*(volatile char *)at = 1;
		CHECK(munmap(at, bytes) == 0);
	}
	say("%s done\n", tool);
}

int main(void)
{
	// The heap, and mappings of every size, are where they are before the tools look.
	static const size_t sizes[] = { 4096, 64 << 10, 4 << 20, 1 << 30 };

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		CHECK(mmap(NULL, sizes[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	CHECK(malloc(1000));
	CHECK(!__tsan_init && !data[sizeof(data) - 1]);
	take("the address sanitizer", asan);
	take("a newer address sanitizer", newer_asan);
	take("the memory sanitizer", msan);
	take("the thread sanitizer", tsan);
	take("a newer thread sanitizer", newer_tsan);
	take("language runtimes", runtimes);
	return 0;
}
