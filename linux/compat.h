/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels that the module builds on (6.1 to 7.x).
 *
 * The only file that knows kernel versions. For the rest of the module everything here has
 * one name and one meaning.
 */
#ifndef TACET_COMPAT_H
#define TACET_COMPAT_H

#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/cpuhotplug.h>
#include <linux/gfp.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/mempolicy.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/perf_event.h>
#include <linux/rseq.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/shmem_fs.h>
#include <linux/time_namespace.h>
#include <linux/version.h>
#include <asm/fpu/types.h>
/* Kernels without Xen's paravirtual calls have load_gs_index() there; older ones have it in a file that all include. */
#if __has_include(<asm/gsseg.h>)
#include <asm/gsseg.h>
#endif
#include <asm/msr.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
#include <linux/sched/exec_state.h>
#define TACET_HAS_EXEC_STATE
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define rdmsrq rdmsrl
#define wrmsrq wrmsrl
#define rdmsrq_safe rdmsrl_safe
#define wrmsrq_safe wrmsrl_safe
#endif

/* A timer of CLOCK_MONOTONIC whose first time is relative. */
static inline void tacet_hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = function;
#endif
}

static inline struct fpu *tacet_fpu(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	/*
	 * TRICK where a task's extended state is: behind `struct task_struct`, as x86_task_fpu() says, which
	 * is not exported.
	 * BREAKS a kernel that puts it elsewhere.
	 * NOTICED `tests/user/xstate.c`, `sigfp.c`.
	 */
	return (struct fpu *)((void *)task + sizeof(*task));
#else
	return &task->thread.fpu;
#endif
}

/* add_mm_counter() without its tracepoint, which is not exported. */
static inline void tacet_add_resident(struct mm_struct *mm, long pages)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	percpu_counter_add(&mm->rss_stat[MM_ANONPAGES], pages);
#else
	atomic_long_add(pages, &mm->rss_stat.count[MM_ANONPAGES]);
#endif
}

/*
 * A state of CPU hotplug before the one in which Linux makes a CPU's directory `topology`
 * (CPUHP_TOPOLOGY_PREPARE), where the partition's CPUs are refused. The states for modules are
 * all later; this one belongs to SuperH, and nobody else uses it on x86.
 */
#define TACET_CPUHP_REFUSE CPUHP_SH_SH3X_PREPARE

/* Allocates the pages of exactly [start, end). */
static inline int tacet_alloc_contig(unsigned long start, unsigned long end)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	return alloc_contig_range_noprof(start, end, ACR_FLAGS_NONE, GFP_KERNEL | __GFP_NOWARN);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	return alloc_contig_range_noprof(start, end, MIGRATE_MOVABLE, GFP_KERNEL | __GFP_NOWARN);
#else
	return alloc_contig_range(start, end, MIGRATE_MOVABLE, GFP_KERNEL | __GFP_NOWARN);
#endif
}

/* The tracepoint sched_process_exit also tells whether the group ends. */
#define TACET_EXIT_HAS_GROUP (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0))

/* mremap() moves several mappings by one call, if that says where to and changes no size. */
#define TACET_MREMAP_MOVES_SEVERAL (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0))

/* The notifier's method that is told that secondary TLBs are stale. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define TACET_INVALIDATE_SECONDARY .arch_invalidate_secondary_tlbs
#else
#define TACET_INVALIDATE_SECONDARY .invalidate_range
#endif

/* The number of the task's own performance events. In an RCU read section. */
static inline int tacet_perf_events(struct task_struct *task)
{
	int count = 0;
#ifdef CONFIG_PERF_EVENTS
	const struct perf_event_context *context;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	context = READ_ONCE(task->perf_event_ctxp);
	count = context ? READ_ONCE(context->nr_events) : 0;
#else
	unsigned int i;

	for (i = 0; i < perf_nr_task_contexts; i++) {
		context = READ_ONCE(task->perf_event_ctxp[i]);
		count += context ? READ_ONCE(context->nr_events) : 0;
	}
#endif
#endif
	return count;
}

