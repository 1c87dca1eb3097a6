/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How much memory a program has, as it and its parent can learn: VmRSS, VmHWM, statm, ru_maxrss.
 */
#include <sys/resource.h>

#include "check.h"

#define MB (1l << 20)
#define AREA (24 * MB)
#define MOST (AREA - 2 * MB)	/* of it, at least; the rest of the program changes too */

static long status(const char *name)
{
	char line[256];
	long kb = -1;
	FILE *file = fopen("/proc/self/status", "r");

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			kb = atol(line + strlen(name));
	fclose(file);
	CHECK(kb >= 0);
	return kb * 1024;
}

static long statm(void)
{
	long size, resident;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file && fscanf(file, "%ld %ld", &size, &resident) == 2);
	fclose(file);
	return resident * 4096;
}

static long peak(int who)
{
	struct rusage usage;

	CHECK(!getrusage(who, &usage));
	return usage.ru_maxrss * 1024;
}

static char *touched(long bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	memset(at, 1, bytes);
	return at;
}

static void own(void)
{
	long before = status("VmRSS:"), pages = statm();
	char *at = touched(AREA);

	CHECK(status("VmRSS:") >= before + MOST && statm() >= pages + MOST);
	CHECK(status("VmHWM:") >= before + MOST && peak(RUSAGE_SELF) >= before + MOST);
	say("it grows\n");
	CHECK(!munmap(at, AREA));
	CHECK(status("VmRSS:") < before + MOST && statm() < pages + MOST);
	CHECK(status("VmHWM:") >= before + MOST && peak(RUSAGE_SELF) >= before + MOST);
	say("it shrinks, and its peak does not\n");
}

/* Nobody asks while the child has most. */
static void of_children(void)
{
	long before = peak(RUSAGE_CHILDREN);
	pid_t child = fork();
	int status;

	if (!child) {
		munmap(touched(2 * AREA), 2 * AREA);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
	CHECK(before < AREA && peak(RUSAGE_CHILDREN) >= 2 * AREA);
	say("a child's peak\n");
}

int main(void)
{
	own();
	of_children();
	return 0;
}
