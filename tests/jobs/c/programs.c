// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Hosted programs, which compute: each of their threads is on a core, and when it is to leave that, it goes where
 * process/placement.c sends it. They continue whenever a request sleeps or lets go of the hosted lock.
 */
#include "world.h"

#define THREADS 4u

struct program {
	bool runs, told;	/* told: to end */
	enum manner manner;
	struct tacet_process process;
	struct pid tgid;
	struct task_struct task;
	unsigned int threads;
	struct tacet_hosted hosted[THREADS];
	struct tacet_context contexts[THREADS];
};

static struct program programs[PROGRAMS];
static bool continuing;		/* what programs do takes the hosted lock itself */

#define for_each_program(program) \
	for ((program) = programs; (program) < programs + PROGRAMS; (program)++) if ((program)->runs)

static void post(struct tacet_hosted *hosted)
{
	struct tacet_core *core = tacet_choose_core(hosted);

	hosted->wanted.counter = 0;
	hosted->context->cpu = core->cpu;
	hosted->context->state = TACET_CONTEXT_POSTED;
}

static void return_from_core(struct tacet_hosted *hosted)
{
	struct tacet_core *core = tacet_core_of(hosted->context->cpu);

	hosted->context->state = TACET_CONTEXT_RETURNED;
	core->last_return_ns = ktime_get_ns();
	atomic_dec(&core->posted);
}

int program_start(unsigned int number, const char *job, uid_t user, unsigned int threads, enum manner manner)
{
	struct program *program = &programs[number];
	struct tacet_process *process = &program->process;
	struct tacet_job *found;
	unsigned int i, placed = 0;
	int error;

	if (program->runs)
		return -EEXIST;
	error = tacet_job_find(job, (kuid_t){ user }, !user, &found);
	if (error)
		return error;
	memset(program, 0, sizeof(*program));
	program->manner = manner;
	program->threads = threads;
	program->tgid.number = number + 1;
	program->task.pid = process->tgid = &program->tgid;
	process->job = found;
	cpumask_copy(&process->cpus, tacet_process_reach(process));
	spin_lock_irq(&tacet_hosted_lock);
	for (i = 0; i < threads && !error; i++) {
		struct tacet_hosted *hosted = &program->hosted[i];

		hosted->task = &program->task;
		hosted->context = &program->contexts[i];
		hosted->process = process;
		error = tacet_take_place(hosted, process, NULL);
		if (error)
			break;
		tacet_count_place(hosted);
		placed++;
	}
	while (error && placed)
		tacet_release_core(&program->hosted[--placed]);
	release(&tacet_hosted_lock);
	if (error)
		return error;
	program->runs = true;
	if (found)
		kref_get(&found->references);
	continuing = true;
	for (i = 0; i < threads; i++)
		post(&program->hosted[i]);
	continuing = false;
	return 0;
}

static void end(struct program *program)
{
	unsigned int i;

	program->runs = false;
	for (i = 0; i < program->threads; i++) {
		return_from_core(&program->hosted[i]);
		take(&tacet_hosted_lock);
		tacet_release_core(&program->hosted[i]);
		release(&tacet_hosted_lock);
	}
	tacet_job_put(program->process.job);
}

void program_end(unsigned int number)
{
	if (programs[number].runs)
		end(&programs[number]);
}

/* A signal is acted upon when the program next continues. */
void kill_pid(struct pid *pid, int signal, int kernel)
{
	struct program *program = &programs[pid->number - 1];

	(void)kernel;
	if (signal == SIGKILL || program->manner == WILLING)
		program->told = true;
}

/* One step of each program: it ends if it was told to, and its threads leave their cores if somebody wants that. Of
 * one thread more the turn is over. */
void elapse(void)
{
	static unsigned int turn;
	struct program *program;
	unsigned int i;

	if (continuing)
		return;
	continuing = true;
	turn++;
	for_each_program(program) {
		if (program->manner == STUCK)
			continue;
		if (program->told) {
			end(program);
			continue;
		}
		for (i = 0; i < program->threads; i++)
			if (program->hosted[i].wanted.counter || (turn + i) % 7 == program->tgid.number % 7u) {
				return_from_core(&program->hosted[i]);
				post(&program->hosted[i]);
			}
	}
	continuing = false;
}

/* Those that were told to end have ended, as far as they do. */
void programs_settle(void)
{
	struct program *program;

	for_each_program(program)
		if (program->told && program->manner != STUCK)
			end(program);
}

void tacet_want(struct tacet_hosted *hosted, enum tacet_want wanted)
{
	hosted->wanted.counter |= wanted;
}

void tacet_for_each_hosted(void (*visit)(struct tacet_hosted *, void *), void *data)
{
	struct program *program;
	unsigned int i;

	for_each_program(program)
		for (i = 0; i < program->threads; i++)
			visit(&program->hosted[i], data);
}

/* As process/process.c does. */
void tacet_processes_confine(void)
{
	struct program *program;

	lockdep_assert_held(&tacet_hosted_lock);
	for_each_program(program) {
		const struct cpumask *reach = tacet_process_reach(&program->process);

		if (!cpumask_and(&program->process.cpus, &program->process.cpus, reach))
			cpumask_copy(&program->process.cpus, reach);
	}
}

unsigned int programs_threads(void)
{
	struct program *program;
	unsigned int threads = 0;

	for_each_program(program)
		threads += program->threads;
	return threads;
}

/* NUMBER:JOB:HOME,HOME...:CPU,CPU... for each: the cores on which its threads count, and those on which they are. */
void programs_print(void)
{
	struct program *program;
	unsigned int i;

	for_each_program(program) {
		printf(" %d:%s:", program->tgid.number - 1, program->process.job ? program->process.job->id : "");
		for (i = 0; i < program->threads; i++)
			printf("%s%u", i ? "," : "", program->hosted[i].place.core->cpu);
		for (i = 0; i < program->threads; i++)
			printf("%s%u", i ? "," : ":", program->contexts[i].cpu);
	}
}
