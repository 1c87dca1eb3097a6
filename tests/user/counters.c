/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Performance events: of this program, of a child that inherits them, and of a child that already computes when the
 * counting begins. They count page faults exactly, in the memory of a file.
 */
#include "check.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#define PAGE 4096ul
#define PAGES 100ul

struct shared {
	volatile int counted, touched;
	volatile unsigned long rounds;
};

static struct shared *shared;

static int open_event(unsigned int type, unsigned long which, pid_t pid, int inherit)
{
	struct perf_event_attr about = {
		.type = type, .size = sizeof(about), .config = which, .inherit = inherit, .exclude_hv = 1,
	};
	int event = syscall(SYS_perf_event_open, &about, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	CHECK(event >= 0);
	return event;
}

static int count_faults(pid_t pid, int inherit)
{
	return open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, pid, inherit);
}

static uint64_t value(int event)
{
	uint64_t value;

	CHECK(read(event, &value, sizeof(value)) == sizeof(value));
	return value;
}

/* There are as many faults as pages. */
static char *map(void)
{
	int file = memfd_create("counters", 0);
	char *p;

	CHECK(file >= 0 && ftruncate(file, PAGES * PAGE) == 0);
	p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(p != MAP_FAILED && close(file) == 0);
	return p;
}

static void touch(char *p)
{
	unsigned long i;

	for (i = 0; i < PAGES; i++)
		((volatile char *)p)[i * PAGE] = 1;
}

static void itself(void)
{
	int event = count_faults(0, 0);
	char *p = map();
	uint64_t before = value(event);

	touch(p);
	CHECK(value(event) - before == PAGES);
	CHECK(ioctl(event, PERF_EVENT_IOC_DISABLE, 0) == 0);
	before = value(event);
	CHECK(munmap(p, PAGES * PAGE) == 0);
	p = map();
	touch(p);
	CHECK(value(event) == before && close(event) == 0 && munmap(p, PAGES * PAGE) == 0);
	say("itself\n");
}

static void touches(void)
{
	touch(map());
}

static void children(void)
{
	int event = count_faults(0, 1);
	uint64_t before = value(event);

	CHECK(exited_with(child_status(touches), 0));
	CHECK(value(event) - before >= PAGES && close(event) == 0);
	say("children\n");
}

static void computes(void)
{
	char *p = map();

	while (!shared->counted)
		shared->rounds++;
	touch(p);
	shared->touched = 1;
	for (;;)
		shared->rounds++;
}

/* If it computed on a CPU that does not count, this time would be missing. */
static void who_computes(void)
{
	pid_t child = fork();
	int event, clock;
	uint64_t before;

	CHECK(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		computes();
	}
	while (shared->rounds < 1000)
		sched_yield();
	event = count_faults(child, 0);
	clock = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, child, 0);
	/* Wherever the child runs, it must move to a CPU that counts. */
	before = value(clock);
	while (value(clock) - before < 300000000)
		usleep(10000);
	before = value(event);
	shared->counted = 1;
	while (!shared->touched)
		usleep(1000);
	/* for example of a stack page that it had not touched there */
	before = value(event) - before;
	CHECK(before >= PAGES && before < PAGES + 10);
	CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
	CHECK(close(event) == 0 && close(clock) == 0);
	say("who computes already\n");
}

int main(void)
{
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* its memory may have been populated at its start */
	CHECK(shared != MAP_FAILED && munlockall() == 0);
	PART(itself);
	PART(children);
	PART(who_computes);
	return 0;
}
