/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * churn ROUNDS SEED: creates processes with a few threads that end quickly, while
 * two other processes decouple, move and recouple them, by process and by thread,
 * also just as they end. Fails on an answer that is not allowed. The script checks
 * that nothing stays hosted.
 */
#include "door.h"

#include <pthread.h>
#include <sys/mman.h>

#define CHILDREN 4

static volatile pid_t *children;	/* shared; main writes, the movers read */

static void *brief(void *argument)
{
	for (int i = 0; i < 20; i++)
		getppid();
	return argument;
}

static void live(uint64_t state)
{
	pthread_t thread;

	for (uint64_t i = next_random(&state) % 4; i; i--)
		if (!pthread_create(&thread, NULL, brief, NULL) && i % 2)
			pthread_join(thread, NULL);
	sleep_us(next_random(&state) % 3000);
	_exit(5);
}

static int allowed(int result)
{
	return !result || errno == ESRCH || errno == EINVAL || errno == ENOSPC || errno == EINTR;
}

static void move_for_ever(uint64_t state)
{
	int door = open_door();

	for (;;) {
		pid_t pid = children[next_random(&state) % CHILDREN];
		uint32_t cpu = 2 + next_random(&state) % 2, alone = next_random(&state) % 2;
		int result;

		if (!pid)
			continue;
		/* A thread's number is often its process's number plus one. */
		pid += next_random(&state) % 4 == 0;
		switch (next_random(&state) % 3) {
		case 0: result = recouple(door, pid, alone); break;
		case 1: result = decouple(door, pid, cpu, alone); break;
		default: result = decouple(door, pid, TACET_ANY_CPU, alone); break;
		}
		if (!allowed(result))
			fail("request about %d: %s", pid, strerror(errno));
	}
}

int main(int count, char **words)
{
	int rounds = count > 2 ? atoi(words[1]) : 0, status, failed = 0;
	uint64_t seed = count > 2 ? strtoull(words[2], NULL, 0) | 1 : 1;
	pid_t movers[2];

	children = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("seed %s\n", words[2]);
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		if (!(movers[i] = fork()))
			move_for_ever(seed + 77 * i);
	while (rounds-- > 0) {
		for (int i = 0; i < CHILDREN; i++) {
			pid_t pid = fork();

			if (!pid)
				live(seed + rounds * 1000003ull + i);
			children[i] = pid;
		}
		for (int i = 0; i < CHILDREN; i++)
			if (waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) ||
			    WEXITSTATUS(status) != 5)
				failed++;
	}
	for (int i = 0; i < 2; i++) {
		kill(movers[i], SIGKILL);
		waitpid(movers[i], &status, 0);
		if (!WIFSIGNALED(status))
			failed++;
	}
	if (failed)
		fail("%d processes ended wrongly", failed);
	return 0;
}
