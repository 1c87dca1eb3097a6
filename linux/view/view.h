/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What hosted programs read about themselves and their CPUs: where Linux's files tell of the
 * proxy, they tell of the core. delegate/ calls it; it calls process/ and what is below.
 *
 *	opened.c > files.c	a file that is opened gets a view; which files those are, and their reads
 *	cpus.c, procs.c, maps.c	how the text of each is changed
 *	calls.c			the same for system calls
 */
#ifndef TACET_VIEW_VIEW_H
#define TACET_VIEW_VIEW_H

#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "base/text.h"
#include "tacet.h"

/* A file of our own in place of one that a hosted thread has opened. Written before the program
 * has it, except as noted. */
struct tacet_view {
	/* opened.c, until the file has the view */
	struct callback_head opening;
	struct file *found;		/* Linux's, referenced */
	unsigned int descriptor;

	struct file_operations operations;	/* the file's, with our read */
	const struct file_operations *linux_operations;
	const struct tacet_view_kind *kind;
	unsigned int numbers[2];	/* the numbers in its path, in order */
	int node;			/* of the device that has the file, for its CPUs; -1: none */
	char name[32];			/* what its path ends with, where that varies */
	struct pid *pid;		/* the thread that the file is about, or NULL */
	struct tacet_range *range;	/* of the opening process, for its maps; or NULL */
	struct mutex lock;		/* locks.h */
	struct tacet_text text;		/* as last read from the start; @lock */
};

/* A kind of file: '#' in @path is a number, '*' at its end one name, and '~' any text before
 * the last name. */
struct tacet_view_kind {
	unsigned long magic;		/* of its file system */
	const char *path;		/* in its file system */
	/* Writes to @to what the program reads instead of @from; sleeps. */
	int (*change)(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
};

/* opened.c: a probe, in the thread's own context; does not sleep */
void tacet_view_opened(const struct pt_regs *regs, long result);

/* files.c: the last two sleep */
struct tacet_view *tacet_view_for(struct file *file);
void tacet_view_install(struct tacet_view *view, struct file *own);
void tacet_view_free(struct tacet_view *view);

/* calls.c: do not sleep; RCU */
void tacet_view_before_call(struct tacet_hosted *hosted, struct pt_regs *regs);
void tacet_view_after_call(struct tacet_hosted *hosted, struct pt_regs *regs, long result);

/* cpus.c */
bool tacet_view_cpus(struct cpumask *cpus);
unsigned int tacet_view_package_mates(unsigned int cpu);
int tacet_view_online(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_offline(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_cpu_online(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_node(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_device(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_nodes(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_topology(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_cache(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);

/* procs.c */
int tacet_view_stat(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_cpuinfo(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_status(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);
int tacet_view_thread_stat(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);

/* maps.c */
int tacet_view_maps(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to);

#endif
