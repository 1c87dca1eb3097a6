/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Reads the processor's invariant time source, ordered with the instructions before
 * and after it: x86-64 LFENCE and RDTSC (SDM vol. 2B, RDTSC), aarch64 ISB and
 * CNTVCT_EL0 (ARM DDI 0487, D12.1.2).
 * Included by the measuring loops only.
 */
#ifndef TACET_NOISE_TICKS_H
#define TACET_NOISE_TICKS_H

#include <stdint.h>

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
	return now;
#else
#error "the measuring loops know x86-64 and aarch64"
#endif
}

#endif
