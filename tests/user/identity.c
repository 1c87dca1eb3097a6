/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A process's identity: ids, credentials, sessions, names, personality, capabilities. */
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

static void *in_a_thread(void *main_pid)
{
	CHECK(getpid() == *(pid_t *)main_pid && gettid() != getpid() && getpgid(0) == getpgrp());
	return NULL;
}

static void child_ids(void)
{
	CHECK(getpid() == gettid() && getppid() > 0 && getpid() != getppid());
	CHECK(setsid() == getpid() && getsid(0) == getpid() && getpgrp() == getpid());
	CHECK_ERRNO(setsid(), EPERM);
	CHECK_ERRNO(setpgid(0, 0), EPERM);
}

static void ids(void)
{
	pid_t pid = getpid();
	pthread_t thread;

	CHECK(pid == syscall(SYS_getpid) && pid == gettid());
	CHECK(!pthread_create(&thread, NULL, in_a_thread, &pid) && !pthread_join(thread, NULL));
	CHECK(exited_with(child_status(child_ids), 0));
	CHECK_ERRNO(getsid(-1), ESRCH);
	CHECK(kill(pid, 0) == 0);
	CHECK_ERRNO(kill(pid, 65), EINVAL);
	say("process and thread ids\n");
}

static void *ids_of_thread(void *unused)
{
	uid_t r, e, s;

	CHECK(getresuid(&r, &e, &s) == 0 && r == 1000 && e == 1000 && s == 1000);
	CHECK(getgid() == 1001 && getegid() == 1001);
	return unused;
}

/* glibc signals every thread to change its ids: all must do it. */
static int begin;

static void *wait_then_check(void *unused)
{
	wait_until(load(&begin));
	return ids_of_thread(unused);
}

static void drop(void)
{
	gid_t groups[2] = { 5, 6 }, got[4];
	struct stat st;
	pthread_t threads[4];
	int fd;

	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, wait_then_check, NULL));
	CHECK(close(open("secret", O_RDWR | O_CREAT, 0600)) == 0);
	CHECK(setgroups(2, groups) == 0 && getgroups(4, got) == 2 && got[0] == 5 && got[1] == 6);
	CHECK(setgid(1001) == 0 && setuid(1000) == 0);
	store(&begin, 1);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
	ids_of_thread(NULL);
	CHECK_ERRNO(setuid(0), EPERM);
	CHECK_ERRNO(setgroups(0, NULL), EPERM);
	CHECK_ERRNO(open("secret", O_RDONLY), EACCES);
	CHECK_ERRNO(kill(1, SIGTERM), EPERM);
	CHECK_ERRNO(setpriority(PRIO_PROCESS, 0, -5), EACCES);
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0)
		CHECK(fstat(fd, &st) == 0 && st.st_uid == 1000 && st.st_gid == 1001);
}

static void capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	CHECK(syscall(SYS_capget, &head, data) == 0);
	CHECK(close(open("locked", O_RDWR | O_CREAT, 0)) == 0);
	data[0].effective = 0;
	data[1].effective = 0;
	CHECK(syscall(SYS_capset, &head, data) == 0);
	CHECK_ERRNO(open("locked", O_RDWR), EACCES);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

static void credentials(void)
{
	if (getuid() == 0) {
		CHECK(exited_with(child_status(drop), 0));
		CHECK(exited_with(child_status(capabilities), 0));
	}
	say("credentials\n");
}

static void *named_thread(void *unused)
{
	char name[16];

	CHECK(prctl(PR_SET_NAME, "a-name-that-is-too-long") == 0);
	CHECK(prctl(PR_GET_NAME, name) == 0 && !strcmp(name, "a-name-that-is-"));
	return unused;
}

static void names(void)
{
	struct utsname uts;
	pthread_t thread;
	char name[16];

	CHECK(prctl(PR_SET_NAME, "renamed") == 0);
	CHECK(!pthread_create(&thread, NULL, named_thread, NULL) && !pthread_join(thread, NULL));
	CHECK(prctl(PR_GET_NAME, name) == 0 && !strcmp(name, "renamed"));
	CHECK(uname(&uts) == 0 && !strcmp(uts.sysname, "Linux") && !strcmp(uts.machine, "x86_64"));
	say("names\n");
}

static void odd_numbers(void)
{
	int was = personality(0xffffffff);

	CHECK(was >= 0 && personality(was | ADDR_NO_RANDOMIZE) == was);
	CHECK(personality(was) == (was | ADDR_NO_RANDOMIZE));
	CHECK_ERRNO(syscall(-1L), ENOSYS);
	CHECK_ERRNO(syscall(9999), ENOSYS);
	CHECK_ERRNO(syscall(0x7fffffff), ENOSYS);
	CHECK_ERRNO(syscall(1L << 32 | SYS_tuxcall), ENOSYS);
	CHECK(syscall(1L << 32 | SYS_getpid) == getpid());	/* only the low half counts */
	CHECK_ERRNO(syscall(SYS_tuxcall), ENOSYS);
	say("personality and numbers that are no calls\n");
}

static void priorities(void)
{
	struct sched_param param = { 0 };

	CHECK(sched_getscheduler(0) == SCHED_OTHER && sched_getparam(0, &param) == 0 && param.sched_priority == 0);
	CHECK(setpriority(PRIO_PROCESS, 0, 7) == 0 && getpriority(PRIO_PROCESS, 0) == 7);
	CHECK(sched_setscheduler(0, SCHED_BATCH, &param) == 0 && sched_getscheduler(0) == SCHED_BATCH);
	CHECK(sched_get_priority_max(SCHED_FIFO) == 99);
}

int main(void)
{
	PART(ids);
	PART(credentials);
	PART(names);
	PART(odd_numbers);
	CHILD(priorities, exited_with(status, 0));
	say("priorities\n");
	return 0;
}
