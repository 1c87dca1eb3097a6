/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The calls of other ABIs by the numbers of 64-bit calls: foreign.c. Any context.
 */
#ifndef TACET_ARCH_X86_FOREIGN_H
#define TACET_ARCH_X86_FOREIGN_H

#include <linux/types.h>

#define TACET_CALL_UNKNOWN (-1l)
#define TACET_SAME_CALLS_FROM 424	/* from here on ia32 has the same numbers */

/* @number of an ia32 call; @number of an x32 call without x32's bit. TACET_CALL_UNKNOWN: there is
 * no such call. */
long tacet_ia32_call(u32 number);
long tacet_x32_call(u32 number);

#endif
