/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hostile programs, each in a child. Whatever they do, the child ends as on Linux and this program continues. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

static volatile int endlessly = 1;
static int running;

static void close_everything(void)
{
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 10; i++)
		sched_yield();
	_exit(5);
}

/* After this call there is no instruction to run, and no stack for a handler. */
static void unmap_everything(void)
{
	munmap(NULL, 0x7ffffffff000);
	_exit(1);
}

static void protect_everything(void)
{
	char line[256];
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start[200], end[200];
	int n = 0;

	while (n < 200 && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start[n], &end[n]) == 2 && !strstr(line, "[v"))
			n++;
	for (int i = 0; i < n; i++)
		syscall(SYS_mprotect, start[i], end[i] - start[i], PROT_NONE);
	_exit(1);
}

static void fork_bomb(void)
{
	int made = 0, reaped = 0;

	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (i % 10 == 0 && fork() == 0)
				_exit(0);
			_exit(0);
		}
		made += pid > 0;
	}
	while (wait(NULL) > 0)
		reaped++;
	_exit(made == 200 && reaped == 200 ? 6 : 1);
}

static void *nothing(void *unused)
{
	return unused;
}

static void thread_bomb(void)
{
	pthread_attr_t attr;
	pthread_t threads[200];

	CHECK(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, 65536));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 200; i++)
			CHECK(!pthread_create(&threads[i], &attr, nothing, NULL));
		for (int i = 0; i < 200; i++)
			CHECK(!pthread_join(threads[i], NULL));
	}
	_exit(7);
}

static int recurse(volatile char *above)
{
	volatile char here[512];

	here[0] = above[0];
	return endlessly ? recurse(here) + here[0] : 0;
}

static void endless_recursion(void)
{
	volatile char start = 0;

	_exit(recurse(&start));
}

static void jump_to_nowhere(void)
{
	((void (*)(void))wild(0xdeadbeef))();
}

static void jump_into_the_kernel(void)
{
	((void (*)(void))wild(0xffffffff81000000))();
}

static void no_stack(void)
{
	asm volatile("xor %%esp, %%esp\n push %%rax\n hlt" : : : "memory");
}

static void no_stack_for_a_handler(void)
{
	on_signal(SIGSEGV, (void (*)(int, siginfo_t *, void *))wild(0x1000), 0);
	on_signal(SIGALRM, (void (*)(int, siginfo_t *, void *))wild(0x1000), 0);
	ualarm(1000, 0);
	asm volatile("mov $0x10, %%esp\n 1: jmp 1b" : : : "memory");
}

static void wild_sigreturn(void)
{
	asm volatile("mov $15, %%eax\n mov $64, %%esp\n syscall\n hlt" : : : "memory");
}

static void garbage_sigreturn(void)
{
	static uint64_t frame[200] __attribute__((aligned(64)));

	memset(frame, 0xff, sizeof(frame));
	asm volatile("mov %0, %%rsp\n mov $15, %%eax\n syscall\n hlt" : : "r"(frame + 20) : "memory");
}

