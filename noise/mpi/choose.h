/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Who is stored and who runs where: decisions from numbers alone, checked by test.c. */
#ifndef TACET_FWQ_CHOOSE_H
#define TACET_FWQ_CHOOSE_H

#include <sched.h>
#include <stdint.h>

/*
 * Marks the `worst` nodes with the longest noise: chosen[i] becomes 1, the others 0. Of two
 * with the same the one with the lower number. Returns how many are marked, or -1 without memory.
 */
int64_t choose_worst(const uint64_t *longest_noise_ns, uint64_t nodes, uint64_t worst, uint8_t *chosen);

/*
 * The CPU of each of a node's ranks, from what the launcher allows each: its only one, or
 * one that no other rank has; ranks with fewer choices choose first. Where none is left:
 * -1, or with `oversubscribe` one that another rank has too.
 */
void choose_cpus(const cpu_set_t *allowed, int ranks, int oversubscribe, int *cpus);

#endif
