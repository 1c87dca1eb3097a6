// SPDX-License-Identifier: GPL-2.0
/*
 * The one file whose content would be wrong for a hosted program:
 * /sys/devices/system/cpu/online says which CPUs Linux schedules on. A hosted
 * program that opens it gets /sys/kernel/tacet/online instead, which has the
 * partition's CPUs as well: together with its affinity mask the machine then
 * looks as it does to a program bound to some CPUs by taskset(1).
 *
 * Called by delegate.c in the thread's own context, before Linux executes the
 * call; undone at the call's end by births.c. The path lies in a page of the
 * program's own memory, made at the first need and checked at each use: a
 * program that writes there harms only itself.
 */
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#include "compat.h"
#include "tacet.h"

static const char asked[] = "/sys/devices/system/cpu/online";
static const char given[] = "/sys/kernel/tacet/online";

static unsigned long *path_argument(struct pt_regs *regs)
{
	switch (regs->ax) {
	case __NR_open:
		return &regs->di;
	case __NR_openat:
	case __NR_openat2:
		return &regs->si;
	}
	return NULL;
}

static bool holds(unsigned long address, const char *text, size_t size)
{
	char buffer[sizeof(asked)];

	return address && !copy_from_user(buffer, (void __user *)address, size) &&
	       !memcmp(buffer, text, size);
}

/* The address of `given` in the program's memory, 0 if it cannot be. */
static unsigned long place_given(struct tacet_space *space)
{
	unsigned long address = READ_ONCE(space->path);

	if (holds(address, given, sizeof(given)))
		return address;
	address = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(address) || copy_to_user((void __user *)address, given, sizeof(given)))
		return 0;
	WRITE_ONCE(space->path, address);
	return address;
}

/* regs->ax is the number of the call that Linux is about to execute. */
void tacet_paths_before_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	unsigned long *argument = path_argument(regs), address;

	if (!argument || !holds(*argument, asked, sizeof(asked)))
		return;
	address = place_given(hosted->space);
	if (!address)
		return;
	hosted->path_asked = *argument;
	hosted->path_given = address;
	*argument = address;
}

/* The call is done: its arguments are again what the program passed. */
void tacet_paths_after_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (!hosted->path_given)
		return;
	if (regs->di == hosted->path_given)
		regs->di = hosted->path_asked;
	if (regs->si == hosted->path_given)
		regs->si = hosted->path_asked;
	hosted->path_given = 0;
}
