// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Tests of what only decides, and of files: `make check`. Those of a job's life are in test_life.c. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "cpus.h"
#include "file.h"
#include "settings.h"
#include "test.h"

static int failures;

void expect(const char *file, int line, int holds, const char *what)
{
	if (holds)
		return;
	failures++;
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
}

static void cpus_are_read_and_printed(void)
{
	static const char *const same[] = { "", "0", "0-1", "1-2,5", "3,7-9,11", "1023" };
	static const char *const not_sets[] = { "a", "-1", "1-", "2-1", "1,", ",1", "1 2", "1024", "1--2", "0x1" };
	char text[CPUS_TEXT], small[4];
	cpu_set_t cpus;
	size_t i;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		EXPECT(cpus_parse(same[i], &cpus) && cpus_print(&cpus, text, sizeof(text)));
		EXPECT(!strcmp(text, same[i]));
	}
	for (i = 0; i < sizeof(not_sets) / sizeof(not_sets[0]); i++)
		EXPECT(!cpus_parse(not_sets[i], &cpus));
	EXPECT(cpus_parse("2,1,1\n", &cpus) && cpus_print(&cpus, text, sizeof(text)) && !strcmp(text, "1-2"));
	EXPECT(cpus_parse("1,3,5", &cpus) && !cpus_print(&cpus, small, sizeof(small)));
}

static void linux_keeps_the_first(void)
{
	cpu_set_t cpus, kept, siblings;
	char text[CPUS_TEXT];

	cpus_parse("1-2,5", &cpus);
	EXPECT(cpus_take_first(&cpus, 1, &kept) && CPU_COUNT(&kept) == 1 && CPU_ISSET(1, &kept));
	EXPECT(cpus_print(&cpus, text, sizeof(text)) && !strcmp(text, "2,5"));
	cpus_parse("2-3", &siblings);
	cpus_remove(&cpus, &siblings);
	EXPECT(cpus_print(&cpus, text, sizeof(text)) && !strcmp(text, "5"));
	EXPECT(cpus_take_first(&cpus, 1, &kept) && !CPU_COUNT(&cpus));
	EXPECT(!cpus_take_first(&cpus, 1, &kept));
}

static void settings_that_are_known(void)
{
	struct settings settings;
	char why[256] = "";

	EXPECT(settings_read(RUNG_PARTITION, NULL, &settings, why, sizeof(why)) &&
	       settings.linux_cpus == 1 && !settings.memory[0]);
	EXPECT(settings_read(RUNG_PARTITION, "(null)", &settings, why, sizeof(why)) &&
	       settings.linux_cpus == 1 && !settings.bind[0]);
	EXPECT(settings_read(RUNG_PARTITION, "memory=2G,bind=scatter,linux-cpus=2", &settings, why, sizeof(why)));
	EXPECT(!strcmp(settings.memory, "2G") && !strcmp(settings.bind, "scatter") && settings.linux_cpus == 2);
	EXPECT(settings_read(RUNG_PARTITION, "bind=compact", &settings, why, sizeof(why)) && !settings.memory[0]);
	EXPECT(settings_read(RUNG_PARTITION, "memory=1048576", &settings, why, sizeof(why)) &&
	       !strcmp(settings.memory, "1048576"));
}

static void settings_that_are_refused(void)
{
	static const char *const bad[] = {
		"memory", "memory=", "memory=G", "memory=0", "memory=00M", "memory=-1", "memory=2G;id", "memory=2GB",
		"memory=$(id)", "memory=99999999999999999999999999G", "bind", "bind=any", "bind=1,2", "linux-cpus=0",
		"linux-cpus=", "linux-cpus=1x", "linux-cpus=99999", "cpus=1", "memory=1G,", ",", " ", "bind=scatter ",
		"bind=scatter\nmemory=1G", "b\303\244nd=1",
	};
	char why[256], many[SETTINGS_TEXT * 2], line[SETTINGS_LINE];
	struct settings settings;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = 0;
		expect(__FILE__, __LINE__, !settings_read(RUNG_PARTITION, bad[i], &settings, why, sizeof(why)), bad[i]);
		expect(__FILE__, __LINE__, !strncmp(why, "--tacet: ", 9) && !strchr(why, '\n'), bad[i]);
	}
	EXPECT(settings_read(RUNG_TUNE, "linux-cpus=2", &settings, why, sizeof(why)) && settings.linux_cpus == 2);
	EXPECT(!settings_read(RUNG_TUNE, "memory=1G", &settings, why, sizeof(why)));
	EXPECT(!strcmp(why, "--tacet-tune: `memory`: unknown; use linux-cpus=NUMBER"));
	EXPECT(settings_print(RUNG_SCHED, "", line, sizeof(line)) && !strcmp(line, "tacet-sched linux-cpus=1"));
	EXPECT(settings_read_line(line, &settings, why, sizeof(why)) && settings.rung == RUNG_SCHED);
	EXPECT(!settings_read_line("tace linux-cpus=1", &settings, why, sizeof(why)) && strstr(why, "no option"));
	EXPECT(!settings_print(RUNG_TUNE, "linux-cpus=2", line, 8));
	memset(many, '1', sizeof(many) - 1);
	many[sizeof(many) - 1] = 0;
	EXPECT(!settings_read(RUNG_PARTITION, many, &settings, why, sizeof(why)) && strstr(why, "too long"));
}

static void a_file_has_one_line(void)
{
	char line[8];

	EXPECT(file_make_folder("/folder") && file_make_folder("/folder"));
	EXPECT(!file_read_line("/folder/1", line, sizeof(line)) && !line[0]);
	EXPECT(file_write_line("/folder/1", "one") && file_write_line("/folder/1", "two"));
	EXPECT(file_read_line("/folder/1", line, sizeof(line)) && !strcmp(line, "two"));
	EXPECT(file_write_line("/folder/1", "much longer") && !file_read_line("/folder/1", line, sizeof(line)) && !line[0]);
	file_remove("/folder/1");
	EXPECT(!file_read_line("/folder/1", line, sizeof(line)));
	EXPECT(!file_write_line("/nowhere/1", "one"));
}

int main(void)
{
	cpus_are_read_and_printed();
	linux_keeps_the_first();
	settings_that_are_known();
	settings_that_are_refused();
	a_file_has_one_line();
	test_life();
	return failures != 0;
}
