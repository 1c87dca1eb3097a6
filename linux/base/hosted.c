// SPDX-License-Identifier: GPL-2.0
/*
 * The table of hosted threads: finding one, holding one, visiting all.
 *
 * Every folder uses it; process/hosted.c enters threads and takes them out. A reference keeps
 * the structure and the task; it does not keep the thread hosted.
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "base/probed.h"
#include "tacet.h"

static DEFINE_HASHTABLE(table, 10);	/* by task; hosted lock, RCU readers */
static LIST_HEAD(ending);		/* not in the table any more, not done yet; hosted lock */
static unsigned int count;		/* of both; hosted lock */
DEFINE_SPINLOCK(tacet_hosted_lock);

/* How many threads are in the table or still ending. */
unsigned int tacet_hosted_count(void)
{
	return READ_ONCE(count);
}

/* The caller is in an RCU read section. */
struct tacet_hosted *tacet_hosted_of(struct task_struct *task)
{
	struct tacet_hosted *hosted;

	hash_for_each_possible_rcu(table, hosted, link, (unsigned long)task)
		if (hosted->task == task)
			return hosted;
	return NULL;
}

struct tacet_hosted *tacet_hosted_get(struct task_struct *task)
{
	struct tacet_hosted *hosted;

	rcu_read_lock();
	hosted = tacet_hosted_of(task);
	if (hosted && !kref_get_unless_zero(&hosted->references))
		hosted = NULL;
	rcu_read_unlock();
	return hosted;
}

static void free_after_readers(struct rcu_head *rcu)
{
	struct tacet_hosted *hosted = container_of(rcu, struct tacet_hosted, rcu);

	put_task_struct(hosted->task);
	kfree(hosted);
}

static void free_hosted(struct kref *references)
{
	struct tacet_hosted *hosted = container_of(references, struct tacet_hosted, references);

	call_rcu(&hosted->rcu, free_after_readers);
	module_put(THIS_MODULE);
}

void tacet_hosted_put(struct tacet_hosted *hosted)
{
	kref_put(&hosted->references, free_hosted);
}

/* A structure for @task, with the caller's reference; in no table yet. Holds the module. */
struct tacet_hosted *tacet_hosted_new(struct task_struct *task, gfp_t gfp)
{
	struct tacet_hosted *hosted = kzalloc(sizeof(*hosted), gfp);

	if (!hosted)
		return NULL;
	if (!try_module_get(THIS_MODULE)) {
		kfree(hosted);
		return NULL;
	}
	kref_init(&hosted->references);
	hosted->task = get_task_struct(task);
	spin_lock_init(&hosted->lock);
	init_waitqueue_head(&hosted->wait);
	atomic_set(&hosted->arming.queued, 0);
	return hosted;
}

/* Enters @hosted into the table, which takes a reference. */
void tacet_hosted_enter(struct tacet_hosted *hosted)
{
	lockdep_assert_held(&tacet_hosted_lock);
	hash_add_rcu(table, &hosted->link, (unsigned long)hosted->task);
	kref_get(&hosted->references);
	count++;
	/* Pairs with the task, which clears its bit, then looks into the table. */
	smp_mb();
	tacet_probe_task(hosted->task);
}

/* Takes @hosted out of the table; it still counts. */
void tacet_hosted_hide(struct tacet_hosted *hosted)
{
	lockdep_assert_held(&tacet_hosted_lock);
	hash_del_rcu(&hosted->link);
	list_add(&hosted->ending, &ending);
}

/* @hosted has given everything back, and does not count any more. This comes last: once
 * nothing counts, the cores and their tables may be taken away. Puts the table's reference. */
void tacet_hosted_leave(struct tacet_hosted *hosted)
{
	unsigned long irq;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	list_del(&hosted->ending);
	count--;
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	tacet_hosted_put(hosted);
}

/* @task, or with @whole a thread of its process, was hosted and still counts. */
bool tacet_hosted_ends(struct task_struct *task, bool whole)
{
	struct tacet_hosted *hosted;
	unsigned long irq;
	bool found = false;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	list_for_each_entry(hosted, &ending, ending)
		found |= hosted->task == task || (whole && hosted->task->tgid == task->tgid);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	return found;
}

/* A thread of job number @job was hosted and still counts. */
bool tacet_hosted_ends_of(unsigned int job)
{
	struct tacet_hosted *hosted;
	unsigned long irq;
	bool found = false;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	list_for_each_entry(hosted, &ending, ending)
		found |= hosted->job == job;
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	return found;
}

/* The number of the calling thread's job, or 0. Any context. */
unsigned int tacet_hosted_job(void)
{
	struct tacet_hosted *hosted;
	unsigned int job;

	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	job = hosted ? hosted->job : 0;
	rcu_read_unlock();
	return job;
}

/* A thread counts whose core maps the memory of all, since its job is not kept apart. */
bool tacet_hosted_of_all_locked(void)
{
	struct tacet_hosted *hosted;
	unsigned int bucket;
	bool found = false;

	lockdep_assert_held(&tacet_hosted_lock);
	list_for_each_entry(hosted, &ending, ending)
		found |= !tacet_job_maps(hosted->job);
	hash_for_each(table, bucket, hosted, link)
		found |= !tacet_job_maps(hosted->job);
	return found;
}

bool tacet_hosted_any_of_all(void)
{
	unsigned long irq;
	bool found;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	found = count && tacet_hosted_of_all_locked();
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	return found;
}

/* Calls @visit for each hosted thread, which cannot go away meanwhile. */
void tacet_for_each_hosted(void (*visit)(struct tacet_hosted *, void *), void *data)
{
	struct tacet_hosted *hosted;
	unsigned int bucket;

	rcu_read_lock();
	hash_for_each_rcu(table, bucket, hosted, link)
		visit(hosted, data);
	rcu_read_unlock();
}

/* The same for long work: others run in between. A thread that comes or goes meanwhile may be
 * left out. @visit does not sleep. */
void tacet_for_each_hosted_calmly(void (*visit)(struct tacet_hosted *, void *), void *data)
{
	struct tacet_hosted *hosted;
	unsigned int bucket;

	for (bucket = 0; bucket < HASH_SIZE(table); bucket++) {
		rcu_read_lock();
		hlist_for_each_entry_rcu(hosted, &table[bucket], link)
			visit(hosted, data);
		rcu_read_unlock();
		cond_resched();
	}
}

/* Wakes the proxy, in whichever state it sleeps (delegate/asleep.c) or halts (delegate/halt.c). Any context. */
void tacet_hosted_wake(struct tacet_hosted *hosted)
{
	__wake_up(&hosted->wait, TASK_NORMAL | TASK_WAKEKILL, 1, NULL);
	/* After what it is woken for, which the proxy reads after it has said that it halts. */
	smp_mb();
	if (READ_ONCE(hosted->proxy.halts))
		kick_process(hosted->task);
}

/* Tells the proxy what is @wanted of it. If its thread is on a core it recalls it. */
void tacet_want(struct tacet_hosted *hosted, enum tacet_want wanted)
{
	atomic_or(wanted, &hosted->wanted);
	tacet_hosted_wake(hosted);
}

static void wake_one(struct tacet_hosted *hosted, void *data)
{
	tacet_hosted_wake(hosted);
}

/* Every parked proxy looks at its conditions again. */
void tacet_hosted_wake_all(void)
{
	tacet_for_each_hosted(wake_one, NULL);
}
