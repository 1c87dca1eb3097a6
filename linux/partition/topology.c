// SPDX-License-Identifier: GPL-2.0
/*
 * The topology of the partition's CPUs. Linux removes a CPU's directories `topology` and
 * `cache` when the CPU goes offline. Programs on that CPU need them, and Linux's tools may
 * read them: this file reads them before the CPUs leave, and publishes them while the CPUs
 * are in the partition. The content is Linux's own.
 *
 * Called by partition/partition.c with the control lock held, and by doors/device.c, which has this
 * file read before it takes that lock. Sleeps. The directories must be gone before Linux brings the
 * CPU online, which makes its own. Nobody else gets that far: partition/hotplug.c refuses in an
 * earlier state (TACET_CPUHP_REFUSE).
 */
#include <linux/cpu.h>
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "base/facts.h"
#include "compat.h"
#include "partition/partition.h"
#include "tacet.h"

#define CACHES 8	/* at most, of a CPU */

static const char *const topology_files[] = {
	"physical_package_id", "die_id", "cluster_id", "core_id", "ppin",
	"thread_siblings", "thread_siblings_list", "core_siblings", "core_siblings_list",
	"core_cpus", "core_cpus_list", "cluster_cpus", "cluster_cpus_list",
	"die_cpus", "die_cpus_list", "package_cpus", "package_cpus_list",
};
static const char *const cache_files[] = {
	"level", "type", "size", "id", "coherency_line_size", "number_of_sets", "ways_of_associativity",
	"physical_line_partition", "shared_cpu_map", "shared_cpu_list",
};

struct directory {
	struct list_head link;
	unsigned int cpu;
	struct kobject *kobject;
};

struct published {
	struct list_head link;
	struct kobj_attribute attribute;
	const struct tacet_fact *fact;
};

/*
 * Held by a request to begin, from before it reads until its end. Linux holds locks of its own while it
 * reads a file of sysfs, and while it has a file of ours written, which takes the control lock. So no
 * file is read with the control lock.
 */
static DEFINE_MUTEX(learning);
static LIST_HEAD(learned);		/* the mutex */
static struct cpumask learned_cpus;	/* that were online before they were read about; the mutex */

static LIST_HEAD(directories);		/* children after their parents; control lock */
static LIST_HEAD(published);		/* control lock */

/* A file that Linux does not have is none of the facts. */
static int learn(unsigned int cpu, const char *name)
{
	struct tacet_text text = {};
	char path[96];
	int error;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/%s", cpu, name);
	error = tacet_text_read_file(&text, path);
	if (!error)
		error = text.bytes ? tacet_fact_add(&learned, cpu, name, &text) : 0;
	tacet_text_free(&text);
	return error == -ENOMEM ? error : 0;
}

static int learn_directories(unsigned int cpu)
{
	unsigned int file, cache;
	char name[48];
	int error = 0;

	for (file = 0; file < ARRAY_SIZE(topology_files) && !error; file++) {
		snprintf(name, sizeof(name), "topology/%s", topology_files[file]);
		error = learn(cpu, name);
	}
	for (cache = 0; cache < CACHES; cache++)
		for (file = 0; file < ARRAY_SIZE(cache_files) && !error; file++) {
			snprintf(name, sizeof(name), "cache/index%u/%s", cache, cache_files[file]);
			error = learn(cpu, name);
		}
	return error;
}

/* Linux's paragraph about each of the request's CPUs, with the empty line at its end. */
static int learn_processors(void)
{
	struct tacet_text text = {}, paragraph = {};
	const char *line, *next, *end;
	unsigned int cpu = nr_cpu_ids;
	int error = tacet_text_read_file(&text, "/proc/cpuinfo");

	line = text.start;
	end = line + text.bytes;
	for (; !error && line < end; line = next) {
		next = tacet_text_next_line(line, end);
		if (sscanf(line, "processor : %u", &cpu) == 1)
			tacet_text_empty(&paragraph);
		error = tacet_text_append(&paragraph, line, next - line);
		if (*line == '\n' && cpu < nr_cpu_ids && cpumask_test_cpu(cpu, &learned_cpus) && !error)
			error = tacet_fact_add(&learned, cpu, "cpuinfo", &paragraph);
	}
	tacet_text_free(&text);
	tacet_text_free(&paragraph);
	return error == -ENOMEM ? error : 0;
}

/* The request is over. */
void tacet_topology_learned(void)
{
	tacet_facts_free(&learned);
	mutex_unlock(&learning);
}

/* Reads what Linux says about the request's CPUs, before it has the control lock. If that succeeds
 * tacet_topology_learned() follows. */
