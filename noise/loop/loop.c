/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The measuring loops; loop.h says what each one does. */
#include "loop.h"
#include "ticks.h"

#define FTQ_STEPS 64

/* Hides the value from the compiler, which then cannot fold the work away. */
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

static inline __attribute__((always_inline)) uint64_t multiply(uint64_t value, uint64_t times)
{
	for (; times; times--) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		OPAQUE(value);
	}
	return value;
}

static inline __attribute__((always_inline)) void daxpy(struct noise_vectors *vectors)
{
	double a = 1e-9;

	__asm__ volatile("" : "+m"(*vectors));
	for (int i = 0; i < NOISE_DAXPY_ELEMENTS; i++)
		vectors->y[i] += a * vectors->x[i];
	__asm__ volatile("" : : "m"(*vectors));
}

/* Whether to continue after a quantum of this length. */
static inline __attribute__((always_inline)) int may_continue(struct noise_watch *watch, uint64_t length)
{
	if (length >= watch->limit)
		for (uint64_t i = 0; i < watch->count; i++)
			__atomic_store_n(&watch->all[i].stop, 1, __ATOMIC_RELAXED);
	return !__atomic_load_n(&watch->stop, __ATOMIC_RELAXED);
}

/* Stores a result that another thread may read meanwhile, whole: the same instruction as a plain store. */
static inline __attribute__((always_inline)) void put(uint64_t *place, uint64_t value)
{
	__atomic_store_n(place, value, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) int has_ended(struct noise_watch *watch)
{
	return __atomic_load_n(&watch->stop, __ATOMIC_RELAXED);
}

/* @is_daxpy, and whether @watch is null, are constants in each caller: each caller gets a loop of its own. */
static inline __attribute__((always_inline)) uint64_t fwq(uint64_t *times, uint64_t quanta, uint64_t units,
							  uint64_t duration, int is_daxpy,
							  struct noise_vectors *vectors, struct noise_watch *watch)
{
	uint64_t value = units, done = 0, first = ticks(), before = first;

	put(&times[0], first);
	while (done < quanta) {
		if (is_daxpy)
			for (uint64_t i = 0; i < units; i++)
				daxpy(vectors);
		else
			value = multiply(value, units);
		uint64_t now = ticks();

		put(&times[++done], now);
		if (watch && !may_continue(watch, now - before))
			break;
		if (watch && now - first >= duration)
			break;
		before = now;
	}
	return done;
}

void noise_fwq_register(uint64_t *times, uint64_t quanta, uint64_t units)
{
	fwq(times, quanta, units, 0, 0, 0, 0);
}

void noise_fwq_daxpy(uint64_t *times, uint64_t quanta, uint64_t units, struct noise_vectors *vectors)
{
	fwq(times, quanta, units, 0, 1, vectors, 0);
}

uint64_t noise_fwq_register_until(uint64_t *times, uint64_t quanta, uint64_t units, uint64_t duration,
				  struct noise_watch *watch)
{
	return fwq(times, quanta, units, duration, 0, 0, watch);
}

uint64_t noise_fwq_daxpy_until(uint64_t *times, uint64_t quanta, uint64_t units, uint64_t duration,
			       struct noise_vectors *vectors, struct noise_watch *watch)
{
	return fwq(times, quanta, units, duration, 1, vectors, watch);
}

uint64_t noise_ftq_register(uint64_t *counts, uint64_t quanta, uint64_t origin, uint64_t interval,
			    struct noise_watch *watch)
{
	uint64_t value = interval, end = origin + interval, units = 0, done = 0;

	while (done < quanta && !has_ended(watch)) {
		value = multiply(value, FTQ_STEPS);
		units++;
		for (uint64_t now = ticks(); now >= end && done < quanta; end += interval) {
			put(&counts[done++], units);
			units = 0;
		}
	}
	return done;
}

uint64_t noise_ftq_daxpy(uint64_t *counts, uint64_t quanta, uint64_t origin, uint64_t interval,
			 struct noise_vectors *vectors, struct noise_watch *watch)
{
	uint64_t end = origin + interval, units = 0, done = 0;

	while (done < quanta && !has_ended(watch)) {
		daxpy(vectors);
		units++;
		for (uint64_t now = ticks(); now >= end && done < quanta; end += interval) {
			put(&counts[done++], units);
			units = 0;
		}
	}
	return done;
}

uint64_t noise_selfish(uint64_t *pairs, uint64_t room, uint64_t end, uint64_t threshold, uint64_t *shortest,
		       struct noise_watch *watch)
{
	uint64_t found = 0, least = UINT64_MAX, before = ticks();

	while (before < end && !has_ended(watch)) {
		uint64_t now = ticks(), distance = now - before;

		if (distance < least)
			least = distance;
		if (distance >= threshold) {
			if (found < room) {
				put(&pairs[2 * found], before);
				put(&pairs[2 * found + 1], distance);
			}
			found++;
		}
		before = now;
	}
	*shortest = least;
	return found;
}

uint64_t noise_ticks(void)
{
	return ticks();
}
