/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * As much of Linux's headers as the module's files about jobs and CPUs need, for one thread that nobody interrupts:
 * locks only say whether they are held. Each <linux/...> header that these files include is this one.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define remove remove_file	/* resize.c has a remove() of its own */
#include <stdio.h>
#undef remove
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define __printf(format, first)	/* its %*pbl is the kernel's own */
#define __user
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((void)((x) = (value)))
#define smp_load_acquire(place) (*(place))
#define smp_mb() ((void)0)
#define container_of(place, type, member) ((type *)((char *)(place) - offsetof(type, member)))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define BIT_ULL(bit) (1ull << (bit))
#define PAGE_SHIFT 12
#define PAGE_SIZE (1ul << PAGE_SHIFT)
#define NSEC_PER_USEC 1000ul
#define NSEC_PER_MSEC 1000000ul
#define MSEC_PER_SEC 1000ul
#define div_u64(a, b) ((a) / (b))
#define strscpy(to, from, bytes) ((void)snprintf(to, bytes, "%s", from))
void *memchr_inv(const void *at, int byte, size_t bytes);

/* Parameters of a module are fixed here. */
#define module_param(...)
#define module_param_named(...)
#define MODULE_PARM_DESC(...)

/* Locks: bugs are the caller's. */
struct mutex { bool held; };
typedef struct { bool held; } spinlock_t;
typedef spinlock_t raw_spinlock_t;
#define DEFINE_MUTEX(name) struct mutex name
#define DEFINE_SPINLOCK(name) spinlock_t name
void bug(const char *what);
void elapse(void);	/* programs continue, up to their next return from a core */
#define take(lock) ((lock)->held ? bug(#lock " is held") : (void)((lock)->held = true))
#define release(lock) ((lock)->held ? (void)((lock)->held = false) : bug(#lock " is not held"))
#define lockdep_assert_held(lock) ((lock)->held ? (void)0 : bug(#lock " is not held"))
#define mutex_unlock(lock) release(lock)
#define spin_lock_irq(lock) take(lock)
#define spin_unlock_irq(lock) (release(lock), elapse())
#define spin_lock_irqsave(lock, irq) ((irq) = 0, take(lock))
#define spin_unlock_irqrestore(lock, irq) ((void)(irq), release(lock), elapse())
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
int mutex_lock_killable(struct mutex *lock);
#define might_sleep() ((void)0)
#define in_atomic() false
#define irqs_disabled() false
#define rcu_preempt_depth() 0
#define WARN_ON_ONCE(condition) ((condition) ? bug(#condition) : (void)0)

typedef struct { int counter; } atomic_t;
typedef struct { long counter; } atomic64_t;
#define atomic_read(atomic) ((atomic)->counter)
#define atomic_inc(atomic) ((void)++(atomic)->counter)
#define atomic_dec(atomic) ((void)--(atomic)->counter)
static inline int atomic_cmpxchg(atomic_t *atomic, int from, int to)
{
	int was = atomic->counter;

	if (was == from)
		atomic->counter = to;
	return was;
}

/* Sets of CPUs. */
#define nr_cpu_ids 64u
struct cpumask { u64 bits; };
#define cpumask_clear(set) ((void)((set)->bits = 0))
#define cpumask_copy(to, from) ((void)((to)->bits = (from)->bits))
#define cpumask_set_cpu(cpu, set) ((void)((set)->bits |= BIT_ULL(cpu)))
#define cpumask_test_cpu(cpu, set) ((bool)((set)->bits >> (cpu) & 1))
#define cpumask_empty(set) (!(set)->bits)
static inline bool cpumask_and(struct cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	to->bits = a->bits & b->bits;
	return to->bits;
}
#define cpumask_andnot(to, a, b) ((void)((to)->bits = (a)->bits & ~(b)->bits))
#define cpumask_or(to, a, b) ((void)((to)->bits = (a)->bits | (b)->bits))
#define cpumask_intersects(a, b) (((a)->bits & (b)->bits) != 0)
#define for_each_cpu(cpu, set) for ((cpu) = 0; (cpu) < nr_cpu_ids; (cpu)++) if (cpumask_test_cpu(cpu, set))
#define cpumask_pr_args(set) 0, (set)

/* Lists. */
struct list_head { struct list_head *next, *prev; };
struct hlist_head { void *first; };
struct hlist_node { void *next; };
#define LIST_HEAD(name) struct list_head name = { &(name), &(name) }
#define INIT_LIST_HEAD(head) ((void)((head)->next = (head)->prev = (head)))
#define list_empty(head) ((head)->next == (head))
#define list_entry(place, type, member) container_of(place, type, member)
#define list_for_each_entry(entry, head, member) \
	for ((entry) = container_of((head)->next, typeof(*(entry)), member); &(entry)->member != (head); \
	     (entry) = container_of((entry)->member.next, typeof(*(entry)), member))
static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	*entry = (struct list_head){ head, head->prev };
	head->prev = head->prev->next = entry;
}
static inline void list_del(struct list_head *entry)
{
	if (!entry->next)
		bug("an entry is deleted twice");
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	entry->next = entry->prev = NULL;
}

/* References. */
struct rcu_head { void *next; };
struct kref { int count; };
#define kref_init(references) ((void)((references)->count = 1))
#define kref_get(references) ((void)++(references)->count)
static inline void kref_put(struct kref *references, void (*end)(struct kref *references))
{
	if (references->count < 1)
		bug("a reference is put twice");
	if (!--references->count)
		end(references);
}

/* Memory. */
#define GFP_KERNEL 0
typedef unsigned int gfp_t;
void *kzalloc(size_t bytes, gfp_t gfp);
void kfree(void *place);
#define kfree_rcu(place, head) kfree(place)

/* Users; the caller is root. */
typedef struct { uid_t value; } kuid_t;
#define make_kuid(space, uid) ((kuid_t){ uid })
#define uid_eq(a, b) ((a).value == (b).value)
#define uid_valid(uid) ((uid).value != (uid_t)-1)
#define current_user_ns() NULL
#define current_uid() ((kuid_t){ 0 })
#define capable(capability) true

/* Tasks; the caller is `current`. */
struct pid { pid_t number; };
struct task_struct { struct pid *pid; };
#define current NULL
#define task_pid_nr(task) ((task)->pid->number)
#define task_tgid_nr(task) ((task)->pid->number)
bool fatal_signal_pending(void *task);
void kill_pid(struct pid *pid, int signal, int kernel);
void msleep(unsigned int ms);
u64 ktime_get_ns(void);
u64 ktime_get_boottime_ns(void);
bool cpu_online(unsigned int cpu);

/* Types of fields that these files do not look into. */
#define DECLARE_PER_CPU(type, name) extern type name
#define DEFINE_PER_CPU(type, name) type name
#define KERNEL_TYPE(name) struct name { int unused; }
KERNEL_TYPE(address_space);
KERNEL_TYPE(callback_head);
KERNEL_TYPE(delayed_work);
KERNEL_TYPE(hrtimer);
KERNEL_TYPE(maple_tree);
KERNEL_TYPE(mmu_notifier);
KERNEL_TYPE(work_struct);
struct elf64_phdr;
struct file;
struct kobject;
struct mm_struct;
struct page;
struct pt_regs;
struct vm_area_struct;
struct vm_fault;
struct workqueue_struct;
typedef struct { int unused; } wait_queue_head_t;
typedef int irqreturn_t;
typedef irqreturn_t (*irq_handler_t)(int irq, void *data);
typedef unsigned int vm_fault_t;
typedef void (*task_work_func_t)(struct callback_head *work);

#endif
