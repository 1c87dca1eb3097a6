// SPDX-License-Identifier: GPL-2.0
/*
 * What hosted programs spend their time on, if a request asked for that (TACET_HOST_PROFILE).
 *
 * Owns struct tacet_profile: made with the request and shared by the process and its hosted
 * children. The open file of the request holds it too, so that it can be read after their
 * end. The cores keep each thread's account in its context (profile.h); when a thread ends,
 * its account is added here.
 *
 * No lock is held, and no interrupt is off, for longer than it takes to copy the entries of a
 * profile once, or to add one thread's account: anybody may read a profile of many threads.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/math64.h>
#include <linux/pid.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/tsc.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

#define ENTRIES 4096u
#define SLOT_BITS 13			/* twice as many slots as entries */
/* In hosted->summed: its account is among those of the threads that have ended. */
#define ENDED U64_MAX

static atomic64_t rounds;

struct tacet_profile {
	struct kref references;
	struct mutex reading;		/* one sum is made at a time */
	spinlock_t lock;		/* all below */
	struct tacet_profile *sum;	/* the one that is being made, or NULL */
	u64 round;			/* of a sum: its number */
	u64 user_ns;
	u32 threads;
	u32 count;
	u16 slots[1 << SLOT_BITS];	/* by hash, then upwards: an entry + 1, or 0 */
	struct tacet_spent spent[ENTRIES];
};

static void free_profile(struct kref *references)
{
	kvfree(container_of(references, struct tacet_profile, references));
}

void tacet_profile_get(struct tacet_profile *profile)
{
	if (profile)
		kref_get(&profile->references);
}

/* @profile may be NULL. The last reference is put where the caller may sleep: a thread that is
 * being born has its parent's. */
void tacet_profile_put(struct tacet_profile *profile)
{
	if (profile)
		kref_put(&profile->references, free_profile);
}

static struct tacet_profile *new_profile(void)
{
	struct tacet_profile *profile = kvzalloc(sizeof(*profile), GFP_KERNEL_ACCOUNT);

	if (profile) {
		kref_init(&profile->references);
		mutex_init(&profile->reading);
		spin_lock_init(&profile->lock);
	}
	return profile;
}

/* The profile of an open file, made if there is none. A reference for the caller; NULL: no
 * memory. */
struct tacet_profile *tacet_profile_of_file(struct file *file)
{
	struct tacet_profile *profile = READ_ONCE(file->private_data), *other;

	if (!profile) {
		profile = new_profile();
		if (!profile)
			return NULL;
		other = cmpxchg((struct tacet_profile **)&file->private_data, NULL, profile);
		if (other) {
			tacet_profile_put(profile);
			profile = other;
		}
	}
	tacet_profile_get(profile);
	return profile;
}

/* The entry for this, made if there is none. NULL: no room. */
static struct tacet_spent *entry_of(struct tacet_profile *profile, u32 on, u32 detail)
{
	u32 slot = hash_64((u64)on << 32 | detail, SLOT_BITS);
	struct tacet_spent *entry;

	/* It ends: half of the slots at least are free. */
	for (; profile->slots[slot]; slot = (slot + 1) % ARRAY_SIZE(profile->slots)) {
		entry = &profile->spent[profile->slots[slot] - 1];
		if (entry->on == on && entry->detail == detail)
			return entry;
	}
	if (profile->count == ENTRIES)
		return NULL;
	entry = &profile->spent[profile->count++];
	profile->slots[slot] = profile->count;
	entry->on = on;
	entry->detail = detail;
	return entry;
}

static void add_entry(struct tacet_profile *profile, const struct tacet_spent *spent)
{
	struct tacet_spent *entry = entry_of(profile, READ_ONCE(spent->on), READ_ONCE(spent->detail));

	if (!entry)
		return;
	entry->count += READ_ONCE(spent->count);
	entry->ticks += READ_ONCE(spent->ticks);
	entry->longest_ticks = max(entry->longest_ticks, READ_ONCE(spent->longest_ticks));
}

/* The core writes an entry's kind last. Under @profile's lock, unless nobody else has it. */
static void add_account(struct tacet_profile *profile, struct tacet_hosted *hosted)
{
	const struct tacet_context *context = hosted->context;
	unsigned int i;

	for (i = 0; i < TACET_SPENT_ENTRIES; i++)
		if (smp_load_acquire(&context->spent[i].on) != TACET_SPENT_NOTHING)
			add_entry(profile, &context->spent[i]);
	profile->user_ns += tacet_user_ns(hosted);
	profile->threads++;
}

/* The thread ends; it still has its process. */
void tacet_profile_end(struct tacet_hosted *hosted)
{
	struct tacet_profile *profile = hosted->process->profile;

	lockdep_assert_held(&tacet_hosted_lock);
	if (!profile)
		return;
	spin_lock(&profile->lock);
	if (profile->sum && hosted->summed < profile->sum->round)
		add_account(profile->sum, hosted);
	add_account(profile, hosted);
	hosted->summed = ENDED;
	spin_unlock(&profile->lock);
}

