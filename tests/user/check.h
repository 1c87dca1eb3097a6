/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The common part of all test programs. A program checks facts with CHECK and
 * prints one fixed line for each group; the lines are compared with NAME.expected.
 * Output goes straight to the descriptor, so nothing is printed twice after
 * a fork and nothing is lost when a child dies.
 *
 * No wait here has a time limit: if an event never comes, the program hangs, and
 * the runner's timeout turns this into a failure.
 */
#ifndef TACET_TESTS_USER_CHECK_H
#define TACET_TESTS_USER_CHECK_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(cond) \
	do { if (!(cond)) check_failed(__FILE__, __LINE__, #cond); } while (0)

/* A call that must fail with this errno. */
#define CHECK_ERRNO(call, want) \
	do { errno = 0; CHECK((long)(call) == -1); CHECK(errno == (want)); } while (0)

#define say(...) dprintf(STDOUT_FILENO, __VA_ARGS__)

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* How often something is tried: with FULL=1 as often as `full` says. */
static inline int rounds(int usual, int full)
{
	const char *all = getenv("FULL");

	return all && !strcmp(all, "1") ? full : usual;
}

static inline void check_failed(const char *file, int line, const char *cond)
{
	int error = errno;

	say("%s:%d: check failed: %s (errno %d)\n", file, line, cond, error);
	_exit(1);
}

/*
 * Run fn in a child that does not outlive us; returns its wait status. With TEST_ALONE, for systems without children,
 * it runs in this process, which ends as the child would.
 */
static inline int child_status(void (*fn)(void))
{
	int status;
	pid_t pid;

	if (getenv("TEST_ALONE")) {
		fn();
		_exit(0);
	}
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

/* A part of the program, which a test may choose: TEST_PARTS=a,b is only these, TEST_PARTS=-a,b all but these. */
#define PART(part) \
	do { if (is_chosen(#part)) part(); } while (0)

static inline int is_chosen(const char *part)
{
	const char *parts = getenv("TEST_PARTS"), *end;
	size_t length = strlen(part);
	int others;

	if (!parts)
		return 1;
	others = *parts == '-';
	for (parts += others; *parts; parts = end + !!*end) {
		end = strchrnul(parts, ',');
		if ((size_t)(end - parts) == length && !strncmp(parts, part, length))
			return !others;
	}
	return others;
}

/* A part that needs a child, and what its wait status must be. */
#define CHILD(part, ends) \
	do { \
		if (is_chosen(#part)) { \
			int status = child_status(part); \
			CHECK(ends); \
		} \
	} while (0)

static inline int exited_with(int status, int code)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static inline int killed_by(int status, int sig)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

static inline void on_signal(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags };

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static inline int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	CHECK(clock_gettime(clock, &ts) == 0);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static inline void sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Memory that a child shares with its parent. */
static inline void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static inline char *private_pages(size_t pages)
{
	char *p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* An address about which the compiler can assume nothing. */
static inline void *wild(uintptr_t address)
{
	asm("" : "+r"(address));
	return (void *)address;
}

#define load(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define add(p, v) __atomic_add_fetch((p), (v), __ATOMIC_SEQ_CST)

/* Wait for another thread; yield, because it may need this CPU. */
#define wait_until(cond) do { while (!(cond)) sched_yield(); } while (0)

/*
 * How many threads may spin without yielding while this one works: one less
 * than the CPUs if there are at least two, and never more than max.
 */
static inline int spinners(int max)
{
	cpu_set_t set;
	int cpus;

	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
	cpus = CPU_COUNT(&set) - 1;
	return cpus < 1 ? 1 : cpus > max ? max : cpus;
}

#endif
