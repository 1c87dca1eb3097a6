// SPDX-License-Identifier: GPL-2.0
/*
 * Which users may host, recall and look into a process, and which programs may be hosted for
 * them.
 */
#include <linux/binfmts.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

/* The caller may control @task, by the rules for attaching a tracer without those of security
 * modules: the same user in every respect and a dumpable process, or CAP_SYS_PTRACE. */
bool tacet_may_control(struct task_struct *task)
{
	const struct cred *mine = current_cred(), *theirs;
	bool same;

	if (capable(CAP_SYS_PTRACE))
		return true;
	rcu_read_lock();
	theirs = __task_cred(task);
	same = uid_eq(mine->uid, theirs->euid) && uid_eq(mine->uid, theirs->suid) &&
	       uid_eq(mine->uid, theirs->uid) && gid_eq(mine->gid, theirs->egid) &&
	       gid_eq(mine->gid, theirs->sgid) && gid_eq(mine->gid, theirs->gid);
	task_lock(task);
	same = same && tacet_dumpable(task);
	task_unlock(task);
	rcu_read_unlock();
	return same;
}

/* The caller may have privileged programs hosted: it is root. */
bool tacet_may_host_privileged(void)
{
	return capable(CAP_SYS_ADMIN);
}

/*
 * @program, which @task has just begun, has rights that the program before it did not have
 * (set-user-ID, set-group-ID, file capabilities, a security module: what Linux tells it as
 * AT_SECURE), or its user may not look into it. Whoever asked for hosting before does not
 * decide where its memory lies and which CPU executes it.
 */
bool tacet_program_privileged(struct task_struct *task, const struct linux_binprm *program)
{
	return program->secureexec || !tacet_dumpable(task);
}