/* Calls with invalid arguments, and invalid call numbers. */
static void garbage_calls(void)
{
	static const int calls[] = { SYS_open, SYS_stat, SYS_fstat, SYS_lseek, SYS_mmap, SYS_rt_sigaction, SYS_pread64, SYS_pwrite64, SYS_access,
				     SYS_pipe, SYS_mincore, SYS_getitimer, SYS_socket, SYS_connect, SYS_sendto, SYS_sendmsg, SYS_shutdown, SYS_bind,
				     SYS_listen, SYS_getsockname, SYS_socketpair, SYS_setsockopt, SYS_getsockopt, SYS_execve, SYS_uname, SYS_fsync,
				     SYS_truncate, SYS_ftruncate, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_rename, SYS_mkdir, SYS_link, SYS_unlink,
				     SYS_symlink, SYS_readlink, SYS_chmod, SYS_chown, SYS_gettimeofday, SYS_getrlimit, SYS_getrusage, SYS_sysinfo,
				     SYS_times, SYS_getgroups, SYS_getresuid, SYS_getpgid, SYS_rt_sigpending, SYS_rt_sigqueueinfo, SYS_utime, SYS_statfs,
				     SYS_getpriority, SYS_sched_getparam, SYS_sched_getaffinity, SYS_mlock, SYS_getxattr, SYS_time, SYS_io_setup,
				     SYS_timer_create, SYS_timer_settime, SYS_clock_gettime, SYS_clock_getres, SYS_epoll_ctl, SYS_openat, SYS_newfstatat,
				     SYS_readlinkat, SYS_utimensat, SYS_timerfd_settime, SYS_eventfd2, SYS_epoll_create1, SYS_pipe2, SYS_preadv,
				     SYS_pwritev, SYS_perf_event_open, SYS_getcpu, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_getrandom,
				     SYS_memfd_create, SYS_execveat, SYS_userfaultfd, SYS_membarrier, SYS_mlock2, SYS_pkey_alloc, SYS_statx,
				     SYS_io_uring_setup, SYS_io_uring_enter, SYS_pidfd_open, SYS_clone3, SYS_openat2, SYS_get_robust_list };
	static const long junk[] = { -1, 0x7fffffffffff0000, -4096, 0x1000, 0x123456789abcdef0 };

	for (unsigned i = 0; i < ARRAY_LENGTH(calls); i++)
		for (unsigned j = 0; j < ARRAY_LENGTH(junk); j++)
			syscall(calls[i], junk[j], junk[j], junk[j], junk[j], junk[j], junk[j]);
	for (int i = 12; i < 64; i++)
		CHECK_ERRNO(syscall(1L << i | 1000, -1, -1, -1, -1, -1, -1), ENOSYS);
	_exit(8);
}

static void *spin(void *unused)
{
	add(&running, 1);
	for (;;)
		;
	return unused;
}

/* A process kills itself while its threads compute and others start. */
static void kill_self(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, spin, NULL));
	wait_until(load(&running) == 1);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread, NULL, nothing, NULL));
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static void exec_nothing_left(void)
{
	struct rlimit none = { 0, 0 };

	CHECK(setrlimit(RLIMIT_STACK, &none) == 0);
	execl("/bin/true", "true", NULL);	/* fails, or the new program dies of it */
	_exit(9);
}

static void out_of_descriptors_and_memory(void)
{
	struct rlimit few = { 8, 8 }, little = { 64 << 20, 64 << 20 };

	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0 && setrlimit(RLIMIT_AS, &little) == 0);
	while (dup(0) >= 0)
		;
	while (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) != MAP_FAILED)
		;
	CHECK(errno == ENOMEM && open("/", O_RDONLY) == -1 && errno == EMFILE);
	_exit(10);
}

static void stop_and_be_orphaned(void)
{
	if (fork() == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	_exit(11);
}

int main(void)
{
	static const struct { void (*run)(void); int code, sig; const char *what; } cases[] = {
		{ close_everything, 5, 0, "close everything" },
		{ unmap_everything, 0, SIGSEGV, "unmap everything" },
		{ protect_everything, 0, SIGSEGV, "protect everything" },
		{ fork_bomb, 6, 0, "fork bomb" },
		{ thread_bomb, 7, 0, "thread bomb" },
		{ endless_recursion, 0, SIGSEGV, "endless recursion" },
		{ jump_to_nowhere, 0, SIGSEGV, "jump to nowhere" },
		{ jump_into_the_kernel, 0, SIGSEGV, "jump into the kernel" },
		{ no_stack, 0, SIGSEGV, "no stack" },
		{ no_stack_for_a_handler, 0, SIGSEGV, "no stack for a handler" },
		{ wild_sigreturn, 0, SIGSEGV, "return from no signal" },
		{ garbage_sigreturn, 0, SIGSEGV, "return from a made-up signal" },
		{ garbage_calls, 8, 0, "calls without sense" },
		{ kill_self, 0, SIGKILL, "killed by itself" },
		{ out_of_descriptors_and_memory, 10, 0, "out of descriptors and memory" },
		{ stop_and_be_orphaned, 11, 0, "orphan that stopped" },
	};

	for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
		int status;

		if (!is_chosen(cases[i].what))
			continue;
		status = child_status(cases[i].run);
		CHECK(cases[i].sig ? killed_by(status, cases[i].sig) : exited_with(status, cases[i].code));
		say("%s\n", cases[i].what);
	}
	/* a stack limit of 0 kills the child in exec or just after it; both are right */
	CHECK(!exited_with(child_status(exec_nothing_left), 1));
	say("a program without a stack\n");
	return 0;
}
