// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Sets of CPUs, as text like 1-2,5. Pure: it reads no file. Called by group.c, job.c and task.c. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "cpus.h"

/* A number at *text that a set can have; -1: there is none. */
static long read_cpu(const char **text)
{
	char *end;
	long cpu;

	if (**text < '0' || **text > '9')
		return -1;
	cpu = strtol(*text, &end, 10);
	*text = end;
	return cpu < CPU_SETSIZE ? cpu : -1;
}

/* An empty text is the empty set, as it is in Linux's files. */
bool cpus_parse(const char *text, cpu_set_t *cpus)
{
	CPU_ZERO(cpus);
	while (*text && *text != '\n') {
		long first = read_cpu(&text), last = first;

		if (*text == '-') {
			text++;
			last = read_cpu(&text);
		}
		if (first < 0 || last < first)
			return false;
		for (; first <= last; first++)
			CPU_SET(first, cpus);
		if (*text == ',' && text[1] >= '0' && text[1] <= '9')
			text++;
		else if (*text && *text != '\n')
			return false;
	}
	return true;
}

/* False: @text is too small. */
bool cpus_print(const cpu_set_t *cpus, char *text, size_t size)
{
	size_t used = 0;
	int first, last;

	if (size)
		text[0] = 0;
	for (first = 0; first < CPU_SETSIZE; first = last + 1) {
		int length;

		last = first;
		if (!CPU_ISSET(first, cpus))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
			last++;
		length = last > first ? snprintf(text + used, size - used, "%s%d-%d", used ? "," : "", first, last) :
					snprintf(text + used, size - used, "%s%d", used ? "," : "", first);
		if (length < 0 || (size_t)length >= size - used)
			return false;
		used += length;
	}
	return true;
}

void cpus_remove(cpu_set_t *from, const cpu_set_t *cpus)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, cpus))
			CPU_CLR(cpu, from);
}

/* Moves the first @count CPUs of @from to @first; false: it has fewer. */
bool cpus_take_first(cpu_set_t *from, unsigned int count, cpu_set_t *first)
{
	int cpu;

	CPU_ZERO(first);
	for (cpu = 0; cpu < CPU_SETSIZE && count; cpu++) {
		if (!CPU_ISSET(cpu, from))
			continue;
		CPU_CLR(cpu, from);
		CPU_SET(cpu, first);
		count--;
	}
	return !count;
}
