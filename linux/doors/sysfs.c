// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/tacet: the interface of the Decoupled paper (§3.5).
 *
 *   echo PID > decouple        host all threads of a process; reading lists hosted processes
 *   echo CPU > PID/cpu         move its first thread; -1: back to Linux
 *   cat PID/cpu                the CPU of its first thread; -1: it is not hosted
 *
 * Pids are those of the caller's namespace. By the files' mode only root may write them; each
 * write is checked by the rules for tracers too.
 */
#include <linux/delay.h>
#include <linux/kobject.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "doors/doors.h"
#include "pico/linux/pico.h"
#include "process/process.h"
#include "tacet.h"

static struct kobject *root;
static DEFINE_MUTEX(directory_lock);

static LIST_HEAD(directories);	/* that exist now; the mutex */

struct directory {
	struct list_head link;
	struct kobject kobject;
	struct pid *tgid;
};

static void print_pid(struct tacet_hosted *hosted, void *data)
{
	char *buffer = data;
	pid_t pid = task_pid_vnr(hosted->task);
	size_t used = strlen(buffer);

	if (thread_group_leader(hosted->task) && pid)
		scnprintf(buffer + used, PAGE_SIZE - used, "%d\n", pid);
}

static ssize_t decouple_show(struct kobject *kobject, struct kobj_attribute *attribute, char *buffer)
{
	buffer[0] = 0;
	tacet_for_each_hosted(print_pid, buffer);
	return strlen(buffer);
}

static ssize_t decouple_store(struct kobject *kobject, struct kobj_attribute *attribute,
			      const char *buffer, size_t count)
{
	pid_t pid;
	int error = kstrtoint(buffer, 10, &pid);

	if (!error && pid <= 0)
		error = -EINVAL;
	error = error ?: tacet_request_decouple(pid, TACET_ANY_CPU, 0);
	return error ?: count;
}
static struct kobj_attribute decouple_attribute = __ATTR_RW_MODE(decouple, 0644);

static ssize_t pico_show(struct kobject *kobject, struct kobj_attribute *attribute, char *buffer)
{
	return tacet_pico_show(buffer);
}
static struct kobj_attribute pico_attribute = __ATTR_RO(pico);

static struct attribute *root_attrs[] = { &decouple_attribute.attr, &pico_attribute.attr, NULL };
static const struct attribute_group root_group = { .attrs = root_attrs };

static ssize_t cpu_show(struct kobject *kobject, struct kobj_attribute *attribute, char *buffer)
{
	struct directory *directory = container_of(kobject, struct directory, kobject);
	struct task_struct *task = get_pid_task(directory->tgid, PIDTYPE_TGID);
	struct tacet_hosted *hosted;
	unsigned long irq;
	int cpu = -1;

	if (!task)
		return -ESRCH;
	hosted = tacet_hosted_get(task);
	put_task_struct(task);
	if (hosted) {
		spin_lock_irqsave(&tacet_hosted_lock, irq);
		if (hosted->process)
			cpu = hosted->place.core->cpu;
		spin_unlock_irqrestore(&tacet_hosted_lock, irq);
		tacet_hosted_put(hosted);
	}
	return sysfs_emit(buffer, "%d\n", cpu);
}

static ssize_t cpu_store(struct kobject *kobject, struct kobj_attribute *attribute,
			 const char *buffer, size_t count)
{
	struct directory *directory = container_of(kobject, struct directory, kobject);
	pid_t pid = pid_vnr(directory->tgid);
	int cpu, error = kstrtoint(buffer, 10, &cpu);

	if (error)
		return error;
	if (cpu < -1 || !pid)
		return -EINVAL;
	if (cpu == -1)
		error = tacet_request_recouple(pid, 0);
	else
		error = tacet_request_decouple(pid, cpu, TACET_DECOUPLE_THREAD);
	return error ?: count;
}
static struct kobj_attribute cpu_attribute = __ATTR_RW_MODE(cpu, 0644);

static struct attribute *directory_attrs[] = { &cpu_attribute.attr, NULL };
ATTRIBUTE_GROUPS(directory);

static void free_directory(struct kobject *kobject)
{
	struct directory *directory = container_of(kobject, struct directory, kobject);

	put_pid(directory->tgid);
	kfree(directory);
}

static const struct kobj_type directory_type = {
	.release = free_directory,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = directory_groups,
};

static bool directory_exists(const struct pid *tgid)
{
	struct directory *directory;

	lockdep_assert_held(&directory_lock);
	list_for_each_entry(directory, &directories, link)
		if (directory->tgid == tgid)
			return true;
	return false;
}

static void add_directory(struct tacet_process *process)
{
	struct directory *directory = kzalloc(sizeof(*directory), GFP_KERNEL);

	lockdep_assert_held(&directory_lock);
	if (!directory)
		return;
	directory->tgid = get_pid(process->tgid);
	if (kobject_init_and_add(&directory->kobject, (struct kobj_type *)&directory_type, root,
				 "%d", pid_nr(process->tgid))) {
		kobject_put(&directory->kobject);
		return;
	}
	list_add(&directory->link, &directories);
	WRITE_ONCE(process->directory, &directory->kobject);
}

/*
 * A process is hosted. If it was hosted a moment ago, its old directory may still exist: that
 * goes first. The calling thread holds the process. Sleeps.
 */
static void process_came(struct tacet_process *process)
{
	unsigned int tries;

	for (tries = 0; tries < 200 && !READ_ONCE(process->directory); tries++) {
		if (tries)
			msleep(1);
		mutex_lock(&directory_lock);
		if (!process->directory && !directory_exists(process->tgid))
			add_directory(process);
		mutex_unlock(&directory_lock);
	}
}

/* No thread of the process is hosted any more. Sleeps. */
static void process_gone(struct tacet_process *process)
{
	struct directory *directory;

	if (!process->directory)
		return;
	directory = container_of(process->directory, struct directory, kobject);
	kobject_del(&directory->kobject);
	mutex_lock(&directory_lock);
	list_del(&directory->link);
	mutex_unlock(&directory_lock);
	kobject_put(&directory->kobject);
}

static const struct tacet_process_operations process_operations = {
	.came = process_came,
	.gone = process_gone,
};

int tacet_sysfs_init(void)
{
	int error;

	tacet_process_register(&process_operations);
	root = kobject_create_and_add("tacet", kernel_kobj);
	if (!root)
		return -ENOMEM;
	error = sysfs_create_group(root, &root_group);
	if (error)
		kobject_put(root);
	return error;
}

void tacet_sysfs_exit(void)
{
	kobject_put(root);
}
