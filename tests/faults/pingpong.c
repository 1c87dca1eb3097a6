/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * pingpong COUNT SEED CPU CPU PID...: moves the processes to the partition, to
 * one CPU or the other, and back, in any order; no move may be refused. At the
 * end all are on Linux.
 */
#include "door.h"

int main(int count, char **words)
{
	int rounds = count > 5 ? atoi(words[1]) : 0, processes = count - 5, door = open_door();
	uint64_t state = count > 5 ? strtoull(words[2], NULL, 0) | 1 : 0;

	if (!rounds || door < 0)
		fail("pingpong: COUNT SEED CPU CPU PID..., and a module");
	printf("seed %s\n", words[2]);
	while (rounds--) {
		pid_t pid = atoi(words[5 + next_random(&state) % processes]);
		uint64_t choice = next_random(&state) % 3;
		uint32_t cpu = choice == 2 ? TACET_ANY_CPU : (uint32_t)atoi(words[3 + choice]);

		if (decouple(door, pid, cpu, 0))
			fail("decouple %d: %s", pid, strerror(errno));
		sleep_us(next_random(&state) % 20000);
		if (next_random(&state) % 2 && recouple(door, pid, 0))
			fail("recouple %d: %s", pid, strerror(errno));
		sleep_us(next_random(&state) % 5000);
	}
	for (int i = 0; i < processes; i++)
		if (recouple(door, atoi(words[5 + i]), 0) && errno != ESRCH)
			fail("recouple %s: %s", words[5 + i], strerror(errno));
	return 0;
}
