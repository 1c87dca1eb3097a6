/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The ioctls on /dev/tacet: the door between a program on Linux and the module.
 *
 * Owns: the request structures. The caller writes every field that is not marked
 * "out", before the call; the module writes those marked "out". Every structure starts
 * with `revision`, which the caller sets to TACET_ABI_REVISION; the module answers
 * another value with -EPROTO, and a reserved field that is not zero with -EINVAL.
 * Every program that can open the device may call; a call marked "root" needs
 * CAP_SYS_ADMIN. The module trusts nothing here.
 */
#ifndef TACET_ABI_IOCTL_H
#define TACET_ABI_IOCTL_H

#include "types.h"
#include "log.h"
#include "profile.h"
#ifdef __KERNEL__
#include <linux/ioctl.h>
#else
#include <sys/ioctl.h>
#endif

struct tacet_node_memory {
	__u32 node;			/* NUMA node */
	__u32 reserved;
	__u64 bytes;			/* multiple of 2 MiB */
};

/* TACET_UP, root. Errors: EBUSY: a partition is up or going down; EINVAL: a wrong
 * argument (CPU 0, an absent or offline CPU, no CPU left for Linux); ENOMEM: Linux has
 * not enough memory in contiguous blocks; EIO: a core did not start; ENOEXEC: the image
 * is not usable; EOPNOTSUPP: the machine is not usable. After an error nothing is
 * taken, and `message` says what was wrong. */
struct tacet_up {
	__u32 revision;
	__u32 node_count;		/* entries of nodes[] in use, at least 1 */
	__u64 cpus[TACET_CPU_WORDS];	/* bit n: Linux's CPU n */
	__u64 spare[TACET_CPU_WORDS];	/* others that TACET_GROW may add; if there are any,
					   `cpus` may be empty */
	struct tacet_node_memory nodes[TACET_MAX_NODES];
	__u64 image_address;		/* the co-kernel image in the caller's memory */
	__u64 image_bytes;
	__u32 fail_step;		/* only with test_hooks=1: fail before this step, counted
					   from 1; 0: do not fail */
	__u32 spared;			/* enum tacet_measure: what this machine does not need */
	__u32 waived;			/* what it needs and root does not want; at most
					   TACET_MEASURE_ONE_USER */
	__u32 reserved;
	char message[TACET_TEXT_BYTES];	/* out */
};

/* TACET_DOWN, root. EBUSY: threads are hosted and TACET_DOWN_RECOUPLE is not set. With
 * this flag every hosted thread first goes back to Linux. */
#define TACET_DOWN_RECOUPLE (1u << 0)
struct tacet_down {
	__u32 revision;
	__u32 flags;
	char message[TACET_TEXT_BYTES];	/* out */
};

/* TACET_GROW, root: CPUs join the partition that is up. TACET_SHRINK, root: CPUs leave it; their
 * threads go to its other CPUs, and those that may go to none of these, to all. A thread that was
 * hosted before a CPU came does not go there. The last CPU leaves only a partition that hosts
 * nothing. After an error nothing has changed, and `message` says what was wrong. ENODEV: none is
 * up; EINVAL: a CPU that is not spare, or not the partition's; EBUSY: threads are hosted, or Linux
 * does not let the CPU go; ENOSPC: the other CPUs have no room for the threads; ETIMEDOUT: a thread
 * does not leave its CPU; EIO: a core did not start; EINTR: the caller is killed. */
struct tacet_resize {
	__u32 revision;
	__u32 reserved;
	__u64 cpus[TACET_CPU_WORDS];
	__u64 took_ns;			/* out */
	char message[TACET_TEXT_BYTES];	/* out */
};

/* TACET_GROW_MEMORY, root: memory joins the partition that is up, or nothing changes.
 * TACET_SHRINK_MEMORY, root: of the memory that joined, blocks that are free leave. EBUSY: less
 * has left than was asked, `done_bytes`, and `message` says who has the rest. ENODEV: none is up,
 * or it has no CPU; EINVAL: not a multiple of 2 MiB, a node of which the partition began without memory,
 * or more than joined; ENOMEM: Linux has no such memory; EINTR: the caller is killed, and what it
 * began is undone (_GROW_) or done up to a block (_SHRINK_); EIO: the partition has failed. */
