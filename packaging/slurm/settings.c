// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * What a user writes behind --tacet=, like memory=2G,bind=scatter,linux-cpus=1. Pure. Called by plugin.c when a command
 * reads its options, and by job.c for the job's. --tacet-tune and --tacet-sched know linux-cpus alone.
 *
 * The text comes from users, also into processes of root: only what is known here is accepted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"

#define MOST_LINUX_CPUS 1024

const char *const rung_names[RUNGS] = { "tacet", "tacet-tune", "tacet-sched" };

static const char *const known[RUNGS] = {
	"use memory=SIZE, bind=compact|scatter, linux-cpus=NUMBER", "use linux-cpus=NUMBER", "use linux-cpus=NUMBER",
};

/* A number, and at most one letter of K, M, G, T. */
static bool read_memory(const char *value, struct settings *settings)
{
	size_t digits = strspn(value, "0123456789"), length = strlen(value);

	if (!digits || length > digits + 1 || length >= sizeof(settings->memory) || strspn(value, "0") == digits)
		return false;
	if (value[digits] && !strchr("KMGTkmgt", value[digits]))
		return false;
	memcpy(settings->memory, value, length + 1);
	return true;
}

static bool read_bind(const char *value, struct settings *settings)
{
	if (strcmp(value, "compact") && strcmp(value, "scatter"))
		return false;
	snprintf(settings->bind, sizeof(settings->bind), "%s", value);
	return true;
}

/* None would leave the job's own processes to other jobs' CPUs. */
static bool read_linux_cpus(const char *value, struct settings *settings)
{
	size_t digits = strspn(value, "0123456789");
	long count = digits && digits < 6 && !value[digits] ? strtol(value, NULL, 10) : 0;

	if (count < 1 || count > MOST_LINUX_CPUS)
		return false;
	settings->linux_cpus = count;
	return true;
}

static const struct {
	const char *name;
	bool (*read)(const char *value, struct settings *settings);
	const char *wants;
	bool everywhere;	/* else of RUNG_PARTITION alone */
} KEYS[] = {
	{ "memory", read_memory, "a size like 512M or 2G", false },
	{ "bind", read_bind, "compact or scatter", false },
	{ "linux-cpus", read_linux_cpus, "a number from 1: the job's processes on Linux need a CPU", true },
};

static bool read_one(char *word, struct settings *settings, char *complaint, size_t size)
{
	char *value = strchr(word, '=');
	size_t i;

	if (value)
		*value++ = 0;
	for (i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
		if (strcmp(word, KEYS[i].name) || (settings->rung != RUNG_PARTITION && !KEYS[i].everywhere))
			continue;
		if (value && KEYS[i].read(value, settings))
			return true;
		snprintf(complaint, size, "--%s: %s=%s: it is not %s", rung_names[settings->rung], word, value ? value : "",
			 KEYS[i].wants);
		return false;
	}
	snprintf(complaint, size, "--%s: `%s`: unknown; %s", rung_names[settings->rung], word, known[settings->rung]);
	return false;
}

/* @text may be NULL or empty, or what Slurm makes of NULL on its way to the nodes. False: @complaint has one line. */
bool settings_read(enum rung rung, const char *text, struct settings *settings, char *complaint, size_t size)
{
	char copy[SETTINGS_TEXT], *word, *rest = copy;
	const char *at;

	memset(settings, 0, sizeof(*settings));
	settings->rung = rung;
	settings->linux_cpus = 1;
	if (!text || !*text || !strcmp(text, "(null)"))
		return true;
	/* it becomes lines of logs and of files */
	for (at = text; *at; at++) {
		if (*at <= ' ' || *at > '~') {
			snprintf(complaint, size, "--%s: it has a character that is no letter; %s", rung_names[rung],
				 known[rung]);
			return false;
		}
	}
	if (strlen(text) >= sizeof(copy)) {
		snprintf(complaint, size, "--%s: it is too long; %s", rung_names[rung], known[rung]);
		return false;
	}
	memcpy(copy, text, strlen(text) + 1);
	while ((word = strsep(&rest, ",")))
		if (!read_one(word, settings, complaint, size))
			return false;
	return true;
}

/* Rung and text as one line, for settings_read_line(). False: it is too long. */
bool settings_print(enum rung rung, const char *text, char *line, size_t size)
{
	return (size_t)snprintf(line, size, "%s %s", rung_names[rung], text && *text ? text : "linux-cpus=1") < size;
}

bool settings_read_line(const char *line, struct settings *settings, char *complaint, size_t size)
{
	size_t length = strcspn(line, " ");
	enum rung rung;

	for (rung = 0; rung < RUNGS; rung++)
		if (strlen(rung_names[rung]) == length && !strncmp(line, rung_names[rung], length) && line[length])
			return settings_read(rung, line + length + 1, settings, complaint, size);
	snprintf(complaint, size, "the job's record says `%.20s`: no option of the plugin", line);
	return false;
}
