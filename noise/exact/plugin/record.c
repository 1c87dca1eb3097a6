// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Records what happens between markers: quanta of a measured CPU, regions over all CPUs, and the code that stole time.
 *
 * Owns: the text that the plugin writes (to QEMU's log, which a node's run returns), one record a line:
 *   tacet-count interface V cpus N interrupts 0|1
 *   fwq CPU LABEL quanta N user U             every quantum without a `hit` executed U instructions of the program
 *   hit INDEX user U other O kernel K entries E interrupts I exceptions X first PC
 *   at PC times T instructions N              kernel blocks executed while measured, once per fwq record
 *   entry PC times T instructions N           where the kernel was entered, and its instructions until it returned
 *   other PID turns T instructions N name TEXT    other programs; no TEXT: the emulator cannot tell the name
 *   end CPU
 *   step INDEX cpu C kernel K looks L switches S halts H interrupts I    of the region that follows
 *   region LABEL cpu C user U kernel K looks L interrupts I    followed by `at` lines of that CPU with sites=on
 * Called by count.c on the thread of the virtual CPU concerned. Must never block for long: it stops that CPU.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "interface.h"
#include "../marker.h"

#define BUCKETS 4096
#define STEPS 4096		/* later ones of a region are not kept */

struct hit {
	uint64_t index, user, other, kernel, entries, interrupts, exceptions, first;
};

struct entry {			/* entries into the kernel that began with one block; never freed */
	struct entry *next;
	struct site *site;
	uint64_t times, instructions;
};

struct other {			/* a program that is not the measured one; never freed */
	struct other *next;
	struct task task;
	uint64_t turns, instructions;
};

struct measured {		/* one per CPU, its own thread only */
	uint64_t quanta, user;
	struct counters last;
	uint64_t entries, first;	/* in the open quantum */
	bool open;
	struct hit *hits;
	size_t hit_count, hit_room;
	struct entry *entries_by_site, *entry;		/* `entry`: the latest one; NULL after MARK_BEGIN */
	struct other *others, *running;			/* `running`: NULL once the kernel has run */
};

bool region_sites;

static unsigned cpu_count;
static struct measured measured[MAX_CPUS];
static struct counters regions[MARK_LABELS][MAX_CPUS];
static struct counters *steps;	/* of the open region: all CPUs' at each mark; NULL before the first region */
static size_t step_count;
static struct site *sites[BUCKETS];
static atomic_flag writing = ATOMIC_FLAG_INIT, adding = ATOMIC_FLAG_INIT;

static void lock(atomic_flag *flag)
{
	while (atomic_flag_test_and_set_explicit(flag, memory_order_acquire))
		;
}

static void unlock(atomic_flag *flag)
{
	atomic_flag_clear_explicit(flag, memory_order_release);
}

#define SAY(...)							\
	do {								\
		char line_[256];					\
		snprintf(line_, sizeof(line_), __VA_ARGS__);		\
		qemu_plugin_outs(line_);				\
	} while (0)

void record_start(unsigned cpus)
{
	cpu_count = cpus;
	SAY("tacet-count interface %d cpus %u interrupts %d\n", interface_version(), cpus, sees_interrupts());
}

static void *made(size_t size)
{
	void *new = calloc(1, size);

	if (!new)
		abort();
	return new;
}

struct site *record_site(uint64_t address, size_t instructions)
{
	struct site **at = &sites[(address ^ address >> 12) % BUCKETS], *site;

	lock(&adding);
	for (site = *at; site; site = site->next)
		if (site->address == address && site->instructions == instructions)
			break;
	if (!site) {
		site = made(sizeof(*site));
		site->address = address;
		site->instructions = instructions;
		site->next = *at;
		*at = site;
	}
	unlock(&adding);
	return site;
}

static struct entry *entry_at(struct measured *m, struct site *site)
{
	struct entry *entry;

	for (entry = m->entries_by_site; entry; entry = entry->next)
		if (entry->site == site)
			return entry;
	entry = made(sizeof(*entry));
	entry->site = site;
	entry->next = m->entries_by_site;
	return m->entries_by_site = entry;
}

void record_kernel_block(unsigned cpu, struct site *site)
{
	struct counters *counters = counters_of(cpu);
	struct measured *m = &measured[cpu];

	site->times[cpu]++;
	m->running = NULL;
	if (counters->was_user) {
		counters->was_user = 0;
		m->entries++;
		m->entry = entry_at(m, site);
		m->entry->times++;
	}
	if (m->entry)
		m->entry->instructions += site->instructions;
	if (!m->first)
		m->first = site->address;
}

static struct other *other_called(struct measured *m, const struct task *task)
{
	struct other *other;

	for (other = m->others; other; other = other->next)
		if (other->task.pid == task->pid && !strcmp(other->task.name, task->name))
			return other;
	other = made(sizeof(*other));
	other->task = *task;
	other->next = m->others;
	return m->others = other;
}

void record_other_block(unsigned cpu, size_t instructions)
{
	struct measured *m = &measured[cpu];

	if (!m->running) {
		struct task task = { 0 };

		names_current(cpu, &task);
		m->running = other_called(m, &task);
		m->running->turns++;
	}
	m->running->instructions += instructions;
}