/* The calling thread's NUMA policy; false: it has none. */
static inline bool tacet_task_policy(u32 *mode, nodemask_t *nodes)
{
#ifdef CONFIG_NUMA
	if (current->mempolicy) {
		*mode = current->mempolicy->mode;
		*nodes = current->mempolicy->nodes;
		return true;
	}
#endif
	return false;
}

/* The calling thread's CLOCK_MONOTONIC is the kernel's own, without a namespace's offset
 * (time_namespaces(7)). */
static inline bool tacet_clock_is_the_nodes(void)
{
#ifdef CONFIG_TIME_NS
	const struct timespec64 *offset = &current->nsproxy->time_ns->offsets.monotonic;

	return !offset->tv_sec && !offset->tv_nsec;
#else
	return true;
#endif
}

/* Linux can be told of bad memory, and keeps a mark for its pages. */
static inline bool tacet_can_mark_bad(void)
{
	return IS_ENABLED(CONFIG_MEMORY_FAILURE);
}

static inline void tacet_mark_bad(unsigned long pfn)
{
#ifdef CONFIG_MEMORY_FAILURE
	SetPageHWPoison(pfn_to_page(pfn));
#endif
}

/* The memory is bad: Linux stops using it, if it does. @used: by the calling thread, which gets
 * SIGBUS if its page tables have the page. Sleeps. */
static inline void tacet_memory_failure(unsigned long pfn, bool used)
{
#ifdef CONFIG_MEMORY_FAILURE
	memory_failure(pfn, used ? MF_ACTION_REQUIRED : 0);
#endif
}

/* Linux has verified this module's signature. */
static inline bool tacet_module_signed(void)
{
#ifdef CONFIG_MODULE_SIG
	return THIS_MODULE->sig_ok;
#else
	return false;
#endif
}

/*
 * Adds time in user mode to the account that the calling task's control group has on this
 * CPU. Interrupts are off: only this CPU changes that account. Linux adds it to the group's
 * sum when it next counts time of a task of the group here, at the latest when the calling
 * task sleeps.
 *
 * TRICK accounts of control groups by hand: as __cgroup_account_cputime(), which is not exported.
 * BREAKS a kernel that keeps these accounts otherwise.
 * NOTICED it does not build where the fields have other names; scenario `users.sh group_time`.
 */
static inline void tacet_charge_group(u64 ns)
{
#ifdef CONFIG_CGROUPS
	struct cgroup *group;

	rcu_read_lock();
	group = task_dfl_cgroup(current);
	if (cgroup_parent(group)) {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
		struct cgroup_rstat_base_cpu *account = this_cpu_ptr(group->rstat_base_cpu);
#else
		struct cgroup_rstat_cpu *account = this_cpu_ptr(group->rstat_cpu);
#endif
		u64_stats_update_begin(&account->bsync);
		account->bstat.cputime.utime += ns;
		account->bstat.cputime.sum_exec_runtime += ns;
		u64_stats_update_end(&account->bsync);
	}
	rcu_read_unlock();
#endif
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define TACET_READS BLK_OPEN_READ
#else
#define TACET_READS FMODE_READ
#endif

/* A claim of a block device: nobody but Tacet may have one of it meanwhile. An opaque pointer;
 * sleep. */
struct tacet_claim;

static inline struct tacet_claim *tacet_claim(dev_t device)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	return (void *)bdev_file_open_by_dev(device, BLK_OPEN_READ, THIS_MODULE, NULL);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	return (void *)bdev_open_by_dev(device, BLK_OPEN_READ, THIS_MODULE, NULL);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return (void *)blkdev_get_by_dev(device, BLK_OPEN_READ, THIS_MODULE, NULL);
#else
	return (void *)blkdev_get_by_dev(device, FMODE_READ | FMODE_EXCL, THIS_MODULE);
#endif
}