struct tacet_resize_memory {
	__u32 revision;
	__u32 node;			/* NUMA node, or TACET_ANY_NODE */
	__u64 bytes;			/* multiple of 2 MiB */
	__u64 done_bytes;		/* out: joined or left */
	__u64 took_ns;			/* out */
	char message[TACET_TEXT_BYTES];	/* out */
};

enum tacet_partition_state {
	TACET_PARTITION_NONE = 0,
	TACET_PARTITION_UP = 1,
	TACET_PARTITION_CHANGING = 2,	/* coming up or going down */
	TACET_PARTITION_FAILED = 3,	/* the co-kernel died, and Linux took the cores back;
					   `message` says why; lasts until the next up */
};

#define TACET_NO_USER 0xffffffffu
struct tacet_status {
	__u32 revision;
	__u32 state;			/* out: enum tacet_partition_state */
	__u64 cpus[TACET_CPU_WORDS];	/* out: the partition's CPUs */
	__u64 spare[TACET_CPU_WORDS];	/* out: Linux's CPUs that may join it */
	__u64 kept[TACET_CPU_WORDS];	/* out: of `cpus`, those that TACET_JOB_KEEP keeps */
	struct tacet_node_memory nodes[TACET_MAX_NODES];	/* out */
	__u32 node_count;		/* out */
	__u32 hosted_threads;		/* out */
	__u32 hosted_processes;		/* out */
	__u32 context_count;		/* out: the most threads that can be hosted */
	__u32 up_count;			/* out: partitions started since the module was loaded */
	__u32 image_bytes;		/* out */
	__u64 up_ns;			/* out: how long the last start took */
	__u64 down_ns;			/* out: how long the last stop took, 0 if none */
	__u64 tsc_khz;			/* out */
	__u32 test_hooks;		/* out: 1 if the module was loaded with test_hooks=1 */
	__u32 measures;			/* out: enum tacet_measure that are taken */
	__u32 waived;			/* out: those that root waived */
	__u32 user;			/* out: with TACET_MEASURE_ONE_USER, whose programs are hosted
					   or were hosted last; TACET_NO_USER: nobody's */
	__u64 own_bytes;		/* out: bytes of the partition's memory that programs have */
	__u64 own_bytes_limit;		/* out: the most that they can have; 0: none */
	char message[TACET_TEXT_BYTES];	/* out */
};

/* TACET_CPU_STATUS: one core. ENODEV: `cpu` is not a CPU of the partition. */
struct tacet_cpu_status {
	__u32 revision;
	__u32 cpu;			/* in: Linux's number */
	__u32 node;			/* this field and all below: out; see cpu.h */
	__u32 state;			/* enum tacet_cpu_state */
	__u32 mode;			/* enum tacet_cpu_mode */
	__u32 hosted_threads;		/* threads that are placed on this CPU */
	__u32 package;
	__u32 physical_core;		/* number in the package; its hardware threads share it */
	__u64 doorbells_sent;
	__u64 doorbells_user;
	__u64 doorbells_kernel;
	__u64 doorbells_empty;		/* came after their request was served. If user +
					   kernel exceeds sent, foreign NMIs came */
	__u64 notifications;
	__u64 switches;
	__u64 flushes;			/* TLB generations requested of it */
	__u64 frames_taken;		/* frames that the core gave to programs */
	__u64 frames_returned;		/* frames that it took back */
	__u64 alarms;			/* interrupts of its own timer, which is on only while
					   the core halts until a time */
	__u32 foreign[256];		/* other interrupts, by vector */
	__u32 performance;		/* enum tacet_performance: what the last two are */
	__u32 stack_bytes;		/* the most that the core's stack has held; it has room for
					   TACET_STACK_BYTES */
	__u64 performance_before;	/* the clock that Linux asked for */
	__u64 performance_now;		/* the one that the core asks for */
	__u64 kept_ms;			/* how long TACET_JOB_KEEP has kept it; 0: it is not kept */
};

