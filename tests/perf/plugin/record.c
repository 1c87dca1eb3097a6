// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * What lies between markers: quanta of a measured CPU, regions over all CPUs, and where stolen instructions ran.
 *
 * Owns: the text that the plugin writes (to QEMU's log, so a node returns it), one record a line:
 *   tacet-count interface V cpus N interrupts 0|1
 *   fwq CPU LABEL quanta N user U             all quanta executed U user instructions but those listed
 *   hit INDEX user U kernel K entries E interrupts I exceptions X first PC
 *   at PC times T instructions N              kernel blocks executed while measured, once per fwq record
 *   end CPU
 *   region LABEL cpu C user U kernel K interrupts I    followed by `at` lines of that CPU with sites=on
 * Called by count.c on the thread of the virtual CPU concerned. Must never block for long: it stops that CPU.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "count.h"
#include "interface.h"
#include "../marker.h"

#define BUCKETS 4096

struct hit {
	uint64_t index, user, kernel, entries, interrupts, exceptions, first;
};

struct measured {		/* one per CPU, its own thread only */
	uint64_t quanta, user;
	struct counters last;
	uint64_t entries, first;	/* of the open quantum */
	bool open;
	struct hit *hits;
	size_t hit_count, hit_room;
};

bool region_sites;

static unsigned cpu_count;
static struct measured measured[MAX_CPUS];
static struct counters regions[MARK_LABELS][MAX_CPUS];
static struct place *places[BUCKETS];
static atomic_flag writing = ATOMIC_FLAG_INIT, placing = ATOMIC_FLAG_INIT;

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

struct place *record_place(uint64_t address, size_t instructions)
{
	struct place **at = &places[(address ^ address >> 12) % BUCKETS], *place;

	lock(&placing);
	for (place = *at; place; place = place->next)
		if (place->address == address && place->instructions == instructions)
			break;
	if (!place) {
		place = calloc(1, sizeof(*place));
		if (!place)
			abort();
		place->address = address;
		place->instructions = instructions;
		place->next = *at;
		*at = place;
	}
	unlock(&placing);
	return place;
}

void record_kernel_block(unsigned cpu, struct place *place)
{
	struct counters *counters = counters_of(cpu);
	struct measured *m = &measured[cpu];

	place->times[cpu]++;
	if (counters->was_user) {
		counters->was_user = 0;
		m->entries++;
	}
	if (!m->first)
		m->first = place->address;
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
	uint64_t user = now->user - m->last.user, kernel = now->kernel - m->last.kernel;

	if (!m->quanta)
		m->user = user;
	if (kernel || user != m->user || now->interrupts != m->last.interrupts) {
		if (m->hit_count == m->hit_room) {
			m->hit_room = m->hit_room ? 2 * m->hit_room : 1024;
			m->hits = realloc(m->hits, m->hit_room * sizeof(*m->hits));
			if (!m->hits)
				abort();
		}
		m->hits[m->hit_count++] = (struct hit){
			m->quanta, user, kernel, m->entries, now->interrupts - m->last.interrupts,
			now->exceptions - m->last.exceptions, m->first,
		};
	}
	m->quanta++;
}

/* And forgets them. */
static void write_sites(unsigned cpu)
{
	for (size_t b = 0; b < BUCKETS; b++)
		for (struct place *p = places[b]; p; p = p->next) {
			if (p->times[cpu])
				SAY("at %lx times %u instructions %lu\n", p->address, p->times[cpu], p->instructions);
			p->times[cpu] = 0;
		}
}

static void write_quanta(unsigned cpu, unsigned label, struct measured *m)
{
	SAY("fwq %u %u quanta %lu user %lu\n", cpu, label, m->quanta, m->user);
	for (size_t i = 0; i < m->hit_count; i++) {
		struct hit *h = &m->hits[i];

		SAY("hit %lu user %lu kernel %lu entries %lu interrupts %lu exceptions %lu first %lx\n", h->index,
		    h->user, h->kernel, h->entries, h->interrupts, h->exceptions, h->first);
	}
	write_sites(cpu);
	SAY("end %u\n", cpu);
}

static void write_region(unsigned label)
{
	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		struct counters *now = counters_of(cpu), *then = &regions[label][cpu];

		SAY("region %u cpu %u user %lu kernel %lu interrupts %lu\n", label, cpu, now->user - then->user,
		    now->kernel - then->kernel, now->interrupts - then->interrupts);
		if (region_sites)
			write_sites(cpu);
	}
}

void record_marker(unsigned cpu, unsigned kind, unsigned label)
{
	struct measured *m = &measured[cpu];
	struct counters *now = counters_of(cpu);

	label %= MARK_LABELS;
	switch (kind) {
	case MARK_BEGIN:
		m->open = false;
		m->quanta = m->hit_count = 0;
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
	case MARK_REGION:
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
