// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The name and pid of the task that runs on a virtual CPU, read from the guest's memory without the guest's help.
 *
 * Owns: the offsets of name and pid in this kernel's struct task_struct. The measured program says where the kernel
 * keeps its per-CPU variables (struct guide). It also serves as the example: the plugin searches the program's own task
 * for its known name and pid. Called by record.c on the thread of the CPU concerned. There are no names if the emulator
 * does not let plugins read memory (interfaces 1 to 3) or if the kernel is not as expected. Must never trust an address
 * that it has not read through.
 */
#include <string.h>

#include "count.h"
#include "interface.h"
#include "../marker.h"

#define TASK_BYTES 16384	/* more than any kernel's struct task_struct */
#define PAGE 4096

static struct guide guide;
static size_t name_at, pid_at;		/* offsets in a task; 0: not known */

/* Reads page by page, since the next page may not be mapped. Returns the number of bytes read. */
static size_t read_guest(unsigned cpu, uint64_t address, void *to, size_t size)
{
	static struct bytes *pieces[MAX_CPUS];
	size_t done = 0;

	if (!qemu_plugin_read_memory_vaddr || !g_byte_array_new)
		return 0;
	if (!pieces[cpu])
		pieces[cpu] = g_byte_array_new();
	while (done < size) {
		size_t piece = PAGE - (address + done) % PAGE;

		piece = piece < size - done ? piece : size - done;
		if (!qemu_plugin_read_memory_vaddr(address + done, pieces[cpu], piece) || pieces[cpu]->length < piece)
			break;
		memcpy((char *)to + done, pieces[cpu]->data, piece);
		done += piece;
	}
	return done;
}

/* The address of the running task, 0 if it cannot be known. */
static uint64_t running_task(unsigned cpu)
{
	uint64_t offset, task;

	if (!guide.offsets || read_guest(cpu, guide.offsets + cpu * sizeof(offset), &offset, sizeof(offset)) < sizeof(offset))
		return 0;
	return read_guest(cpu, offset + guide.current, &task, sizeof(task)) < sizeof(task) ? 0 : task;
}

void names_begin(unsigned cpu)
{
	static char task[TASK_BYTES];
	size_t size = 0;
	uint64_t address;

	name_at = pid_at = 0;
	if (read_guest(cpu, PROGRAM_GUIDE, &guide, sizeof(guide)) < sizeof(guide))
		return;
	address = running_task(cpu);
	if (address)
		size = read_guest(cpu, address, task, sizeof(task));
	for (size_t at = 0; at + sizeof(PROGRAM_NAME) <= size && !name_at; at++)
		if (!memcmp(task + at, PROGRAM_NAME, sizeof(PROGRAM_NAME)))
			name_at = at;
	for (size_t at = 0; at + sizeof(guide.pid) <= size && !pid_at; at += sizeof(*guide.pid))
		if (!memcmp(task + at, guide.pid, sizeof(guide.pid)))
			pid_at = at;
}

void names_current(unsigned cpu, struct task *task)
{
	uint64_t address = name_at && pid_at ? running_task(cpu) : 0;

	if (!address || read_guest(cpu, address + name_at, task->name, sizeof(task->name)) < sizeof(task->name) ||
	    read_guest(cpu, address + pid_at, &task->pid, sizeof(task->pid)) < sizeof(task->pid))
		*task = (struct task){ 0 };
	task->name[sizeof(task->name) - 1] = 0;
	for (char *c = task->name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}