/*
 * A job: CPUs of the partition, and a share of its memory, for one user. While there are jobs,
 * a user who is not root uses the CPUs of his jobs and no others, and root uses the CPUs of
 * no job, unless he names one. What TACET_HOST_SELF asks for belongs to the job that it names.
 *
 * TACET_JOB_BEGIN, root. CPUs that may join the partition join it, as by TACET_GROW. Threads without a job leave its CPUs. The same request again is no
 * error. EEXIST: the id began with other arguments; EBUSY: another job has a CPU, or the job
 * is ending; EINVAL: a CPU that is not the partition's, nor may be, or a wrong id; ENOSPC: threads without
 * a job have no other CPU to go to, or there are TACET_JOBS; ENOMEM: the limits of all jobs
 * together would exceed what programs can have; ENODEV: no partition is up; ETIMEDOUT: a thread does not
 * leave a CPU; or as for TACET_GROW. After an error nothing has changed, but that CPUs which joined for the job
 * and cannot leave at once are kept (TACET_JOB_KEEP).
 *
 * TACET_JOB_END, root. From here on nobody joins the job. Its processes get SIGTERM, and what is
 * there after `grace_ms` SIGKILL; then its CPUs are nobody's. A job that is unknown has ended,
 * which is no error. A caller that is killed leaves a job that is ending: the next call goes on. ETIMEDOUT: a
 * thread does not end.
 *
 * TACET_JOB_LIST: the jobs of the caller; for root all.
 */
#define TACET_JOBS 64u
#define TACET_JOB_ID_BYTES 72u		/* zero-terminated; letters, digits, `.`, `_`, `-` */
#define TACET_JOB_GROUP_BYTES 512u	/* zero-terminated */
struct tacet_job_entry {
	char id[TACET_JOB_ID_BYTES];
	__u32 uid;			/* in the caller's user namespace */
	__u32 ending;			/* out: 1: it is ending */
	__u64 cpus[TACET_CPU_WORDS];
	__u64 memory;			/* the most of the partition's memory, in bytes; 0: no limit */
	__u64 memory_used;		/* out */
	__u32 threads;			/* out: hosted */
	__u32 apart;			/* out: 1: of what programs have, its cores map its own alone */
	char group[TACET_JOB_GROUP_BYTES];	/* its control group, as in /proc/PID/cgroup; for users
						   of the list alone; empty: none is known */
};
struct tacet_job_begin {
	__u32 revision;
	__u32 reserved;
	struct tacet_job_entry job;
	char message[TACET_TEXT_BYTES];	/* out */
};
#define TACET_JOB_RETURN (1u << 0)	/* the CPUs leave the partition, unless it hosts something and
					   these are its last ones */
#define TACET_JOB_KEEP (1u << 1)	/* CPUs that joined for this job, or for one before it that kept
					   them, stay for the next job: they are kept until a job
					   begins on them or TACET_SHRINK names them. Not with _RETURN */
struct tacet_job_end {
	__u32 revision;
	__u32 flags;
	char id[TACET_JOB_ID_BYTES];
	__u64 cpus[TACET_CPU_WORDS];	/* out: that it had */
	__u32 grace_ms;
	__u32 ended;			/* out: 1: there was such a job */
	__u32 killed;			/* out: processes that SIGTERM did not end */
	__u32 returned;			/* out: 1: its CPUs are Linux's */
	char message[TACET_TEXT_BYTES];	/* out */
};
struct tacet_job_list {
	__u32 revision;
	__u32 capacity;			/* in: entries at `address`; at most TACET_JOBS */
	__u64 address;			/* struct tacet_job_entry[] in the caller's memory */
	__u32 count;			/* out: entries written */
	__u32 total;			/* out: jobs that exist, of whatever user */
};

/* TACET_HOST_SELF: the calling thread moves to a core when it next returns to user
 * mode, and stays hosted through execve. ENODEV: no partition is up; EUSERS: it hosts
 * another user's programs (TACET_MEASURE_ONE_USER); ENOSPC: no context is free; EALREADY:
 * the thread is hosted; EINVAL: a CPU of `cpus` is not in the partition or not the job's, or a CPU
 * of `order` is not in `cpus`; EACCES: there are jobs, and none, or not this one, is the user's;
 * ENOTUNIQ: he has several; ESRCH: no such job, or it is ending. */
