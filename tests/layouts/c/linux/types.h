/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names of the kernel's header of this name that pico/linux/layout.c needs, for a program. */
#ifndef TACET_TESTS_LINUX_TYPES_H
#define TACET_TESTS_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define U32_MAX UINT32_MAX

#endif
