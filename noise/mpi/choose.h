/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Chooses the nodes whose samples are stored and the CPU of each rank, from numbers alone; checked by test.c. */
#ifndef TACET_FWQ_CHOOSE_H
#define TACET_FWQ_CHOOSE_H

#include <sched.h>
#include <stdint.h>

/*
 * Marks the `worst` nodes with the longest noise: chosen[i] becomes 1, the others 0. If two
 * have the same noise, the lower number wins. Returns the number of marked nodes, or -1 without memory.
 */
int64_t choose_worst(const uint64_t *longest_noise_ns, uint64_t nodes, uint64_t worst, uint8_t *chosen);

/*
 * Chooses a CPU for each rank of a node from those that the launcher allows it. Each rank gets
 * a CPU of its own; ranks with fewer choices choose first. A rank for which none is left gets
 * -1, or with `oversubscribe` a CPU that another rank has too.
 */
void choose_cpus(const cpu_set_t *allowed, int ranks, int oversubscribe, int *cpus);

#endif
