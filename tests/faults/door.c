/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * door: sends one request to the module, and prints "ok" or the name of the errno;
 * exit status 0 or 1. Called by the scripts here.
 *
 *   door status                    STATE HOSTED-THREADS PROCESSES UPS
 *   door decouple PID [CPU]        door recouple PID     door move TID CPU
 *   door follow PID                decouple, with children
 *   door list                      pid tgid cpu place name
 *   door run [-f] PROGRAM...       host this process, then execute
 *   door down                      without force
 *   door test CPU NUMBER           damage
 */
#include "door.h"

static int answer(int result)
{
	printf("%s\n", result ? strerrorname_np(errno) : "ok");
	return result != 0;
}

static int status(int door)
{
	struct tacet_status request = { .revision = TACET_ABI_REVISION };

	if (ioctl(door, TACET_STATUS, &request))
		return answer(-1);
	printf("%u %u %u %u\n", request.state, request.hosted_threads, request.hosted_processes,
	       request.up_count);
	return 0;
}

static int list(int door)
{
	static struct tacet_thread threads[4096];
	struct tacet_list request = {
		.revision = TACET_ABI_REVISION, .capacity = 4096, .address = (uintptr_t)threads,
	};

	if (ioctl(door, TACET_LIST, &request))
		return answer(-1);
	for (unsigned int i = 0; i < request.count; i++)
		printf("%d %d %u %u %.16s\n", threads[i].pid, threads[i].tgid, threads[i].cpu,
		       threads[i].place, threads[i].name);
	return 0;
}

static int run(int door, char **words)
{
	int follow = words[0] && !strcmp(words[0], "-f");

	if (host_self(door, follow ? TACET_HOST_FOLLOW : 0))
		return answer(-1);
	execvp(words[follow], words + follow);
	return answer(-1);
}

static int down(int door)
{
	struct tacet_down request = { .revision = TACET_ABI_REVISION };

	return answer(ioctl(door, TACET_DOWN, &request));
}

static int test(int door, char **words)
{
	struct tacet_test_hook request = {
		.revision = TACET_ABI_REVISION, .cpu = atoi(words[0]), .test = atoi(words[1]),
	};

	return answer(ioctl(door, TACET_TEST, &request));
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "";
	int pid = count > 2 ? atoi(words[2]) : 0, door = open_door();

	if (door < 0)
		return answer(-1);
	if (!strcmp(what, "status"))
		return status(door);
	if (!strcmp(what, "decouple") && count > 2)
		return answer(decouple(door, pid, count > 3 ? (uint32_t)atoi(words[3]) : TACET_ANY_CPU, 0));
	if (!strcmp(what, "follow") && count > 2)
		return answer(decouple(door, pid, TACET_ANY_CPU, TACET_DECOUPLE_FOLLOW));
	if (!strcmp(what, "move") && count > 3)
		return answer(decouple(door, pid, atoi(words[3]), TACET_DECOUPLE_THREAD));
	if (!strcmp(what, "recouple") && count > 2)
		return answer(recouple(door, pid, 0));
	if (!strcmp(what, "list"))
		return list(door);
	if (!strcmp(what, "run") && count > 2)
		return run(door, words + 2);
	if (!strcmp(what, "down"))
		return down(door);
	if (!strcmp(what, "test") && count > 3)
		return test(door, words + 2);
	fprintf(stderr, "door: see its source\n");
	return 2;
}
