/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's own description of its types. Called by the device folders of pico/. */
#ifndef TACET_PICO_KERNEL_TYPES_H
#define TACET_PICO_KERNEL_TYPES_H

#include <linux/types.h>

/* A copy of the BTF of Linux ("vmlinux") or of a module, for kvfree. The caller holds a
 * reference to the module. -ENOENT: there is none by that name, it is built in, or the kernel
 * was built without BTF. Sleeps. */
int tacet_kernel_types(const char *name, void **types, size_t *bytes);

#endif
