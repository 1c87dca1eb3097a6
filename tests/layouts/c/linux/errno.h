/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For a program: the same numbers. */
#include <asm/errno.h>