#define TACET_HOST_FOLLOW (1u << 0)	/* children of fork are hosted too */
#define TACET_HOST_POPULATE (1u << 1)	/* fault in the executed program, lock what it touches */
#define TACET_HOST_RANGE (1u << 2)	/* the executed program gets a range */
#define TACET_HOST_BIND (1u << 3)	/* place each thread on the CPU of `order` that has the
					   fewest of them, the first such one */
#define TACET_HOST_PROFILE (1u << 4)	/* cores keep an account of the process's time; ask for
					   it by TACET_PROFILE on this open file */
#define TACET_HOST_DATA_IN_RANGE (1u << 5)	/* with TACET_HOST_RANGE: .data and .bss of a
						   position-independent program lie in the
						   range too */
#define TACET_HOST_NO_PICO (1u << 6)	/* no descriptor gets a grant (pico.h): Linux serves all
					   I/O on devices */
#define TACET_HOST_BURSTS (1u << 7)	/* a thread stays on Linux while it makes many calls */
struct tacet_host_self {
	__u32 revision;
	__u32 flags;
	__u64 cpus[TACET_CPU_WORDS];	/* allowed CPUs; all bits zero: every CPU of the partition */
	__u32 order_count;		/* with TACET_HOST_BIND: entries of order[] in use */
	__u32 reserved;
	__u16 order[TACET_MAX_CPUS];
	char job[TACET_JOB_ID_BYTES];	/* its CPUs and its memory; empty: the user's only job */
};

/* TACET_DECOUPLE: hosts threads of another process, which the caller must be allowed to
 * trace (same user, or CAP_SYS_PTRACE). `pid` is a process (all its threads, and those
 * to come) or, with TACET_DECOUPLE_THREAD, one thread. A thread that is hosted already
 * moves to `cpu`. ESRCH, EPERM, ENODEV, ENOSPC, EUSERS; EINVAL: the CPU is not in the
 * partition, a kernel thread, a 32-bit program. The job is that of TACET_HOST_SELF with none named. */
#define TACET_DECOUPLE_THREAD (1u << 0)
#define TACET_DECOUPLE_FOLLOW (1u << 1)
struct tacet_decouple {
	__u32 revision;
	__s32 pid;			/* in the caller's pid namespace */
	__u32 cpu;			/* or TACET_ANY_CPU */
	__u32 flags;
};

/* TACET_RECOUPLE: all threads of the process (or one) go back to Linux. The call returns
 * when no core runs them. ESRCH: no such thread is hosted. */
struct tacet_recouple {
	__u32 revision;
	__s32 pid;
	__u32 flags;			/* TACET_DECOUPLE_THREAD */
	__u32 reserved;
};

enum tacet_thread_place {
	TACET_PLACE_LINUX = 0,		/* in a forwarded call, a fault or a signal */
	TACET_PLACE_WAITING = 1,	/* posted; another thread has the core */
	TACET_PLACE_RUNNING = 2,	/* in user mode on its core */
};

struct tacet_thread {
	__s32 pid;			/* thread id in the caller's pid namespace */
	__s32 tgid;
	__u32 cpu;
	__u32 place;			/* enum tacet_thread_place */
	__u32 uid;
	__u32 bursts;			/* of calls, for which it stayed on Linux */
	__u64 forwarded_calls;
	__u64 faults;
	__u64 exceptions;
	__u64 signals;			/* how often it returned to Linux for a signal or ptrace */
	__u64 doorbells;
	__u64 user_ns;			/* time in user mode on the core */
	char name[16];
};

/* TACET_LIST: the hosted threads of the caller's user; for root all. */
struct tacet_list {
	__u32 revision;
	__u32 capacity;			/* in: entries at `address`; at most 65536 */
	__u64 address;			/* struct tacet_thread[] in the caller's memory */
	__u32 count;			/* out: entries written */
	__u32 total;			/* out: entries that exist */
};

/* The time that threads spent on one thing (profile.h). All out. */
struct tacet_cost {
	__u16 on;			/* enum tacet_spent_on */
	__u16 detail;
	__u32 reserved;
	__u64 count;
	__u64 total_ns;
	__u64 longest_ns;
};

