// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Facts about the machine, and whether its time source can be trusted: as noise/src/measure/machine.rs. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fwq.h"

void line_of(const char *path, const char *field, char *text, size_t room)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;

	text[0] = 0;
	while (file && !text[0] && getline(&line, &size, file) > 0) {
		const char *value = line;

		if (field) {
			value = strncmp(line, field, strlen(field)) ? NULL : strchr(line, ':');
			value = value ? value + 1 + strspn(value + 1, " \t") : NULL;
		}
		if (value)
			snprintf(text, room, "%.*s", (int)strcspn(value, "\n"), value);
		if (!field)
			break;
	}
	free(line);
	if (file)
		fclose(file);
}

/* Writes the name of the invariant time source, or returns why there is none. */
const char *time_source(char *name, size_t room)
{
#if defined(__x86_64__)
	char flags[16384], linux_uses[64];

	line_of("/proc/cpuinfo", "flags", flags, sizeof(flags));
	if (!strstr(flags, "constant_tsc") || !strstr(flags, "nonstop_tsc"))
		return "time source: the time-stamp counter is not invariant (constant_tsc, nonstop_tsc): use another machine";
	line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL, linux_uses, sizeof(linux_uses));
	snprintf(name, room, "tsc (invariant; the kernel itself uses %s)", linux_uses);
#else
	snprintf(name, room, "cntvct_el0 (architectural, invariant)");
#endif
	return NULL;
}

/* Ticks and the raw clock's nanoseconds, which NTP does not adjust: the fastest of several readings. */
struct moment now(void)
{
	struct moment best = { 0, 0 };
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		struct timespec raw;
		uint64_t before = noise_ticks();

		clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
		uint64_t took = noise_ticks() - before;

		if (took < shortest) {
			shortest = took;
			best = (struct moment){ before + took / 2, raw.tv_sec * 1e9 + raw.tv_nsec };
		}
	}
	return best;
}

double rate_between(struct moment earlier, struct moment later)
{
	return (later.ticks - earlier.ticks) * 1e9 / (later.raw_ns - earlier.raw_ns);
}