/* Unless the sum has it already: with those that had ended, or as it ended meanwhile. */
static void add_living(struct tacet_hosted *hosted, void *data)
{
	struct tacet_profile *profile = data;
	struct tacet_process *process = READ_ONCE(hosted->process);
	unsigned long irq;

	if (!process || process->profile != profile)
		return;
	/* Under this lock a thread that has not ended has its context. */
	spin_lock_irqsave(&profile->lock, irq);
	if (hosted->summed < profile->sum->round) {
		add_account(profile->sum, hosted);
		hosted->summed = profile->sum->round;
	}
	spin_unlock_irqrestore(&profile->lock, irq);
}

/* @sum begins with the account of the threads that have ended; until @profile has no sum any
 * more, those that end add themselves to both. */
static void begin_sum(struct tacet_profile *profile, struct tacet_profile *sum)
{
	unsigned long irq;

	sum->round = atomic64_inc_return(&rounds);
	spin_lock_irqsave(&profile->lock, irq);
	memcpy(sum->spent, profile->spent, profile->count * sizeof(profile->spent[0]));
	memcpy(sum->slots, profile->slots, sizeof(sum->slots));
	sum->count = profile->count;
	sum->user_ns = profile->user_ns;
	sum->threads = profile->threads;
	profile->sum = sum;
	spin_unlock_irqrestore(&profile->lock, irq);
}

static void end_sum(struct tacet_profile *profile)
{
	unsigned long irq;

	spin_lock_irqsave(&profile->lock, irq);
	profile->sum = NULL;
	spin_unlock_irqrestore(&profile->lock, irq);
}

/* The account of all threads, those that have ended and those that live. ERR_PTR: no memory, or
 * a fatal signal. Sleeps. */
static struct tacet_profile *sum_up(struct tacet_profile *profile)
{
	struct tacet_profile *sum = new_profile();

	if (!sum)
		return ERR_PTR(-ENOMEM);
	if (mutex_lock_killable(&profile->reading)) {
		tacet_profile_put(sum);
		return ERR_PTR(-EINTR);
	}
	begin_sum(profile, sum);
	tacet_for_each_hosted_calmly(add_living, profile);
	end_sum(profile);
	mutex_unlock(&profile->reading);
	return sum;
}

static u64 nanoseconds(u64 ticks)
{
	return mul_u64_u64_div_u64(ticks, NSEC_PER_SEC / 1000, tsc_khz);
}

static int copy_out(struct tacet_profile_read *request, const struct tacet_profile *sum)
{
	struct tacet_cost __user *costs = u64_to_user_ptr(request->address);
	u32 i;

	request->total = sum->count;
	request->count = min(sum->count, request->capacity);
	request->threads = sum->threads;
	request->user_ns = sum->user_ns;
	for (i = 0; i < request->count; i++) {
		const struct tacet_spent *spent = &sum->spent[i];
		struct tacet_cost cost = {
			.on = spent->on,
			.detail = spent->detail,
			.count = spent->count,
			.total_ns = nanoseconds(spent->ticks),
			.longest_ns = nanoseconds(spent->longest_ticks),
		};

		if (copy_to_user(&costs[i], &cost, sizeof(cost)))
			return -EFAULT;
	}
	return 0;
}

/* The profile of process @pid, if the caller may look into that; a reference, NULL: none. */
static struct tacet_profile *profile_of_process(pid_t pid)
{
	struct tacet_profile *profile = ERR_PTR(-ESRCH);
	struct tacet_hosted *hosted;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(find_vpid(pid), PIDTYPE_PID);
	hosted = task ? tacet_hosted_of(task) : NULL;
	if (hosted && !tacet_may_control(task)) {
		profile = ERR_PTR(-EPERM);
	} else if (hosted) {
		struct tacet_process *process = READ_ONCE(hosted->process);

		profile = process ? process->profile : NULL;
		tacet_profile_get(profile);
	}
	rcu_read_unlock();
	return profile;
}

int tacet_read_profile(struct file *file, struct tacet_profile_read *request)
{
	struct tacet_profile *profile, *sum;
	int error;

	if (request->capacity > ENTRIES || request->pid < 0)
		return -EINVAL;
	if (request->pid) {
		profile = profile_of_process(request->pid);
	} else {
		profile = READ_ONCE(file->private_data);
		tacet_profile_get(profile);
	}
	if (IS_ERR_OR_NULL(profile))
		return profile ? PTR_ERR(profile) : -ENODATA;
	sum = sum_up(profile);
	error = PTR_ERR_OR_ZERO(sum);
	if (!error) {
		error = copy_out(request, sum);
		tacet_profile_put(sum);
	}
	tacet_profile_put(profile);
	return error;
}
