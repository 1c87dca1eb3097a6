/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Changes to one part of anonymous memory, while the kernel writes received messages into
 * the rest, or while a pipe holds some of it: no byte may be lost, and no old byte may
 * come back.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>

#define PAGE 4096L

enum { THREADS = 3, BEFORE = 4000, HELD = 8, WORDS = PAGE / sizeof(uint32_t) };

static int received[THREADS], pipes[THREADS][2];
static char *memory;	/* the received messages are at the end; the memory before it is changed */

static uint32_t word_of(uint32_t number, int i)
{
	return number * 2654435761u + i;
}

/* Sends message after message to each thread, at any instant of the changes. */
static void send_all(void)
{
	uint32_t message[WORDS];

	for (uint32_t number = 1;; number++) {
		for (int i = 0; i < (int)WORDS; i++)
			message[i] = word_of(number, i);
		for (int i = 0; i < THREADS; i++) {
			usleep(number * 2654435761u % 8000);
			CHECK(write(pipes[i][1], message, PAGE) == PAGE);
		}
	}
}

/* Waits in the kernel for each message most of the time. */
static void *receive(void *number)
{
	int which = (int *)number - received;
	uint32_t *message = (uint32_t *)(memory + (BEFORE + which) * PAGE);

	while (read(pipes[which][0], message, PAGE) == PAGE) {
		for (int i = 0; i < (int)WORDS; i++)
			CHECK(message[i] == word_of(received[which] + 1, i));
		add(&received[which], 1);
	}
	return NULL;
}

static void until_received(int more)
{
	int before[THREADS];

	for (int i = 0; i < THREADS; i++)
		before[i] = load(&received[i]);
	for (int i = 0; i < THREADS; i++)
		wait_until(load(&received[i]) >= before[i] + more);
}

static void one_round(void)
{
	int fd = memfd_create("between", 0);
	pthread_t threads[THREADS];
	pid_t sender;

	for (int i = 0; i < THREADS; i++)
		CHECK(pipe(pipes[i]) == 0);
	sender = fork();
	if (sender == 0)
		send_all();
	CHECK(sender > 0 && fd >= 0 && ftruncate(fd, PAGE) == 0);
	memory = private_pages(BEFORE + THREADS + 1);
	for (int i = 0; i < BEFORE; i++)
		memory[i * PAGE] = i;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, receive, &received[i]));
	until_received(2);
	/* A request that only Linux can serve: a file in the middle of the memory. */
	CHECK(mmap(memory, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == memory);
	until_received(4);
	CHECK(kill(sender, SIGKILL) == 0 && waitpid(sender, NULL, 0) == sender);
	for (int i = 0; i < THREADS; i++)
		CHECK(close(pipes[i][1]) == 0 && !pthread_join(threads[i], NULL));
	for (int i = 1; i < BEFORE; i++)
		CHECK(memory[i * PAGE] == (char)i);
}

/* Pages that a pipe holds must keep their contents until the pipe is read, whatever is mapped afterwards. */
static void held_meanwhile(void)
{
	int fd = memfd_create("between", 0);
	char *held = private_pages(HELD + 1), *others, seen[PAGE];
	struct iovec vec = {held, HELD * PAGE};
	int ends[2];

	CHECK(pipe(ends) == 0 && fd >= 0 && ftruncate(fd, PAGE) == 0);
	for (int i = 0; i < HELD; i++)
		memset(held + i * PAGE, 'a' + i, PAGE);
	CHECK(vmsplice(ends[1], &vec, 1, 0) == HELD * PAGE);
	CHECK(mmap(held + HELD * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == held + HELD * PAGE);
	for (int i = 0; i < HELD; i++)
		CHECK(held[i * PAGE] == 'a' + i && held[(i + 1) * PAGE - 1] == 'a' + i);
	CHECK(munmap(held, HELD * PAGE) == 0);
	others = private_pages(BEFORE);
	memset(others, 'z', BEFORE * PAGE);
	for (int i = 0; i < HELD; i++) {
		CHECK(read(ends[0], seen, PAGE) == PAGE);
		for (int j = 0; j < PAGE; j++)
			CHECK(seen[j] == 'a' + i);
	}
	for (int i = 0; i < BEFORE; i++)
		CHECK(others[i * PAGE] == 'z');
}

int main(void)
{
	for (int round = 0; round < rounds(5, 10); round++)
		CHILD(one_round, exited_with(status, 0));
	say("all rounds\n");
	CHILD(held_meanwhile, exited_with(status, 0));
	say("a pipe kept %d pages\n", HELD);
	return 0;
}
