/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * killer COUNT SEED VICTIM [process|thread|launcher|any [own|all [WAY]]]: starts the
 * victim on the partition in each of its ways, or in one, and kills it at a random instant,
 * COUNT times: the process, one of its threads, or the launcher before it has
 * executed the victim. Each must end by SIGKILL and by nothing else; at the end
 * nothing may be hosted. With `own` its memory is in a range, with `all` its data
 * too. The runner's timeout ends a wait that never ends.
 */
#include "door.h"

#include <dirent.h>

static const char *const ways[] = { "compute", "calls", "faults", "forks", "threads", "signals" };
static const char *only;	/* NULL: any of them */
/* The number of threads of the victim, in any of its ways, that do not end; they are older than those that do. */
enum { LASTING = 6 };

static uint64_t random_state;
static uint32_t memory;

static uint64_t below(uint64_t limit)
{
	return next_random(&random_state) % limit;
}

/* The child becomes the victim. @early: it may be killed already around its request. */
static pid_t start(const char *victim, uint32_t flags)
{
	const char *way = only ? only : ways[below(6)];
	pid_t pid = fork();
	int door;

	if (pid)
		return pid;
	door = open_door();
	if (door < 0 || host_self(door, flags | memory))
		_exit(100 + (errno & 63));
	execl(victim, victim, way, NULL);
	_exit(99);
}

/* Some thread of @pid, or @pid itself if it has none left. Chooses among the oldest: a short-lived thread may already
 * exit, and a signal that an exiting thread takes has no effect. */
static pid_t some_thread(pid_t pid)
{
	pid_t chosen = pid;
	struct dirent *entry;
	char path[64];
	int seen = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && seen < LASTING && (entry = readdir(tasks)))
		if (atoi(entry->d_name) > 0 && !below(++seen))
			chosen = atoi(entry->d_name);
	if (tasks)
		closedir(tasks);
	return chosen;
}

static void kill_one(pid_t pid, const char *whom)
{
	int choice = !strcmp(whom, "process") ? 0 : !strcmp(whom, "thread") ? 1 :
		     !strcmp(whom, "launcher") ? 2 : (int)below(3);

	sleep_us(choice == 2 ? below(8000) : below(60000));
	if (choice == 1 && !syscall(SYS_tgkill, pid, some_thread(pid), SIGKILL))
		return;
	/* If the thread has just ended, the signal goes to the process. */
	if (kill(pid, SIGKILL))
		fail("kill %d: %s", pid, strerror(errno));
}

int main(int count, char **words)
{
	int left = count > 3 ? atoi(words[1]) : 0, together = 3;
	const char *whom = count > 4 ? words[4] : "any";
	struct tacet_status status = { .revision = TACET_ABI_REVISION };
	int door = open_door(), result, waited = 0;

	if (left <= 0 || door < 0)
		fail("killer: COUNT SEED VICTIM, and a module");
	random_state = strtoull(words[2], NULL, 0) | 1;
	printf("seed %s\n", words[2]);
	memory = count > 5 ? TACET_HOST_RANGE : 0;
	if (memory && !strcmp(words[5], "all"))
		memory |= TACET_HOST_DATA_IN_RANGE;
	only = count > 6 ? words[6] : NULL;
	while (left > 0) {
		pid_t pids[3];

		for (int i = 0; i < together; i++)
			pids[i] = start(words[3], below(2) ? TACET_HOST_FOLLOW : 0);
		for (int i = 0; i < together; i++)
			kill_one(pids[i], whom);
		for (int i = 0; i < together; i++, left--) {
			if (waitpid(pids[i], &result, 0) != pids[i])
				fail("victim %d: not to be waited for", pids[i]);
			if (!WIFSIGNALED(result) || WTERMSIG(result) != SIGKILL)
				fail("victim %d: ended with %#x before it was killed, %d to go",
				     pids[i], result, left);
		}
	}
	/* Children of killed parents end by themselves. */
	do
		sleep_us(10000);
	while (!ioctl(door, TACET_STATUS, &status) && status.hosted_threads && ++waited < 3000);
	if (status.hosted_threads)
		fail("%u threads stay hosted", status.hosted_threads);
	return 0;
}
