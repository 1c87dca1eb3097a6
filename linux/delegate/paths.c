// SPDX-License-Identifier: GPL-2.0
/*
 * Files whose content would be wrong for a hosted program. A program that opens one of them
 * gets another one instead:
 *
 *	/sys/devices/system/cpu/online says which CPUs Linux schedules on.
 *	/sys/kernel/tacet/online has those of the partition too. With the affinity mask,
 *	the machine looks as to a program that taskset(1) has bound to some CPUs.
 *
 *	/proc/self/maps has one mapping for all that the process has of the partition's
 *	memory; /proc/tacet/maps has what is there (doors/maps.c).
 *
 * Called by delegate/serve.c in the thread's own context before Linux executes the call, and
 * by delegate/calls.c at its end. The path lies in a page of the program's own memory, which
 * is made at the first need and checked at each use. A program that writes there harms only
 * itself.
 */
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "tacet.h"

#define LONGEST 40	/* of the paths below, with the end */

/* At multiples of LONGEST in the program's page. */
static const char *const given[] = { "/sys/kernel/tacet/online", "/proc/tacet/maps" };
enum { ONLINE, MAPS, NOTHING };

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

static bool read_path(char path[LONGEST], unsigned long address)
{
	long length = address ? strncpy_from_user(path, (void __user *)address, LONGEST) : 0;

	return length > 0 && length < LONGEST;
}

/* Which of `given` the program gets for @path. */
static unsigned int instead_of(const char *path)
{
	char own[LONGEST];

	if (!strcmp(path, "/sys/devices/system/cpu/online"))
		return ONLINE;
	if (!tacet_range_count() || strncmp(path, "/proc/", 6))
		return NOTHING;
	snprintf(own, sizeof(own), "/proc/%d/maps", task_tgid_vnr(current));
	if (!strcmp(path, "/proc/self/maps") || !strcmp(path, "/proc/thread-self/maps") || !strcmp(path, own))
		return MAPS;
	return NOTHING;
}

/* The address of a page of the program with all of `given`; 0: none can be made. */
static unsigned long map_given(void)
{
	unsigned long page = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, 0);
	unsigned int i;

	if (IS_ERR_VALUE(page))
		return 0;
	for (i = 0; i < NOTHING; i++)
		if (copy_to_user((void __user *)page + i * LONGEST, given[i], strlen(given[i]) + 1))
			return 0;
	return page;
}

/* The address of given[@which] in the program's memory; 0: none. */
static unsigned long place_given(struct tacet_space *space, unsigned int which)
{
	unsigned long page = READ_ONCE(space->path);
	char there[LONGEST];
	unsigned int i;

	for (i = 0; page && i < NOTHING; i++)
		if (!read_path(there, page + i * LONGEST) || strcmp(there, given[i]))
			page = 0;
	if (!page) {
		page = map_given();
		WRITE_ONCE(space->path, page);
	}
	return page ? page + which * LONGEST : 0;
}

/* regs->ax is the number of the call that Linux is about to execute. */
void tacet_paths_before_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	unsigned long *argument = path_argument(regs), address;
	char path[LONGEST];
	unsigned int which;

	if (!argument || !read_path(path, *argument))
		return;
	which = instead_of(path);
	address = which == NOTHING ? 0 : place_given(hosted->space, which);
	if (!address)
		return;
	hosted->call.path_asked = *argument;
	hosted->call.path_given = address;
	*argument = address;
}

/* The call is done: the program sees the arguments that it passed. */
void tacet_paths_after_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (!hosted->call.path_given)
		return;
	if (regs->di == hosted->call.path_given)
		regs->di = hosted->call.path_asked;
	if (regs->si == hosted->call.path_given)
		regs->si = hosted->call.path_asked;
	hosted->call.path_given = 0;
}