static inline void tacet_claim_release(struct tacet_claim *claim)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	bdev_fput((struct file *)claim);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	bdev_release((struct bdev_handle *)claim);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	blkdev_put((struct block_device *)claim, THIS_MODULE);
#else
	blkdev_put((struct block_device *)claim, FMODE_READ | FMODE_EXCL);
#endif
}

/* System calls that the oldest kernel's headers do not have. */
#define NR_FUTEX_WAITV 449
#define NR_SET_MEMPOLICY_HOME_NODE 450
#define NR_MAP_SHADOW_STACK 453
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456
#define NR_MSEAL 462

/* The mmap lock is held for writing; waits for faults without it. */
static inline void tacet_vma_set_flags(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/* A new file without content; a private mapping of it is anonymous memory. */
static inline struct file *tacet_shmem_file(const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return shmem_file_setup(name, 0, mk_vma_flags(VMA_NORESERVE_BIT));
#else
	return shmem_file_setup(name, 0, VM_NORESERVE);
#endif
}

/* Gets one page, with a reference. Returns how many it got, or an error. The mmap lock is
 * held. */
static inline long tacet_get_user_page(struct mm_struct *mm, unsigned long address,
				       unsigned int flags, struct page **page)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return get_user_pages_remote(mm, address, 1, flags, page, NULL);
#else
	return get_user_pages_remote(mm, address, 1, flags, page, NULL, NULL);
#endif
}

/* For a fault handler that is about to return VM_FAULT_RETRY. */
static inline void tacet_release_fault_lock(struct vm_fault *vmf)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

/* Rings of io_uring wait for futexes, and wake. */
#define TACET_RINGS_KNOW_FUTEXES (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0))

/* The task has rings of io_uring. */
static inline bool tacet_has_rings(const struct task_struct *task)
{
#ifdef CONFIG_IO_URING
	return READ_ONCE(task->io_uring);
#else
	return false;
#endif
}

/* The process's own user may trace it. In an RCU read section. */
static inline bool tacet_dumpable(struct task_struct *task)
{
#ifdef TACET_HAS_EXEC_STATE
	struct task_exec_state *state = rcu_dereference(task->exec_state);

	return state && READ_ONCE(state->dumpable) == TASK_DUMPABLE_OWNER;
#else
	struct mm_struct *mm = READ_ONCE(task->mm);

	return mm && get_dumpable(mm) == SUID_DUMP_USER;
#endif
}

/* Where the task keeps the address of its list of robust futexes. */
static inline struct robust_list_head __user **tacet_robust_list(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return &task->futex.robust_list;
#else
	return &task->robust_list;
#endif
}

/* The area that the task registered for restartable sequences, and its signature. */
static inline struct rseq __user *tacet_rseq_area(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	return task->rseq.usrptr;
#else
	return task->rseq;
#endif
}

static inline u32 tacet_rseq_signature(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	return task->rseq.sig;
#else
	return task->rseq_sig;
#endif
}

/* The area has a node and a concurrency number. */
#define TACET_RSEQ_HAS_NODE (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0))

/*
 * The area now has @cpu, @node and @cid. Updates Linux's copy, if it keeps one (it kills a
 * task whose area differs), and makes Linux write its own numbers when the task returns to
 * user mode on Linux. The calling task is in task work.
 *
 * Before 6.18 Linux writes them after all task work on the way to user mode, asked or not; on any other way
 * TIF_NOTIFY_RESUME, which brought the task work, is still set. Setting it again would only make Linux go
 * through the whole exit work once more.
 */
static inline void tacet_rseq_written(u32 cpu, u32 node, u32 cid)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	current->rseq.ids.cpu_id = cpu;
	current->rseq.ids.mm_cid = cid;
	current->rseq.ids.node_id = node;
	rseq_force_update();
#else
	set_bit(RSEQ_EVENT_MIGRATE_BIT, &current->rseq_event_mask);
#endif
}

#endif
