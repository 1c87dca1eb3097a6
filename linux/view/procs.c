// SPDX-License-Identifier: GPL-2.0
/*
 * Linux's files about CPUs and threads in /proc, as a hosted program reads them.
 *
 * Called by view/files.c with the view's lock. Sleeps.
 */
#include <linux/ctype.h>
#include <linux/kernel_stat.h>
#include <linux/math64.h>
#include <linux/pid.h>
#include <linux/sched/cputime.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "base/facts.h"
#include "compat.h"
#include "process/process.h"
#include "view/view.h"

#define PROCESSOR_FIELD 39	/* of /proc/PID/stat: the CPU; proc_pid_stat(5) */

static u64 user_hz(u64 ns)
{
	return div_u64(ns, NSEC_PER_SEC / USER_HZ);
}

/* A line of /proc/stat for one of the partition's CPUs: what Linux counted while it had the
 * CPU, and since then the time that the core gave to threads. The rest is idle time. */
static int print_core(struct tacet_text *to, unsigned int cpu)
{
	const u64 *stat = kcpustat_cpu(cpu).cpustat;
	u64 user = atomic64_read(per_cpu_ptr(&tacet_core_user_ns, cpu));
	u64 since = ktime_get_ns() - READ_ONCE(per_cpu(tacet_core_taken_ns, cpu));

	return tacet_text_print(to, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", cpu,
				user_hz(stat[CPUTIME_USER] + user), user_hz(stat[CPUTIME_NICE]),
				user_hz(stat[CPUTIME_SYSTEM]),
				user_hz(stat[CPUTIME_IDLE] + (since > user ? since - user : 0)),
				user_hz(stat[CPUTIME_IOWAIT]), user_hz(stat[CPUTIME_IRQ]),
				user_hz(stat[CPUTIME_SOFTIRQ]), user_hz(stat[CPUTIME_STEAL]),
				user_hz(stat[CPUTIME_GUEST]), user_hz(stat[CPUTIME_GUEST_NICE]));
}

static int print_processor(struct tacet_text *to, unsigned int cpu)
{
	int error = tacet_fact_print(cpu, "cpuinfo", to);

	return error == -ENOENT ? 0 : error;
}

/* Prints the partition's CPUs after *@printed and below @limit. */
static int print_below(struct tacet_text *to, const struct cpumask *cpus, int *printed, unsigned int limit,
		       int (*part)(struct tacet_text *to, unsigned int cpu))
{
	unsigned int next;
	int error = 0;

	while (!error && (next = cpumask_next(*printed, cpus)) < min(limit, nr_cpu_ids)) {
		error = part(to, next);
		*printed = next;
	}
	return error;
}

/* A line about @cpu. In /proc/cpuinfo Linux counts the CPUs of its package that are online. */
static int copy_line(struct tacet_text *to, const char *line, const char *next, unsigned int cpu)
{
	unsigned int siblings;

	if (cpu < nr_cpu_ids && sscanf(line, "siblings : %u", &siblings) == 1)
		return tacet_text_print(to, "siblings\t: %u\n", siblings + tacet_view_package_mates(cpu));
	return tacet_text_append(to, line, next - line);
}

/* Copies @from, whose parts about CPUs begin with lines that @begins knows, in the order of
 * the CPUs. The partition's CPUs get their parts where their numbers belong. The parts end at
 * the line that starts with @after, or at the text's end. */
static int insert(const struct tacet_text *from, struct tacet_text *to,
		  bool (*begins)(const char *line, unsigned int *cpu), const char *after,
		  int (*part)(struct tacet_text *to, unsigned int cpu))
{
	const char *line = from->start, *end = line + from->bytes, *next;
	struct cpumask *cpus = kzalloc(sizeof(*cpus), GFP_KERNEL);
	int error = cpus ? 0 : -ENOMEM, printed = -1;
	unsigned int cpu = nr_cpu_ids;

	if (cpus)
		tacet_view_cpus(cpus);
	for (; line < end && !error; line = next) {
		next = tacet_text_next_line(line, end);
		if (begins(line, &cpu))
			error = print_below(to, cpus, &printed, cpu, part);
		else if (after && !strncmp(line, after, strlen(after)))
			error = print_below(to, cpus, &printed, nr_cpu_ids, part);
		error = error ?: copy_line(to, line, next, cpu);
	}
	error = error ?: print_below(to, cpus, &printed, nr_cpu_ids, part);
	kfree(cpus);
	return error;
}

/* Not the first line, which is the sum. */
static bool begins_stat(const char *line, unsigned int *cpu)
{
	return !strncmp(line, "cpu", 3) && isdigit(line[3]) && sscanf(line + 3, "%u", cpu) == 1;
}

static bool begins_processor(const char *line, unsigned int *cpu)
{
	return sscanf(line, "processor : %u", cpu) == 1;
}

int tacet_view_stat(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	return insert(from, to, begins_stat, "intr", print_core);
}

int tacet_view_cpuinfo(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	return insert(from, to, begins_processor, NULL, print_processor);
}

/* The hosted thread that the file is about, with a reference; NULL: it is not hosted. */
static struct tacet_hosted *hosted_subject(const struct tacet_view *view)
{
	struct task_struct *task = view->pid ? get_pid_task(view->pid, PIDTYPE_PID) : NULL;
	struct tacet_hosted *hosted = task ? tacet_hosted_get(task) : NULL;

	if (task)
		put_task_struct(task);
	return hosted;
}

/* The hosted thread's core; false: it has none any more. */
static bool core_of(struct tacet_hosted *hosted, unsigned int *cpu)
{
	unsigned long irq;
	bool hosted_yet;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	hosted_yet = hosted->process;
	if (hosted_yet)
		*cpu = hosted->place.core->cpu;
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	return hosted_yet;
}

/* The lines about CPUs say where the thread may go. */
int tacet_view_status(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	const char *line = from->start, *end = line + from->bytes, *next;
	struct tacet_hosted *hosted = hosted_subject(view);
	int error = 0;

	for (; line < end && !error; line = next) {
		next = tacet_text_next_line(line, end);
		if (hosted && !strncmp(line, "Cpus_allowed:", 13))
			error = tacet_text_print(to, "Cpus_allowed:\t%*pb\n", cpumask_pr_args(&hosted->place.cpus));
		else if (hosted && !strncmp(line, "Cpus_allowed_list:", 18))
			error = tacet_text_print(to, "Cpus_allowed_list:\t%*pbl\n",
						 cpumask_pr_args(&hosted->place.cpus));
		else
			error = tacet_text_append(to, line, next - line);
	}
	if (hosted)
		tacet_hosted_put(hosted);
	return error;
}

/* The thread's CPU is its core. The second field, a name, may have spaces and brackets. */
int tacet_view_thread_stat(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	struct tacet_hosted *hosted = hosted_subject(view);
	const char *field = strrchr(from->start, ')');
	unsigned int number = 2, cpu = 0;
	bool on_core = false;
	int error;

	if (hosted) {
		on_core = core_of(hosted, &cpu);
		tacet_hosted_put(hosted);
	}
	while (field && number < PROCESSOR_FIELD) {
		field = strchr(field + 1, ' ');
		number++;
	}
	if (!on_core || !field)
		return tacet_text_append(to, from->start, from->bytes);
	error = tacet_text_append(to, from->start, field - from->start);
	error = error ?: tacet_text_print(to, " %u", cpu);
	field = strchr(field + 1, ' ');
	return error ?: field ? tacet_text_append(to, field, strlen(field)) : 0;
}
