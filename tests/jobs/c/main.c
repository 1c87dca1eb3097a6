// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Executes requests, one in each line of the input, and says after each what it returned and what there is:
 *
 *	NUMBER grow CPUS FAULT		CPUs as bits, in hexadecimal
 *	NUMBER shrink CPUS FAULT
 *	NUMBER begin JOB USER CPUS MIB FAULT
 *	NUMBER end JOB FLAGS FAULT
 *	NUMBER host PROGRAM JOB USER THREADS MANNER	a JOB of "-": none is named
 *	NUMBER leave PROGRAM
 *
 * FAULT is the step that fails, or 0. A line that begins with "+" is executed while the request before it sleeps without
 * the control lock, if it does.
 */
#include "world.h"

static char waiting[256];	/* the request to execute in between */
static int depth;

static void print_state(void)
{
	const struct tacet_partition *partition = &tacet_partition;
	u64 lent = 0, kept = 0, machine_has = 0;
	struct tacet_job *job;
	unsigned int i;

	take(&tacet_control_lock);
	for (i = 0; i < partition->core_count; i++) {
		const struct tacet_core *core = &partition->cores[i];
		const struct machine_cpu *cpu = &machine[core->cpu];

		lent |= (u64)core->lent << core->cpu;
		kept |= (u64)(tacet_core_kept_ms(core) != 0) << core->cpu;
		if (cpu->offline != cpu->open || cpu->open != cpu->started || cpu->started != cpu->published)
			bug("a CPU is the partition's by half");
		machine_has |= (u64)cpu->offline << core->cpu;
	}
	if (machine_has != partition->cpus.bits)
		bug("the partition's CPUs are not those that it took");
	printf("|%llx %llx %llx %llx|", (unsigned long long)partition->cpus.bits, (unsigned long long)partition->free.bits,
	       (unsigned long long)lent, (unsigned long long)kept);
	for (job = tacet_job_after(NULL); job; job = tacet_job_after(job)) {
		u64 has = 0;

		for (i = 0; i < partition->core_count; i++)
			if (partition->cores[i].job == job->number)
				has |= BIT_ULL(partition->cores[i].cpu);
		if (has != job->cpus.bits)
			bug("a job's cores do not know it");
		printf(" %s:%u:%llx:%llu:%d", job->id, job->user.value, (unsigned long long)job->cpus.bits,
		       (unsigned long long)job->memory >> 20, job->ending);
	}
	release(&tacet_control_lock);
	putchar('|');
	programs_print();
	printf("|");
	for (i = 0; i < partition->core_count; i++)
		printf(" %u:%u:%d", partition->cores[i].cpu, partition->cores[i].threads, partition->cores[i].posted.counter);
	printf("|%u\n", allocations());
}

static int resize(const char *arguments, int (*change)(struct tacet_resize *request))
{
	struct tacet_resize request = { 0 };
	unsigned long long cpus;
	unsigned int fault;
	int error;

	if (sscanf(arguments, "%llx %u", &cpus, &fault) != 2)
		bug("a request has other arguments");
	request.cpus[0] = cpus;
	fault_arm(fault);
	take(&tacet_control_lock);
	error = change(&request);
	release(&tacet_control_lock);
	return error;
}

static int begin(const char *arguments)
{
	struct tacet_job_begin request = { 0 };
	unsigned long long cpus, mib;
	unsigned int fault;
	int error;

	if (sscanf(arguments, "%71s %u %llx %llu %u", request.job.id, &request.job.uid, &cpus, &mib, &fault) != 5)
		bug("a request has other arguments");
	request.job.cpus[0] = cpus;
	request.job.memory = mib << 20;
	fault_arm(fault);
	take(&tacet_control_lock);
	error = tacet_job_begin(&request);
	release(&tacet_control_lock);
	return error;
}

static int end(const char *arguments, struct tacet_job_end *request)
{
	unsigned int fault;

	if (sscanf(arguments, "%71s %u %u", request->id, &request->flags, &fault) != 3)
		bug("a request has other arguments");
	request->grace_ms = 100;
	fault_arm(fault);
	return tacet_job_end(request);
}

static int host(const char *arguments)
{
	unsigned int program, user, threads, manner;
	char job[TACET_JOB_ID_BYTES];
	int error;

	if (sscanf(arguments, "%u %71s %u %u %u", &program, job, &user, &threads, &manner) != 5)
		bug("a request has other arguments");
	take(&tacet_control_lock);
	error = program_start(program, strcmp(job, "-") ? job : "", user, threads, manner);
	release(&tacet_control_lock);
	return error;
}

/* The partition ends, when it hosts nothing. */
static void drop(void)
{
	unsigned int program;

	for (program = 0; program < PROGRAMS; program++)
		program_end(program);
	take(&tacet_control_lock);
	tacet_jobs_drop();
	release(&tacet_control_lock);
	if (allocations())
		bug("what jobs had is not freed");
}

static void execute(const char *line)
{
	struct tacet_job_end ended = { 0 };
	char number[16], verb[16];
	int used, error = 0;

	if (sscanf(line, "%15s %15s%n", number, verb, &used) != 2)
		bug("a line is no request");
	line += used;
	depth++;
	if (!strcmp(verb, "grow"))
		error = resize(line, tacet_partition_grow);
	else if (!strcmp(verb, "shrink"))
		error = resize(line, tacet_partition_shrink);
	else if (!strcmp(verb, "begin"))
		error = begin(line);
	else if (!strcmp(verb, "end"))
		error = end(line, &ended);
	else if (!strcmp(verb, "host"))
		error = host(line);
	else if (!strcmp(verb, "leave"))
		program_end(atoi(line));
	else
		bug("a request is unknown");
	depth--;
	programs_settle();
	printf("%s %d %d %u %u %u", number, error, fault_was(), ended.ended, ended.killed, ended.returned);
	print_state();
}

void request_between(void)
{
	char line[sizeof(waiting)];

	if (!waiting[0] || depth > 1)
		return;
	strcpy(line, waiting);
	waiting[0] = 0;
	execute(line);
}

/* The line that follows is read first, since it may be one to execute in between. */
int main(void)
{
	char line[sizeof(waiting)], next[sizeof(waiting)];
	char *more = fgets(line, sizeof(line), stdin);

	machine_begin();
	while (more) {
		more = fgets(next, sizeof(next), stdin);
		if (more && next[0] == '+') {
			strcpy(waiting, next + 1);
			more = fgets(next, sizeof(next), stdin);
		}
		execute(line);
		request_between();
		strcpy(line, next);
	}
	drop();
	return 0;
}
