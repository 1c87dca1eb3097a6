// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The functions that the files under test call: Linux's hotplug, the cores, and the rest of the module. Each step that can fail
 * does so on purpose; a step that is done twice, or undone without having been done, is a bug of the caller.
 */
#include "arch/arch.h"
#include "border/border.h"
#include "memory/memory.h"
#include "world.h"

struct machine_cpu machine[CPUS];
spinlock_t tacet_hosted_lock;
static u64 now_ns = 1;

void machine_begin(void)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int i;

	partition->state = TACET_PARTITION_UP;
	partition->core_count = CPUS - FIRST_OF_REACH;
	partition->cores = calloc(partition->core_count, sizeof(*partition->cores));
	for (i = 0; i < partition->core_count; i++) {
		partition->cores[i].cpu = FIRST_OF_REACH + i;
		partition->cores[i].physical_core = i / 2;
		partition->cores[i].shared = calloc(1, sizeof(struct tacet_cpu));
		cpumask_set_cpu(FIRST_OF_REACH + i, &partition->reach);
	}
	partition->memory = calloc(1, sizeof(*partition->memory));
	partition->memory->block_count = 1;
	partition->memory->blocks[0].count = MEMORY_BYTES >> PAGE_SHIFT;
}

void bug(const char *what)
{
	printf("bug: %s\n", what);
	exit(3);
}

void *memchr_inv(const void *at, int byte, size_t bytes)
{
	const unsigned char *place = at;

	for (; bytes; bytes--, place++)
		if (*place != (unsigned char)byte)
			return (void *)place;
	return NULL;
}

u64 ktime_get_ns(void)
{
	return now_ns++;
}

u64 ktime_get_boottime_ns(void)
{
	return now_ns++;
}

/* Where nobody holds the control lock, another request is executed meanwhile. */
void msleep(unsigned int ms)
{
	now_ns += ms * NSEC_PER_MSEC;
	elapse();
	if (!tacet_control_lock.held)
		request_between();
}

bool cpu_online(unsigned int cpu)
{
	return !machine[cpu].offline;
}

static void set(bool *flag, bool to, const char *what)
{
	if (*flag == to)
		bug(what);
	*flag = to;
}

int tacet_core_open(struct tacet_core *core, char *message)
{
	elapse();
	if (fault_here())
		return tacet_complain(message, -ENOSPC, "fault");
	set(&machine[core->cpu].open, true, "opened twice");
	return 0;
}

void tacet_arch_notify_close(struct tacet_core *core)
{
	set(&machine[core->cpu].open, false, "closed without having been opened");
}

int tacet_hotplug_take(struct tacet_core *core)
{
	elapse();
	if (fault_here())
		return -EBUSY;
	set(&machine[core->cpu].offline, true, "taken twice");
	return 0;
}

int tacet_hotplug_give(struct tacet_core *core)
{
	if (machine[core->cpu].started)
		bug("given back while it runs the co-kernel");
	set(&machine[core->cpu].offline, false, "given back without having been taken");
	return 0;
}

int tacet_topology_publish_cpu(unsigned int cpu)
{
	if (fault_here())
		return -ENOMEM;
	machine[cpu].published = true;
	return 0;
}

/* Also after a failure to publish. */
void tacet_topology_withdraw_cpu(unsigned int cpu)
{
	machine[cpu].published = false;
}

int tacet_core_start(struct tacet_core *core, char *message)
{
	elapse();
	if (!machine[core->cpu].offline || !machine[core->cpu].open)
		bug("started while Linux has it, or cannot hear it");
	if (fault_here())
		return tacet_complain(message, -EIO, "fault");
	set(&machine[core->cpu].started, true, "started twice");
	return 0;
}

/* Also after a failure to start. */
void tacet_core_stop(struct tacet_core *core)
{
	if (atomic_read(&core->posted))
		bug("stopped while a thread is there");
	machine[core->cpu].started = false;
}

int tacet_apart_begin(struct tacet_job *job)
{
	(void)job;
	elapse();
	return fault_here() ? -EINTR : 0;
}

int tacet_users_leave(void)
{
	return fault_here() ? -EAGAIN : 0;
}

bool tacet_apart_leaves_core(const struct cpumask *cpus)
{
	return tacet_partition.cpus.bits & ~cpus->bits;
}

bool tacet_hosted_any_of_all(void)
{
	return programs_threads();
}

unsigned int tacet_hosted_count(void)
{
	return programs_threads();
}

int tacet_complain(char *message, int error, const char *format, ...)
{
	(void)format;
	message[0] = '!';
	return error;
}

/* No job is kept apart, no program has a range, and nobody ends slowly. */
int tacet_apart_end(struct tacet_job *job) { (void)job; return 0; }
bool tacet_apart_holds(unsigned int number) { (void)number; return false; }
void tacet_apart_drop(struct tacet_job *job) { (void)job; }
bool tacet_range_any_of_all(void) { return false; }
unsigned int tacet_range_count_of(unsigned int job) { (void)job; return 0; }
bool tacet_hosted_ends_of(unsigned int job) { (void)job; return false; }
struct tacet_hosted *tacet_hosted_of(struct task_struct *task) { (void)task; return NULL; }
struct tacet_order_slot *tacet_order_next(struct tacet_order *order, const struct cpumask *cpus)
{
	(void)order;
	(void)cpus;
	return NULL;
}
void tacet_arch_performance_save(struct tacet_core *core) { (void)core; }
void tacet_hotplug_settle(void) {}
void tacet_requests_settle(struct tacet_core *core) { (void)core; }
void tacet_report(u32 level, const char *format, ...) { (void)level; (void)format; }