int tacet_topology_learn(const struct tacet_up *request)
{
	unsigned int cpu;
	int error;

	if (mutex_lock_killable(&learning))
		return -EINTR;
	cpumask_clear(&learned_cpus);
	for_each_online_cpu(cpu)
		if (cpu < TACET_MAX_CPUS &&
		    (request->cpus[cpu / 64] | request->spare[cpu / 64]) >> (cpu % 64) & 1)
			cpumask_set_cpu(cpu, &learned_cpus);
	error = learn_processors();
	for_each_cpu(cpu, &learned_cpus)
		error = error ?: learn_directories(cpu);
	if (error)
		tacet_topology_learned();
	return error;
}

/* Before the first CPU leaves Linux; it is about all that may ever leave. */
int tacet_topology_keep(struct tacet_up *request)
{
	unsigned int i;

	lockdep_assert_held(&learning);
	for (i = 0; i < tacet_partition.core_count; i++)
		if (!cpumask_test_cpu(tacet_partition.cores[i].cpu, &learned_cpus))
			return tacet_complain(request->message, -EAGAIN, "cpu %u: it came online just now",
					      tacet_partition.cores[i].cpu);
	tacet_facts_adopt(&learned);
	return 0;
}

void tacet_topology_forget(void)
{
	lockdep_assert_held(&tacet_control_lock);
	tacet_facts_free(&tacet_facts);
}

static ssize_t show(struct kobject *kobject, struct kobj_attribute *attribute, char *buffer)
{
	const struct published *file = container_of(attribute, struct published, attribute);

	return sysfs_emit(buffer, "%s", file->fact->text.start);
}

/* The directory @name of @parent, which exists or is made now. */
static struct kobject *directory_in(struct kobject *parent, const char *name, unsigned int cpu)
{
	struct directory *directory;

	list_for_each_entry(directory, &directories, link)
		if (directory->kobject->parent == parent && !strcmp(kobject_name(directory->kobject), name))
			return directory->kobject;
	directory = kzalloc(sizeof(*directory), GFP_KERNEL);
	if (!directory)
		return NULL;
	directory->kobject = kobject_create_and_add(name, parent);
	if (!directory->kobject) {
		kfree(directory);
		return NULL;
	}
	directory->cpu = cpu;
	list_add_tail(&directory->link, &directories);
	return directory->kobject;
}

/* Makes the file of @fact, and the directories that its name has. */
static int publish(const struct tacet_fact *fact)
{
	struct device *device = get_cpu_device(fact->cpu);
	struct kobject *kobject = device ? &device->kobj : NULL;
	const char *name = fact->name, *slash;
	struct published *file;
	char directory[48];
	int error;

	while (kobject && (slash = strchr(name, '/'))) {
		snprintf(directory, sizeof(directory), "%.*s", (int)(slash - name), name);
		kobject = directory_in(kobject, directory, fact->cpu);
		name = slash + 1;
	}
	if (!kobject || name == fact->name)
		return kobject ? 0 : -ENOMEM;	/* cpuinfo is no file of sysfs */
	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return -ENOMEM;
	sysfs_attr_init(&file->attribute.attr);
	file->attribute.attr.name = name;
	file->attribute.attr.mode = 0444;
	file->attribute.show = show;
	file->fact = fact;
	error = sysfs_create_file(kobject, &file->attribute.attr);
	if (error) {
		kfree(file);
		return error;
	}
	list_add_tail(&file->link, &published);
	return 0;
}

/* After the CPU has left Linux. Of an error the caller undoes what is done. */
int tacet_topology_publish_cpu(unsigned int cpu)
{
	const struct tacet_fact *fact;
	int error = 0;

	lockdep_assert_held(&tacet_control_lock);
	list_for_each_entry(fact, &tacet_facts, link) {
		if (fact->cpu == cpu)
			error = publish(fact);
		if (error)
			break;
	}
	return error;
}

int tacet_topology_publish(struct tacet_up *request)
{
	unsigned int cpu;
	int error = 0;

	for_each_cpu(cpu, &tacet_partition.cpus)
		error = error ?: tacet_topology_publish_cpu(cpu);
	return error;
}

/* Before the CPU comes back. Waits for readers. */
void tacet_topology_withdraw_cpu(unsigned int cpu)
{
	struct directory *directory, *next_directory;
	struct published *file, *next_file;

	lockdep_assert_held(&tacet_control_lock);
	list_for_each_entry_safe_reverse(directory, next_directory, &directories, link) {
		if (directory->cpu != cpu)
			continue;
		list_del(&directory->link);
		kobject_del(directory->kobject);
		kobject_put(directory->kobject);
		kfree(directory);
	}
	list_for_each_entry_safe(file, next_file, &published, link) {
		if (file->fact->cpu != cpu)
			continue;
		list_del(&file->link);
		kfree(file);
	}
}

void tacet_topology_withdraw(void)
{
	unsigned int cpu;

	for_each_cpu(cpu, &tacet_partition.reach)
		tacet_topology_withdraw_cpu(cpu);
}
