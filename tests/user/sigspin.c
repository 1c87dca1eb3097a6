/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Signals to code that never makes a system call: the loops below notice them
 * only if they are interrupted.
 */
#include "check.h"

#include <pthread.h>
#include <sys/time.h>

static volatile int rang;
static int running, stop;
static volatile uint64_t *progress;

static void ring(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	rang++;
}

static void alarms(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, off = { 0 };

	on_signal(SIGALRM, ring, 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (rang < 30)
		;
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	say("an alarm ends a loop\n");
}

static void from_outside(void)
{
	pid_t parent = getpid(), pid;
	int status;

	rang = 0;
	on_signal(SIGUSR1, ring, 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 5; i++) {
			sleep_ms(2);
			CHECK(kill(parent, SIGUSR1) == 0);
		}
		_exit(0);
	}
	while (!rang)
		;
	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR);
	say("another process ends a loop\n");
}

static __thread int hits;
static int hit_by[4];

static void hit(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	CHECK(info->si_pid == getpid());
	hits++;
}

static void *spin_until_hit(void *me)
{
	add(&running, 1);
	while (!*(volatile int *)&hits)
		;
	store(&hit_by[(long)me], hits);
	while (!load(&stop))
		;
	CHECK(hits == 1);
	return NULL;
}

/* A signal for a certain thread reaches it once, and no other thread. */
static void to_one_thread(void)
{
	pthread_t threads[4];
	int n = spinners(4);

	on_signal(SIGUSR2, hit, 0);
	for (long i = 0; i < n; i++)
		CHECK(!pthread_create(&threads[i], NULL, spin_until_hit, (void *)i));
	wait_until(load(&running) == n);
	for (int i = n - 1; i >= 0; i--) {
		CHECK(load(&hit_by[i]) == 0 && !pthread_kill(threads[i], SIGUSR2));
		wait_until(load(&hit_by[i]) == 1);
	}
	store(&stop, 1);
	for (int i = 0; i < n; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(hits == 0);
	say("a signal for one thread\n");
}

static pid_t start_spinning_child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(*progress)++;
	}
	return pid;
}

static void let_it_spin(void)
{
	uint64_t since = *progress;

	while (*progress == since)
		sleep_ms(1);
}

static void stop_and_continue(void)
{
	uint64_t stopped_at;
	int status;
	pid_t pid = start_spinning_child();

	for (int i = 0; i < 5; i++) {
		let_it_spin();
		CHECK(kill(pid, SIGSTOP) == 0 && waitpid(pid, &status, WUNTRACED) == pid);
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
		stopped_at = *progress;
		sleep_ms(3);
		CHECK(*progress == stopped_at);
		CHECK(kill(pid, SIGCONT) == 0 && waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
	}
	let_it_spin();
	CHECK(kill(pid, SIGTERM) == 0 && waitpid(pid, &status, 0) == pid && killed_by(status, SIGTERM));
	say("a spinning process stops, continues, terminates\n");
}

static void kills(void)
{
	int status;

	for (int i = 0; i < 10; i++) {
		pid_t pid = start_spinning_child();

		if (i % 2)
			let_it_spin();
		CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && killed_by(status, SIGKILL));
	}
	say("spinning processes are killed\n");
}

static void *spin_forever(void *unused)
{
	add(&running, 1);
	for (;;)
		(*progress)++;
	return unused;
}

static void kill_many(void)
{
	pthread_t thread;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int n = spinners(3);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < n; i++)
			CHECK(!pthread_create(&thread, NULL, spin_forever, NULL));
		for (;;)
			pause();
	}
	let_it_spin();
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && killed_by(status, SIGKILL));
	say("spinning threads are killed\n");
}

int main(void)
{
	progress = shared_memory(4096);
	PART(alarms);
	PART(from_outside);
	PART(to_one_thread);
	PART(stop_and_continue);
	PART(kills);
	PART(kill_many);
	return 0;
}