/* TACET_PROFILE: the accounts, added up, of the threads that were hosted with
 * TACET_HOST_PROFILE through this open file (`pid` 0), ended ones included; or those of
 * process `pid`, which the caller must be allowed to trace, and of all processes that
 * share its account. ENODATA: no such thread; ESRCH; EPERM. */
struct tacet_profile_read {
	__u32 revision;
	__s32 pid;			/* in the caller's pid namespace */
	__u64 address;			/* struct tacet_cost[] in the caller's memory */
	__u32 capacity;			/* in: entries there, at most 4096 */
	__u32 count;			/* out: entries written */
	__u32 total;			/* out: entries that exist */
	__u32 threads;			/* out: threads in this account, ended ones included */
	__u64 user_ns;			/* out: their time in user mode on cores */
};

/* TACET_LOG_READ, root: the records of one source after `sequence`. */
#define TACET_LOG_MODULE 0xffffffffu	/* the module's own messages */
struct tacet_log_entry {
	__u64 sequence;
	__u64 time_ns;			/* CLOCK_MONOTONIC */
	__u32 cpu;			/* or TACET_LOG_MODULE */
	__u32 level;			/* enum tacet_log_level */
	char text[TACET_LOG_TEXT_BYTES];	/* zero-terminated if shorter */
};
struct tacet_log_read {
	__u32 revision;
	__u32 cpu;			/* a CPU of the last partition, or TACET_LOG_MODULE */
	__u64 sequence;			/* in: the last record that the caller has; 0: all */
	__u64 address;			/* struct tacet_log_entry[] in the caller's memory */
	__u32 capacity;
	__u32 count;			/* out: entries written */
	__u64 lost;			/* out: records overwritten before they were read */
};

/* TACET_TEST, root, only with test_hooks=1: a failure on purpose. */
#define TACET_TEST_MARK 0x1edca5e5c0ffee77ull	/* of TACET_TEST_FIND */
struct tacet_test_hook {
	__u32 revision;
	__u32 cpu;
	__u32 test;			/* enum tacet_test */
	__u32 reserved;
};

#define TACET_IOCTL_MAGIC 0xba
enum tacet_ioctl {
	TACET_UP = _IOWR(TACET_IOCTL_MAGIC, 1, struct tacet_up),
	TACET_DOWN = _IOWR(TACET_IOCTL_MAGIC, 2, struct tacet_down),
	TACET_STATUS = _IOWR(TACET_IOCTL_MAGIC, 3, struct tacet_status),
	TACET_CPU_STATUS = _IOWR(TACET_IOCTL_MAGIC, 4, struct tacet_cpu_status),
	TACET_HOST_SELF = _IOW(TACET_IOCTL_MAGIC, 5, struct tacet_host_self),
	TACET_DECOUPLE = _IOW(TACET_IOCTL_MAGIC, 6, struct tacet_decouple),
	TACET_RECOUPLE = _IOW(TACET_IOCTL_MAGIC, 7, struct tacet_recouple),
	TACET_LIST = _IOWR(TACET_IOCTL_MAGIC, 8, struct tacet_list),
	TACET_LOG_READ = _IOWR(TACET_IOCTL_MAGIC, 9, struct tacet_log_read),
	TACET_TEST = _IOW(TACET_IOCTL_MAGIC, 10, struct tacet_test_hook),
	TACET_PROFILE = _IOWR(TACET_IOCTL_MAGIC, 11, struct tacet_profile_read),
	TACET_GROW = _IOWR(TACET_IOCTL_MAGIC, 12, struct tacet_resize),
	TACET_SHRINK = _IOWR(TACET_IOCTL_MAGIC, 13, struct tacet_resize),
	TACET_JOB_BEGIN = _IOWR(TACET_IOCTL_MAGIC, 14, struct tacet_job_begin),
	TACET_JOB_END = _IOWR(TACET_IOCTL_MAGIC, 15, struct tacet_job_end),
	TACET_JOB_LIST = _IOWR(TACET_IOCTL_MAGIC, 16, struct tacet_job_list),
	TACET_GROW_MEMORY = _IOWR(TACET_IOCTL_MAGIC, 17, struct tacet_resize_memory),
	TACET_SHRINK_MEMORY = _IOWR(TACET_IOCTL_MAGIC, 18, struct tacet_resize_memory),
};

#endif
