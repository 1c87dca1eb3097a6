/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A debugger that attaches to running programs: to spinning threads, and across forks, clones, execs and signals. */
#include "check.h"

#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/user.h>

static volatile long *shared;	/* [0] the child's progress, [1] tells it to stop */
static pid_t *tids;

static int wait_status(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, __WALL) == pid);
	return status;
}

static int stop_of(int status)
{
	CHECK(WIFSTOPPED(status));
	return status >> 8;
}

static pid_t spawn(void (*fn)(void))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	shared[1] = 0;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn();
		_exit(0);
	}
	return pid;
}

static void let_it_run(void)
{
	long since = shared[0];

	while (shared[0] == since)
		sleep_ms(1);
}

/* Counts in a register too, so that a debugger can change the loop. */
static void spin(void)
{
	asm volatile("mov %0, %%r13\n xor %%ebx, %%ebx\n1: incq (%%r13)\n test %%rbx, %%rbx\n jz 1b" : : "r"(shared) : "rbx", "r13", "memory", "cc");
	_exit(50);
}

static void seize_and_interrupt(void)
{
	struct user_regs_struct regs;
	pid_t pid = spawn(spin);
	long before;

	let_it_run();
	CHECK(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) == 0);
	for (int i = 0; i < 5; i++) {
		let_it_run();
		CHECK(ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0);
		CHECK(stop_of(wait_status(pid)) == (SIGTRAP | PTRACE_EVENT_STOP << 8));
		before = shared[0];
		sleep_ms(2);
		CHECK(shared[0] == before && ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0);
		CHECK((volatile long *)regs.r13 == shared && regs.rbx == 0);
		if (i == 4) {
			regs.rbx = 1;
			CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == 0);
		}
		CHECK(ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	}
	CHECK(exited_with(wait_status(pid), 50));
	say("seized and interrupted\n");
}

static void attach_and_detach(void)
{
	pid_t pid = spawn(spin);

	for (int i = 0; i < 5; i++) {
		let_it_run();
		CHECK(ptrace(PTRACE_ATTACH, pid, 0, 0) == 0 && stop_of(wait_status(pid)) == SIGSTOP);
		CHECK(ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0 && stop_of(wait_status(pid)) == SIGTRAP);
		CHECK(ptrace(PTRACE_DETACH, pid, 0, 0) == 0);
	}
	let_it_run();
	CHECK(kill(pid, SIGKILL) == 0 && killed_by(wait_status(pid), SIGKILL));
	say("attached and detached\n");
}

static void *spin_thread(void *slot)
{
	store(&tids[(long)slot], gettid());
	while (!load(&shared[1]))
		add(&shared[0], 1);
	return NULL;
}

static void several(void)
{
	pthread_t threads[2];
	int n = spinners(2);

	for (long i = 0; i < n; i++)
		CHECK(!pthread_create(&threads[i], NULL, spin_thread, (void *)i));
	for (int i = 0; i < n; i++)
		CHECK(!pthread_join(threads[i], NULL));
	_exit(51);
}

static void each_thread(void)
{
	int n = spinners(2);
	pid_t pid = spawn(several);
	long before;

	for (int i = 0; i < n; i++)
		while (!load(&tids[i]))
			sleep_ms(1);
	CHECK(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0);
	for (int i = 0; i < n; i++)
		CHECK(ptrace(PTRACE_SEIZE, tids[i], 0, 0) == 0);
	let_it_run();
	for (int i = 0; i < n; i++) {
		CHECK(ptrace(PTRACE_INTERRUPT, tids[i], 0, 0) == 0);
		CHECK(stop_of(wait_status(tids[i])) == (SIGTRAP | PTRACE_EVENT_STOP << 8));
	}
	before = shared[0];
	sleep_ms(2);
	CHECK(shared[0] == before);
	for (int i = 0; i < n; i++)
		CHECK(ptrace(PTRACE_DETACH, tids[i], 0, 0) == 0);
	let_it_run();
	store(&shared[1], 1);
	CHECK(exited_with(wait_status(pid), 51));
	say("each thread alone\n");
}

static void *trivial(void *unused)
{
	return unused;
}

static void all_events(void)
{
	pthread_t thread;

	CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
	raise(SIGSTOP);
	CHECK(!pthread_create(&thread, NULL, trivial, NULL) && !pthread_join(thread, NULL));
	if (fork() == 0)
		_exit(1);
	wait(NULL);
	if (vfork() == 0)
		_exit(2);
	wait(NULL);
	raise(SIGUSR1);		/* the debugger suppresses it */
	execl("/bin/sh", "sh", "-c", "exit 52", NULL);
}

/* Events come in the order of the program, whatever its children do in between. */
static void events(void)
{
	const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
	static const int expected[] = { PTRACE_EVENT_CLONE, PTRACE_EVENT_FORK, PTRACE_EVENT_VFORK, 0, PTRACE_EVENT_EXEC, PTRACE_EVENT_EXIT };
	pid_t pid = spawn(all_events), who;
	unsigned next = 0;
	int others = 0, status, dead = 0;

	CHECK(stop_of(wait_status(pid)) == SIGSTOP && ptrace(PTRACE_SETOPTIONS, pid, 0, options) == 0);
	CHECK(ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	while (!dead || others < 3) {
		int sig = 0;

		who = waitpid(-1, &status, __WALL);
		CHECK(who > 0);
		if (!WIFSTOPPED(status)) {
			if (who == pid) {
				CHECK(exited_with(status, 52));
				dead = 1;
			} else {
				others++;
			}
			continue;
		}
		if (who == pid && (status >> 16 || WSTOPSIG(status) == SIGUSR1))
			CHECK(next < ARRAY_LENGTH(expected) && expected[next++] == status >> 16);
		else if (who == pid)
			sig = WSTOPSIG(status);
		CHECK(ptrace(PTRACE_CONT, who, 0, sig) == 0);
	}
	CHECK(next == ARRAY_LENGTH(expected));
	say("events\n");
}

static void spin_with_handler(void)
{
	signal(SIGUSR1, SIG_IGN);
	spin();
}

/* A signal for a traced, spinning process reaches the debugger first. */
static void signals(void)
{
	pid_t pid = spawn(spin_with_handler);
	siginfo_t info;

	let_it_run();
	CHECK(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 && sigqueue(pid, SIGUSR2, (union sigval){ .sival_int = 5 }) == 0);
	CHECK(stop_of(wait_status(pid)) == SIGUSR2);
	CHECK(ptrace(PTRACE_GETSIGINFO, pid, 0, &info) == 0 && info.si_int == 5 && info.si_pid == getpid());
	CHECK(ptrace(PTRACE_CONT, pid, 0, SIGUSR1) == 0);	/* the child ignores SIGUSR1 */
	let_it_run();
	CHECK(kill(pid, SIGTERM) == 0 && stop_of(wait_status(pid)) == SIGTERM && ptrace(PTRACE_CONT, pid, 0, SIGTERM) == 0);
	CHECK(killed_by(wait_status(pid), SIGTERM));
	say("signals\n");
}

int main(void)
{
	shared = shared_memory(4096);
	tids = shared_memory(4096);
	PART(seize_and_interrupt);
	PART(attach_and_detach);
	PART(each_thread);
	PART(events);
	PART(signals);
	return 0;
}
