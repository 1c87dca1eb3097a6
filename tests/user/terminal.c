/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A terminal: keys that send signals to spinning programs, job control, hang-up. */
#include "check.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

static volatile long *shared;	/* [0] progress, [1] signals seen, [2] a pid */
static int master;

static void count(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	if (sig == SIGWINCH || sig == SIGHUP)
		shared[1] = sig;
}

/* A child in the foreground of its own terminal. */
static pid_t on_terminal(void (*fn)(void))
{
	int slave;
	pid_t pid;

	CHECK(openpty(&master, &slave, NULL, NULL, NULL) == 0);
	shared[0] = shared[1] = shared[2] = 0;
	pid = fork();
	if (pid == 0) {
		close(master);
		CHECK(setsid() == getpid() && ioctl(slave, TIOCSCTTY, 0) == 0);
		CHECK(dup2(slave, 0) == 0 && tcgetpgrp(0) == getpgrp());
		fn();
		_exit(0);
	}
	close(slave);
	return pid;
}

static void spin(void)
{
	for (;;)
		shared[0]++;
}

static void let_it_spin(void)
{
	long since = shared[0];

	while (shared[0] == since)
		sleep_ms(1);
}

static void press(const char *keys)
{
	CHECK(write(master, keys, strlen(keys)) == (ssize_t)strlen(keys));
}

static void keys(void)
{
	pid_t pid = on_terminal(spin);
	int status;

	let_it_spin();
	press("\003");
	CHECK(waitpid(pid, &status, 0) == pid && killed_by(status, SIGINT) && close(master) == 0);
	pid = on_terminal(spin);
	let_it_spin();
	press("\034");
	CHECK(waitpid(pid, &status, 0) == pid && killed_by(status, SIGQUIT) && close(master) == 0);
	say("keys end a spinning program\n");
}

/* A session with one job, which a key stops and which is continued, in the foreground and in the background. */
static void session(void)
{
	int status;
	pid_t job;

	signal(SIGTTOU, SIG_IGN);
	job = fork();
	if (job == 0) {
		setpgid(0, 0);
		signal(SIGTTOU, SIG_DFL);
		spin();
	}
	CHECK(setpgid(job, job) == 0 && tcsetpgrp(0, job) == 0);
	shared[2] = job;
	CHECK(waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
	CHECK(tcsetpgrp(0, getpgrp()) == 0 && kill(-job, SIGCONT) == 0);
	shared[2] = -1;
	CHECK(waitpid(job, &status, 0) == job && killed_by(status, SIGINT));
}

static void jobs(void)
{
	pid_t pid = on_terminal(session);
	long job;
	int status;

	while (shared[2] <= 0)
		sleep_ms(1);
	job = shared[2];
	let_it_spin();
	press("\032");
	while (shared[2] > 0)
		sleep_ms(1);
	let_it_spin();
	CHECK(ioctl(master, TIOCGPGRP, &status) == 0 && status == pid);
	CHECK(kill((pid_t)-job, SIGINT) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0 && close(master) == 0);
	say("a job stops and continues\n");
}

static void wait_for_size(void)
{
	struct winsize size;

	on_signal(SIGWINCH, count, 0);
	shared[0] = 1;
	while (shared[1] != SIGWINCH)
		;
	CHECK(ioctl(0, TIOCGWINSZ, &size) == 0 && size.ws_row == 33 && size.ws_col == 77);
	on_signal(SIGHUP, count, 0);
	shared[0] = 2;
	while (shared[1] != SIGHUP)
		;
	_exit(12);
}

static void size_and_hangup(void)
{
	struct winsize size = { 33, 77, 0, 0 };
	pid_t pid = on_terminal(wait_for_size);
	int status;

	while (shared[0] != 1)
		sleep_ms(1);
	CHECK(ioctl(master, TIOCSWINSZ, &size) == 0);
	while (shared[0] != 2)
		sleep_ms(1);
	CHECK(close(master) == 0 && waitpid(pid, &status, 0) == pid && exited_with(status, 12));
	say("new size and hang-up\n");
}

static void read_line(void)
{
	char line[32];
	struct termios raw;

	CHECK(read(0, line, 32) == 5 && !memcmp(line, "abcd\n", 5));
	CHECK(tcgetattr(0, &raw) == 0);
	cfmakeraw(&raw);
	CHECK(tcsetattr(0, TCSANOW, &raw) == 0);
	shared[0] = 1;
	CHECK(read(0, line, 1) == 1 && line[0] == 3);
}

static void lines(void)
{
	pid_t pid = on_terminal(read_line);
	int status;

	press("abxx\177\177cd\n");
	while (shared[0] != 1)
		sleep_ms(1);
	press("\003");
	CHECK(waitpid(pid, &status, 0) == pid && status == 0 && close(master) == 0);
	say("lines and raw keys\n");
}

int main(void)
{
	shared = shared_memory(4096);
	PART(keys);
	PART(jobs);
	PART(size_and_hangup);
	PART(lines);
	return 0;
}
