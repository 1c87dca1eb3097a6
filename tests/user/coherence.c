/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A thread's changes of the address space must be visible at once to another
 * thread that never enters the kernel: a stale translation would show an old page.
 */
#include "check.h"

#include <pthread.h>

#define PAGE 4096L
#define ROUNDS 60

static volatile uint64_t *page;
static uint64_t epoch;		/* written by main after a change took effect; read by the reader before it looks */
static uint64_t looks;		/* written by the reader after each look; main waits for progress */
static int stop;

static void *reader_thread(void *look)
{
	while (!load(&stop)) {
		((void (*)(void))look)();
		add(&looks, 1);
	}
	return NULL;
}

static pthread_t start_reader(void (*look)(void))
{
	pthread_t thread;

	store(&stop, 0);
	store(&looks, 0);
	CHECK(!pthread_create(&thread, NULL, reader_thread, (void *)look));
	return thread;
}

/* Waits until the reader has made a complete look that began after this call. */
static void let_it_look(void)
{
	uint64_t since = load(&looks);

	wait_until(load(&looks) >= since + 2);
}

static void join_reader(pthread_t thread)
{
	store(&stop, 1);
	CHECK(!pthread_join(thread, NULL));
}

static void look_for_newer(void)
{
	uint64_t expected = load(&epoch);

	CHECK(*page >= expected);
}

/* Every page of the file holds its own number; main maps the next one over the last. */
static void remapped(void)
{
	int fd = memfd_create("pages", 0);
	pthread_t thread;

	for (uint64_t i = 0; i <= ROUNDS; i++)
		CHECK(pwrite(fd, &i, sizeof(i), i * PAGE) == sizeof(i));
	CHECK(ftruncate(fd, (ROUNDS + 1) * PAGE) == 0);
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	store(&epoch, 0);
	thread = start_reader(look_for_newer);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		CHECK(mmap((void *)page, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED | (i % 2 ? MAP_POPULATE : 0), fd, i * PAGE) == (void *)page);
		store(&epoch, i);
		let_it_look();
	}
	join_reader(thread);
	CHECK(munmap((void *)page, PAGE) == 0 && close(fd) == 0);
	say("a page mapped over another is seen\n");
}

/* Even epoch: the page was given back and must read as zero. Odd: it may have any content. */
static void look_for_zero(void)
{
	uint64_t before = load(&epoch), value = *page;

	if (before == load(&epoch) && before % 2 == 0)
		CHECK(value == 0);
}

static void discarded(void)
{
	pthread_t thread;

	page = (void *)private_pages(1);
	store(&epoch, 0);
	thread = start_reader(look_for_zero);
	for (int i = 0; i < ROUNDS; i++) {
		store(&epoch, load(&epoch) + 1);
		*page = 0xdeadbeef;
		let_it_look();
		CHECK(madvise((void *)page, PAGE, MADV_DONTNEED) == 0);
		store(&epoch, load(&epoch) + 1);
		let_it_look();
	}
	join_reader(thread);
	CHECK(munmap((void *)page, PAGE) == 0);
	say("a page given back reads as zero\n");
}

/* A new page is filled, then moved over the reader's page: the reader must see the new one. */
static void moved(void)
{
	char *arena = private_pages(3), *a = arena, *b = arena + PAGE;
	pthread_t thread;

	page = (void *)a;
	*page = 0;
	store(&epoch, 0);
	thread = start_reader(look_for_newer);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		CHECK(mmap(b, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == b);
		*(uint64_t *)b = i;
		CHECK(mremap(b, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a) == a);
		store(&epoch, i);
		let_it_look();
	}
	join_reader(thread);
	CHECK(munmap(arena, 3 * PAGE) == 0);
	say("a page moved over another is seen\n");
}

static void look_by_calling(void)
{
	uint64_t expected = load(&epoch);

	CHECK(((uint64_t (*)(void))page)() >= expected);
}

/* The same for instructions: every page is a function that returns its number. */
static void code_replaced(void)
{
	int fd = memfd_create("code", 0);
	pthread_t thread;

	for (uint32_t i = 0; i <= ROUNDS; i++) {
		unsigned char code[6] = { 0xb8, i, i >> 8, 0, 0, 0xc3 };	/* mov $i,%eax; ret */

		CHECK(pwrite(fd, code, sizeof(code), i * PAGE) == sizeof(code));
	}
	page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	store(&epoch, 0);
	thread = start_reader(look_by_calling);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		CHECK(mmap((void *)page, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, i * PAGE) == (void *)page);
		store(&epoch, i);
		let_it_look();
	}
	join_reader(thread);
	say("code mapped over other code is run\n");
}

/* No thread may reach an unmapped frame after it is used again. */
static volatile uint64_t *window;

static void look_through_window(void)
{
	uint64_t value = *window;

	CHECK(value == 0 || value == 1);
}

static void frames_reused(void)
{
	pthread_t thread;

	window = (void *)private_pages(1);
	thread = start_reader(look_through_window);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t *others;

		*window = 1;
		let_it_look();
		CHECK(mmap((void *)window, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)window);
		others = (void *)private_pages(8);
		for (int j = 0; j < 8 * PAGE / 8; j++)
			others[j] = 0x5ec2e7;
		let_it_look();
		CHECK(munmap(others, 8 * PAGE) == 0);
	}
	join_reader(thread);
	say("no frame is seen through an old mapping\n");
}

int main(void)
{
	PART(remapped);
	PART(discarded);
	PART(moved);
	PART(code_replaced);
	PART(frames_reused);
	return 0;
}
