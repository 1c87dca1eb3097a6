/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names of the kernel's header of this name that the module's files here need, for a program. */
#ifndef TACET_TESTS_LINUX_TYPES_H
#define TACET_TESTS_LINUX_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#endif
