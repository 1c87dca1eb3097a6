// SPDX-License-Identifier: GPL-2.0
/*
 * Kinds of calls, by number as of a 64-bit program: what has to be done for a call that Linux executes, and what not.
 *
 * Pure. Called by delegate/; also compiled on the host by tests/grants, which checks that nobody else names a simple call.
 * A call that is missing here is only slower. A call belongs to a kind only if that holds for all of its arguments.
 */
#include <asm/unistd.h>

#include "delegate/kinds.h"

/* Linux needs nothing but the general registers and the protection keys for it. If it waits, Linux makes it again after
 * an interruption without a handler. */
bool tacet_call_is_plain(long number)
{
	switch (number) {
	case __NR_read ... __NR_write:
	case __NR_pread64 ... __NR_writev:
	case __NR_open:
	case __NR_openat:
	case __NR_close:
	case __NR_stat ... __NR_lstat:
	case __NR_statx:
	case __NR_lseek:
	case __NR_mmap ... __NR_rt_sigprocmask:	/* mprotect, munmap, brk, rt_sigaction */
	case __NR_access:
	case __NR_faccessat:
	case __NR_sched_yield ... __NR_madvise:	/* mremap, msync, mincore */
	case __NR_dup ... __NR_dup2:
	case __NR_dup3:
	case __NR_getpid:
	case __NR_getitimer ... __NR_setitimer:
	case __NR_uname:
	case __NR_getdents:
	case __NR_getdents64:
	case __NR_getcwd ... __NR_fchdir:
	case __NR_rename ... __NR_rmdir:
	case __NR_link ... __NR_umask:		/* unlink, symlink, readlink, chmod, chown and their kin */
	case __NR_gettimeofday ... __NR_times:	/* getrlimit, getrusage, sysinfo */
	case __NR_getuid:
	case __NR_getgid:
	case __NR_geteuid ... __NR_getpgrp:	/* getegid, setpgid, getppid */
	case __NR_getpgid:
	case __NR_getsid:
	case __NR_rt_sigpending:
	case __NR_sigaltstack:
	case __NR_statfs ... __NR_fstatfs:
	case __NR_sched_getparam:
	case __NR_sched_getscheduler ... __NR_sched_rr_get_interval:
	case __NR_gettid:
	case __NR_time:
	case __NR_set_tid_address:
	case __NR_clock_gettime ... __NR_clock_getres:
	case __NR_mkdirat ... __NR_fchmodat:
	case __NR_set_robust_list:
	case __NR_prlimit64:
	case __NR_getcpu:
	case __NR_getrandom:
	case __NR_rseq:
		return true;
	}
	return false;
}

/*
 * Nobody of ours looks at it before or after: it is not about memory, futexes, CPUs or what a program may do, makes no
 * thread, process, program or ring, gives descriptors no other meaning, and ends nothing. A file's position that a
 * device's fast path keeps is another matter: see tacet_grants_any().
 */
bool tacet_call_is_simple(long number)
{
	switch (number) {
	case __NR_read ... __NR_write:
	case __NR_stat ... __NR_lseek:		/* fstat, lstat, poll */
	case __NR_pread64 ... __NR_access:	/* pwrite64, readv, writev */
	case __NR_select:
	case __NR_getpid:
	case __NR_sendto ... __NR_recvfrom:
	case __NR_uname:
	case __NR_fsync ... __NR_fdatasync:
	case __NR_getdents ... __NR_getcwd:
	case __NR_readlink:
	case __NR_gettimeofday:
	case __NR_getrusage ... __NR_times:	/* sysinfo */
	case __NR_getuid:
	case __NR_getgid:
	case __NR_geteuid ... __NR_getegid:
	case __NR_getppid ... __NR_getpgrp:
	case __NR_getpgid:
	case __NR_getsid:
	case __NR_statfs ... __NR_fstatfs:
	case __NR_gettid:
	case __NR_time:
	case __NR_getdents64:
	case __NR_clock_gettime ... __NR_clock_getres:
	case __NR_epoll_wait:
	case __NR_newfstatat:
	case __NR_readlinkat:
	case __NR_faccessat ... __NR_ppoll:	/* pselect6 */
	case __NR_epoll_pwait:
	case __NR_getrandom:
	case __NR_statx:
		return true;
	}
	return false;
}
