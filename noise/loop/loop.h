/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The measuring loops. They call nothing, allocate nothing and write only to the
 * caller's samples, which the caller has mapped and touched before. The test
 * `loops` checks this in their object code.
 *
 * Another thread may read the samples meanwhile: each is stored once, whole, and
 * in order. Nothing else is published, so a reader costs the loop no instruction.
 *
 * Called by src/measure/sampling.rs and by the MPI program; the same object code
 * serves both. Times are ticks of the source in ticks.h.
 */
#ifndef TACET_NOISE_LOOP_H
#define TACET_NOISE_LOOP_H

#include <stdint.h>

/* Elements of each array of the DAXPY kernel (paper: CNK, section V-A): both arrays fit
 * in a level-1 cache of 16 KiB. */
#define NOISE_DAXPY_ELEMENTS 256

/* y and x of the DAXPY kernel. The caller owns them and aligns them to 64 bytes. */
struct noise_vectors {
	double y[NOISE_DAXPY_ELEMENTS];
	double x[NOISE_DAXPY_ELEMENTS];
};

/*
 * Fixed work: does `quanta` quanta of `units` units each. times[0] is the beginning
 * of the first quantum and times[i] the end of quantum i, so no time is lost between
 * two quanta. A unit is one dependent multiplication and addition of integers.
 */
void noise_fwq_register(uint64_t *times, uint64_t quanta, uint64_t units);

/* The same; a unit is one pass y = a x + y over the vectors. */
void noise_fwq_daxpy(uint64_t *times, uint64_t quanta, uint64_t units, struct noise_vectors *vectors);

/*
 * Ends the loop of one CPU, or those of all CPUs at once. The caller has an array of
 * them, one for each loop, with a cache line for each.
 */
struct noise_watch {
	/* A quantum of this many ticks or more ends the measurement on all CPUs. Written by the caller before. */
	uint64_t limit;
	/* The whole array, and its length. Written by the caller before; read only by a loop with such a quantum. */
	struct noise_watch *all;
	uint64_t count;
	/* Set by the first loop with such a quantum, or by the caller; read by its own loop after each quantum or unit. */
	uint32_t stop;
} __attribute__((aligned(64)));

/*
 * Fixed work for `duration` ticks, or until a quantum takes watch->limit or longer, here
 * or elsewhere; at most `quanta` quanta. The quantum that runs at the end is the last.
 * Return the number of quanta done.
 */
uint64_t noise_fwq_register_until(uint64_t *times, uint64_t quanta, uint64_t units, uint64_t duration,
				  struct noise_watch *watch);
uint64_t noise_fwq_daxpy_until(uint64_t *times, uint64_t quanta, uint64_t units, uint64_t duration,
			       struct noise_vectors *vectors, struct noise_watch *watch);

/*
 * Fixed time: counts the units of work done in each of `quanta` intervals of
 * `interval` ticks from `origin`. A unit is 64 dependent multiplications and
 * additions. An interval that lies wholly inside a detour counts 0. Ends early if
 * watch->stop is set; returns the number of intervals done.
 */
uint64_t noise_ftq_register(uint64_t *counts, uint64_t quanta, uint64_t origin, uint64_t interval,
			    struct noise_watch *watch);

/* The same; a unit is one pass over the vectors. */
uint64_t noise_ftq_daxpy(uint64_t *counts, uint64_t quanta, uint64_t origin, uint64_t interval,
			 struct noise_vectors *vectors, struct noise_watch *watch);

/*
 * Selfish detour: reads the time without pause until `end`, or until watch->stop is set. Where two readings are
 * `threshold` ticks or more apart, pairs[2 i] is the earlier one and pairs[2 i + 1] the
 * distance. Returns the number of such pairs; those beyond `room` are not stored.
 * *shortest becomes the least distance between two readings.
 */
uint64_t noise_selfish(uint64_t *pairs, uint64_t room, uint64_t end, uint64_t threshold, uint64_t *shortest,
		       struct noise_watch *watch);

/* One reading, for the caller's own use around a loop. */
uint64_t noise_ticks(void);

#endif
