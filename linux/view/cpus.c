// SPDX-License-Identifier: GPL-2.0
/*
 * Sets of CPUs in Linux's files, as a hosted program reads them: with the partition's CPUs,
 * which Linux calls offline.
 *
 * Called by view/files.c with the view's lock. Sleeps. The partition may end at any moment:
 * then the text stays Linux's.
 */
#include <linux/bitmap.h>
#include <linux/nodemask.h>

#include "base/facts.h"
#include "compat.h"
#include "process/process.h"
#include "view/view.h"

static int copy(const struct tacet_text *from, struct tacet_text *to)
{
	return tacet_text_append(to, from->start, from->bytes);
}

/* The partition's CPUs that the calling program may use; false: there is no partition. */
bool tacet_view_cpus(struct cpumask *cpus)
{
	if (READ_ONCE(tacet_partition.state) != TACET_PARTITION_UP)
		return false;
	tacet_job_cpus_mine(cpus);
	return true;
}

/* The file is a list ("0-3"), or a mask in hexadecimal digits. */
static bool is_list(const char *name)
{
	size_t bytes = strlen(name);

	return bytes >= 4 && !strcmp(name + bytes - 4, "list");
}

static int parse(const struct tacet_text *text, bool list, struct cpumask *cpus)
{
	if (list)
		return bitmap_parselist(text->start, cpumask_bits(cpus), nr_cpu_ids);
	return bitmap_parse(text->start, text->bytes, cpumask_bits(cpus), nr_cpu_ids);
}

static int print(struct tacet_text *to, bool list, const struct cpumask *cpus)
{
	return tacet_text_print(to, list ? "%*pbl\n" : "%*pb\n", cpumask_pr_args(cpus));
}

/* What a change needs: the set that Linux names, and the partition's CPUs. */
struct sets {
	struct cpumask linux_cpus, partition, other;
};

typedef void (*alter_fn)(const struct tacet_view *view, struct sets *sets, bool list);

static int change(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to,
		  bool list, alter_fn alter)
{
	struct sets *sets = kmalloc(sizeof(*sets), GFP_KERNEL);
	int error;

	if (!sets)
		return -ENOMEM;
	if (!tacet_view_cpus(&sets->partition) || parse(from, list, &sets->linux_cpus)) {
		error = copy(from, to);
	} else {
		alter(view, sets, list);
		error = print(to, list, &sets->linux_cpus);
	}
	kfree(sets);
	return error;
}

static void with_partition(const struct tacet_view *view, struct sets *sets, bool list)
{
	cpumask_or(&sets->linux_cpus, &sets->linux_cpus, &sets->partition);
}

static void without_partition(const struct tacet_view *view, struct sets *sets, bool list)
{
	cpumask_andnot(&sets->linux_cpus, &sets->linux_cpus, &sets->partition);
}

int tacet_view_online(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	return change(view, from, to, true, with_partition);
}

int tacet_view_offline(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	return change(view, from, to, true, without_partition);
}

/* cpuN/online */
int tacet_view_cpu_online(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	if (READ_ONCE(tacet_partition.state) == TACET_PARTITION_UP && view->numbers[0] < nr_cpu_ids &&
	    tacet_job_cpu_mine(view->numbers[0]))
		return tacet_text_append(to, "1\n", 2);
	return copy(from, to);
}

static void with_nodes_cpus(const struct tacet_view *view, struct sets *sets, bool list)
{
	unsigned int cpu;

	for_each_cpu(cpu, &sets->partition)
		if (cpu_to_node(cpu) == view->numbers[0])
			cpumask_set_cpu(cpu, &sets->linux_cpus);
}

/* nodeN/cpulist and cpumap */
int tacet_view_node(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	if (strcmp(view->name, "cpulist") && strcmp(view->name, "cpumap"))
		return copy(from, to);
	return change(view, from, to, is_list(view->name), with_nodes_cpus);
}

static void with_devices_cpus(const struct tacet_view *view, struct sets *sets, bool list)
{
	unsigned int cpu;

	for_each_cpu(cpu, &sets->partition)
		if (view->node < 0 || cpu_to_node(cpu) == view->node)
			cpumask_set_cpu(cpu, &sets->linux_cpus);
}

/* The CPUs near a device. */
int tacet_view_device(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	return change(view, from, to, is_list(view->name), with_devices_cpus);
}

/* The nodes that have CPUs. */
int tacet_view_nodes(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	nodemask_t nodes;
	unsigned int cpu;

	if (READ_ONCE(tacet_partition.state) != TACET_PARTITION_UP ||
	    bitmap_parselist(from->start, nodes.bits, MAX_NUMNODES))
		return copy(from, to);
	for_each_cpu(cpu, &tacet_partition.cpus)
		node_set(cpu_to_node(cpu), nodes);
	return tacet_text_print(to, "%*pbl\n", nodemask_pr_args(&nodes));
}

/*
 * The CPUs that share something with CPU numbers[0]: Linux leaves out those that are offline
 * now. What each of the partition's CPUs shared with it, Linux said before it went offline.
 */
static void with_sharers(const struct tacet_view *view, struct sets *sets, bool list, const char *name)
{
	struct tacet_text said = {};
	unsigned int cpu;

	for_each_cpu(cpu, &sets->partition) {
		tacet_text_empty(&said);
		if (!tacet_fact_print(cpu, name, &said) && !parse(&said, list, &sets->other) &&
		    cpumask_test_cpu(view->numbers[0], &sets->other))
			cpumask_set_cpu(cpu, &sets->linux_cpus);
	}
	tacet_text_free(&said);
	cpumask_or(&sets->other, cpu_online_mask, &sets->partition);
	cpumask_and(&sets->linux_cpus, &sets->linux_cpus, &sets->other);
}

/* How many of the partition's CPUs are in the package of @cpu. */
unsigned int tacet_view_package_mates(unsigned int cpu)
{
	struct tacet_view view = { .numbers = { cpu } };
	struct sets *sets = kzalloc(sizeof(*sets), GFP_KERNEL);
	unsigned int mates = 0;

	if (sets && tacet_view_cpus(&sets->partition)) {
		with_sharers(&view, sets, true, "topology/core_siblings_list");
		mates = cpumask_weight_and(&sets->linux_cpus, &sets->partition);
	}
	kfree(sets);
	return mates;
}

static void with_topology(const struct tacet_view *view, struct sets *sets, bool list)
{
	char name[48];

	snprintf(name, sizeof(name), "topology/%s", view->name);
	with_sharers(view, sets, list, name);
}

static void with_cache(const struct tacet_view *view, struct sets *sets, bool list)
{
	char name[48];

	snprintf(name, sizeof(name), "cache/index%u/%s", view->numbers[1], view->name);
	with_sharers(view, sets, list, name);
}

static bool ends_with(const char *name, const char *end)
{
	size_t bytes = strlen(name), wanted = strlen(end);

	return bytes >= wanted && !strcmp(name + bytes - wanted, end);
}

/* cpuN/topology: the sets among its files. */
int tacet_view_topology(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	bool set = is_list(view->name) || ends_with(view->name, "_cpus") || ends_with(view->name, "_siblings");

	if (!set || view->numbers[0] >= nr_cpu_ids)
		return copy(from, to);
	return change(view, from, to, is_list(view->name), with_topology);
}

/* cpuN/cache/indexM: the sets among its files. */
int tacet_view_cache(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	if (strncmp(view->name, "shared_cpu_", 11) || view->numbers[0] >= nr_cpu_ids)
		return copy(from, to);
	return change(view, from, to, is_list(view->name), with_cache);
}