static void open_quantum(struct measured *m, const struct counters *now)
{
	m->open = true;
	m->last = *now;
	m->entries = 0;
	m->first = 0;
}

static void close_quantum(struct measured *m, const struct counters *now)
{
	uint64_t user = now->own - m->last.own, kernel = now->kernel - m->last.kernel;
	uint64_t other = now->other - m->last.other;

	/* a block that is interrupted counts twice; the least count is the program's own */
	if (!m->quanta || user < m->user)
		m->user = user;
	if (kernel || other || user != m->user || now->interrupts != m->last.interrupts) {
		if (m->hit_count == m->hit_room) {
			m->hit_room = m->hit_room ? 2 * m->hit_room : 1024;
			m->hits = realloc(m->hits, m->hit_room * sizeof(*m->hits));
			if (!m->hits)
				abort();
		}
		m->hits[m->hit_count++] = (struct hit){
			m->quanta, user, other, kernel, m->entries, now->interrupts - m->last.interrupts,
			now->exceptions - m->last.exceptions, m->first,
		};
	}
	m->quanta++;
}

/* Writes the sites of this CPU and resets their counts. */
static void write_sites(unsigned cpu)
{
	for (size_t b = 0; b < BUCKETS; b++)
		for (struct site *s = sites[b]; s; s = s->next) {
			if (s->times[cpu])
				SAY("at %lx times %u instructions %lu\n", s->address, s->times[cpu], s->instructions);
			s->times[cpu] = 0;
		}
}

static void write_quanta(unsigned cpu, unsigned label, struct measured *m)
{
	SAY("fwq %u %u quanta %lu user %lu\n", cpu, label, m->quanta, m->user);
	for (size_t i = 0; i < m->hit_count; i++) {
		struct hit *h = &m->hits[i];

		SAY("hit %lu user %lu other %lu kernel %lu entries %lu interrupts %lu exceptions %lu first %lx\n",
		    h->index, h->user, h->other, h->kernel, h->entries, h->interrupts, h->exceptions, h->first);
	}
	write_sites(cpu);
	for (struct entry *e = m->entries_by_site; e; e = e->next)
		if (e->times)
			SAY("entry %lx times %lu instructions %lu\n", e->site->address, e->times, e->instructions);
	for (struct other *o = m->others; o; o = o->next)
		if (o->turns)
			SAY("other %u turns %lu instructions %lu name %s\n", o->task.pid, o->turns, o->instructions,
			    o->task.name);
	SAY("end %u\n", cpu);
}

static void note_step(void)
{
	if (!steps || step_count == STEPS)
		return;
	for (unsigned cpu = 0; cpu < cpu_count; cpu++)
		steps[step_count * cpu_count + cpu] = *counters_of(cpu);
	step_count++;
}

static void write_steps(void)
{
	for (size_t i = 1; i < step_count; i++)
		for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
			struct counters *now = &steps[i * cpu_count + cpu], *then = now - cpu_count;

			SAY("step %lu cpu %u kernel %lu looks %lu switches %lu halts %lu interrupts %lu\n", i - 1, cpu,
			    now->kernel - then->kernel, now->looks - then->looks, now->switches - then->switches,
			    now->halts - then->halts, now->interrupts - then->interrupts);
		}
	step_count = 0;
}

static void write_region(unsigned label)
{
	write_steps();
	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		struct counters *now = counters_of(cpu), *then = &regions[label][cpu];
		uint64_t user = now->own - then->own + now->other - then->other;

		SAY("region %u cpu %u user %lu kernel %lu looks %lu interrupts %lu\n", label, cpu, user,
		    now->kernel - then->kernel, now->looks - then->looks, now->interrupts - then->interrupts);
		if (region_sites)
			write_sites(cpu);
	}
}

static void reset(struct measured *m)
{
	m->open = false;
	m->quanta = m->hit_count = 0;
	m->entry = NULL;
	m->running = NULL;
	for (struct entry *e = m->entries_by_site; e; e = e->next)
		e->times = e->instructions = 0;
	for (struct other *o = m->others; o; o = o->next)
		o->turns = o->instructions = 0;
}

void record_marker(unsigned cpu, unsigned kind, unsigned label)
{
	struct measured *m = &measured[cpu];
	struct counters *now = counters_of(cpu);

	label %= MARK_LABELS;
	switch (kind) {
	case MARK_BEGIN:
		reset(m);
		names_begin(cpu);
		now->measured = 1;
		break;
	case MARK_QUANTUM:
		if (m->open)
			close_quantum(m, now);
		open_quantum(m, now);
		break;
	case MARK_END:
		now->measured = 0;
		m->open = false;
		lock(&writing);
		write_quanta(cpu, label, m);
		unlock(&writing);
		break;
	case MARK_STEP:
		note_step();
		break;
	case MARK_REGION:
		if (!steps)
			steps = made(STEPS * cpu_count * sizeof(*steps));
		step_count = 0;
		for (unsigned i = 0; i < cpu_count; i++) {
			regions[label][i] = *counters_of(i);
			counters_of(i)->measured |= region_sites;
		}
		break;
	case MARK_REGION_END:
		for (unsigned i = 0; region_sites && i < cpu_count; i++)
			counters_of(i)->measured = 0;
		lock(&writing);
		write_region(label);
		unlock(&writing);
		break;
	}
}
