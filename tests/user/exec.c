/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* execve from the main thread and from others, while siblings run; what survives it and what does not. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/stat.h>

static char self[256];
static int running;

static void run_self(char *role, char *argument)
{
	execv(self, (char *[]){ self, role, argument, NULL });
	CHECK(!"exec");
}

static void *spin(void *unused)
{
	add(&running, 1);
	for (;;)
		;
	return unused;
}

static void *block(void *unused)
{
	add(&running, 1);
	for (;;)
		pause();
	return unused;
}

static void start_siblings(void)
{
	int spinning = spinners(2);
	pthread_t thread;

	for (int i = 0; i < spinning + 3; i++)
		CHECK(!pthread_create(&thread, NULL, i < spinning ? spin : block, NULL));
	wait_until(load(&running) == spinning + 3);
}

static void *exec_in_thread(void *pid)
{
	CHECK(gettid() != getpid());
	run_self("pid", pid);
	return NULL;
}

static char *pid_text(void)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", getpid());
	return text;
}

static void from_main(void)
{
	run_self("pid", pid_text());
}

static void from_main_with_siblings(void)
{
	start_siblings();
	run_self("pid", pid_text());
}

static void from_thread(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, exec_in_thread, pid_text()));
	for (;;)
		pause();
}

static void from_thread_with_siblings(void)
{
	start_siblings();
	from_thread();
}

static void from_thread_while_main_spins(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, exec_in_thread, pid_text()));
	for (;;)
		;
}

static void again_and_again(void)
{
	run_self("count", "20");
}

static void handler(int sig)
{
	(void)sig;
}

static void attributes(void)
{
	sigset_t set;

	CHECK(dup2(0, 50) == 50 && dup3(0, 51, O_CLOEXEC) == 51);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(signal(SIGUSR1, handler) != SIG_ERR && signal(SIGHUP, SIG_IGN) != SIG_ERR);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGUSR2) == 0);
	alarm(1000);
	execve(self, (char *[]){ self, "attributes", "", NULL }, (char *[]){ "ONLY=this", NULL });
}

static int check_attributes(void)
{
	extern char **environ;
	struct sigaction sa;
	sigset_t set;
	char name[16];

	CHECK(fcntl(50, F_GETFD) == 0);
	CHECK_ERRNO(fcntl(51, F_GETFD), EBADF);
	CHECK(sigaction(SIGUSR1, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
	CHECK(sigaction(SIGHUP, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN);
	CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, SIGUSR2));
	CHECK(sigpending(&set) == 0 && sigismember(&set, SIGUSR2));
	CHECK(alarm(0) >= 900 && !strcmp(environ[0], "ONLY=this") && !environ[1]);
	CHECK(prctl(PR_GET_NAME, name) == 0 && strstr(self, name));
	CHECK(!strcmp((char *)getauxval(AT_EXECFN), self));
	return 0;
}

static void scripts(void)
{
	char text[300], *argv[] = { "ignored", "x y", NULL };
	int fd = open("script", O_WRONLY | O_CREAT, 0755);

	CHECK(write(fd, text, snprintf(text, sizeof(text), "#!%s script\n", self)) > 0 && close(fd) == 0);
	execv("./script", argv);
}

static void by_descriptor(void)
{
	char *argv[] = { self, "pid", pid_text(), NULL }, *env[] = { NULL };

	fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, env);
}

static void many_arguments(void)
{
	static char *argv[2003], long_one[100001];

	memset(long_one, 'a', 100000);
	argv[0] = self, argv[1] = "many";
	for (int i = 2; i < 2002; i++)
		argv[i] = i == 1000 ? long_one : "an argument";
	execv(self, argv);
}

static void refused(void)
{
	char *argv[] = { "x", NULL };
	int fd = open("text", O_WRONLY | O_CREAT, 0644);

	CHECK_ERRNO(execv("./none", argv), ENOENT);
	CHECK_ERRNO(execv("./text", argv), EACCES);
	CHECK(write(fd, "\1\2\3\4", 4) == 4 && fchmod(fd, 0755) == 0 && close(fd) == 0);
	CHECK_ERRNO(execv("./text", argv), ENOEXEC);
	CHECK_ERRNO(execv("/", argv), EACCES);
	CHECK_ERRNO(execv(wild(8), argv), EFAULT);
	CHECK(mkdir("dir", 0755) == 0);
	CHECK_ERRNO(execv("./text/x", argv), ENOTDIR);
}

/* The part of the new program; the exit code says which part ran. */
static int as_new_program(int argc, char **argv)
{
	if (!strcmp(argv[1], "pid"))
		return getpid() == atoi(argv[2]) && gettid() == getpid() ? 40 : 1;
	if (!strcmp(argv[1], "count")) {
		char text[16];

		snprintf(text, sizeof(text), "%d", atoi(argv[2]) - 1);
		if (atoi(argv[2]))
			run_self("count", text);
		return 41;
	}
	if (!strcmp(argv[1], "attributes"))
		return check_attributes() ? 1 : 42;
	if (!strcmp(argv[1], "script"))
		return argc == 4 && !strcmp(argv[2], "./script") && !strcmp(argv[3], "x y") ? 43 : 1;
	if (!strcmp(argv[1], "many"))
		return argc == 2002 && strlen(argv[1000]) == 100000 && !strcmp(argv[2001], "an argument") ? 44 : 1;
	return 1;
}

int main(int argc, char **argv)
{
	static const struct { void (*run)(void); int code; const char *what; } cases[] = {
		{ from_main, 40, "from the main thread" },
		{ from_main_with_siblings, 40, "from the main thread, siblings running" },
		{ from_thread, 40, "from another thread" },
		{ from_thread_with_siblings, 40, "from another thread, siblings running" },
		{ from_thread_while_main_spins, 40, "from another thread, the main one spinning" },
		{ again_and_again, 41, "again and again" },
		{ attributes, 42, "attributes" },
		{ scripts, 43, "a script" },
		{ by_descriptor, 40, "by descriptor" },
		{ many_arguments, 44, "many arguments" },
		{ refused, 0, "refused" },
	};

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	if (argc > 1)
		return as_new_program(argc, argv);
	for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
		CHECK(exited_with(child_status(cases[i].run), cases[i].code));
		say("%s\n", cases[i].what);
	}
	return 0;
}
