/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Makes each call that a static node answers or ships, with arguments at the edges, and prints the results: one line for
 * each attempt. tests/static/src/calls.rs compares the lines with Linux's.
 *
 * The calls come from abi/syscalls.tbl. `rows` names the kinds of the arguments where the table has none or where an edge
 * would block or leave no program to go on; a call of the table that has no kinds at all fails the test. One argument at
 * a time is at an edge, and a buffer together with its length.
 */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../../user/check.h"

#define PAGE 4096ul
#define LONG_PAGES 40
#define MAX_CANDIDATES 16
#define DESCRIPTORS 1024

struct row {
	long number;
	const char *name;
	/* As in abi/syscalls.tbl. Besides: zero; once: NULL or an edge, never a buffer; size: of few pages; page: memory that
	 * is there to be changed; time SIZE: a buffer, never NULL; few: numbers that do not block; skip: not called. */
	const char *kinds;
};

static const struct row table[] = {
#include "calls.h"
};

static const struct row rows[] = {
	/* they end the program, the thread or its connection with the test */
	{ 0, "exit", "skip" }, { 0, "exit_group", "skip" }, { 0, "rt_sigreturn", "skip" }, { 0, "close_range", "skip" },
	{ 0, "clone", "skip" },
	/* they wait for a signal, whatever their arguments are */
	{ 0, "pause", "skip" }, { 0, "rt_sigsuspend", "skip" },
	/* -1 and numbers of other processes would be taken at their word */
	{ 0, "kill", "skip" }, { 0, "tkill", "skip" }, { 0, "tgkill", "skip" }, { 0, "rt_sigqueueinfo", "skip" },
	{ 0, "rt_tgsigqueueinfo", "skip" },
	/* they wait for all disks of the host */
	{ 0, "sync", "skip" }, { 0, "syncfs", "skip" },
	/* its result is the stack's, and there is none of its own to continue */
	{ 0, "restart_syscall", "" },
	/* NULL is no time limit here, and a negative one */
	{ 0, "poll", "inout 8*#2, value, zero" },
	{ 0, "ppoll", "inout 8*#2, value, time 16, null, value" },
	{ 0, "select", "value, inout bits #1, inout bits #1, inout bits #1, time 16" },
	{ 0, "pselect6", "value, inout bits #1, inout bits #1, inout bits #1, time 16, null" },
	{ 0, "epoll_wait", "fd, fill 12*#3, value, zero" },
	{ 0, "epoll_pwait", "fd, fill 12*#3, value, zero, null, value" },
	{ 0, "epoll_pwait2", "fd, fill 12*#3, value, time 16, null, value" },
	{ 0, "rt_sigtimedwait", "in 8, out 128, time 16, few" },
	{ 0, "futex", "in 4, few, value, time 16, once, value" },
	/* a disk would be filled */
	{ 0, "sendfile", "fd, fd, inout 8, size" }, { 0, "copy_file_range", "fd, inout 8, fd, inout 8, size, value" },
	{ 0, "splice", "fd, inout 8, fd, inout 8, size, value" },
	{ 0, "fallocate", "fd, value, few, few" },
	/* the call reads and writes no memory of the kinds, or the kinds follow from what is asked */
	{ 0, "fcntl", "fd, command, few" }, { 0, "ioctl", "fd, request, out 64" }, { 0, "prctl", "few, few, few, few, few" },
	{ 0, "arch_prctl", "few, once" },
	/* limits would hold for the rest */
	{ 0, "setrlimit", "value, once" }, { 0, "prlimit64", "self, value, once, out 16" },
	{ 0, "mmap", "zero, size, few, once, value, few" }, { 0, "mprotect", "page, size, few" },
	{ 0, "munmap", "page, size" }, { 0, "brk", "few" }, { 0, "mremap", "page, size, size, few" },
	{ 0, "msync", "page, size, few" }, { 0, "mincore", "page, size, out 1" }, { 0, "madvise", "page, size, few" },
	{ 0, "mlock", "page, size" }, { 0, "munlock", "page, size" }, { 0, "mlock2", "page, size, few" },
	{ 0, "mlockall", "few" }, { 0, "munlockall", "" }, { 0, "rt_sigaction", "few, in 32, out 32, few" },
	{ 0, "rt_sigprocmask", "few, in 8, out 8, few" }, { 0, "nanosleep", "in 16, out 16" }, { 0, "sched_yield", "" },
	{ 0, "getpid", "" }, { 0, "gettid", "" }, { 0, "gettimeofday", "out 16, out 8" }, { 0, "getrusage", "value, out 144" },
	{ 0, "sysinfo", "out 112" }, { 0, "times", "out 32" }, { 0, "getuid", "" }, { 0, "getgid", "" }, { 0, "geteuid", "" },
	{ 0, "getegid", "" }, { 0, "rt_sigpending", "out 8, few" }, { 0, "sigaltstack", "in 24, out 24" },
	{ 0, "sched_setparam", "self, in 4" }, { 0, "sched_getparam", "self, out 4" },
	{ 0, "sched_setscheduler", "self, few, in 4" }, { 0, "sched_getscheduler", "self" },
	{ 0, "sched_get_priority_max", "value" }, { 0, "sched_get_priority_min", "value" },
	{ 0, "sched_rr_get_interval", "self, out 16" }, { 0, "time", "out 8" }, { 0, "sched_setaffinity", "self, few, in 128" },
	{ 0, "sched_getaffinity", "self, value, out 128" }, { 0, "set_tid_address", "out 4" },
	{ 0, "clock_gettime", "value, out 16" }, { 0, "clock_getres", "value, out 16" },
	{ 0, "clock_nanosleep", "value, few, time 16, out 16" }, { 0, "set_robust_list", "out 24, value" },
	{ 0, "get_robust_list", "self, out 8, out 8" }, { 0, "getcpu", "out 4, out 4, once" }, { 0, "membarrier", "few, few, few" },
};

/* A value at an edge, and what the line calls it. */
struct edge {
	const char *name;
	long value;
};

static char *writable, *fixed, *guard, *spare;
static char lines[1 << 22];
static size_t used;

static void put_line(const char *text, size_t bytes)
{
	CHECK(used + bytes < sizeof(lines));
	memcpy(lines + used, text, bytes);
	used += bytes;
}

enum { FILE_FD = 20, READ_FD, WRITE_FD, SOCKET_FD, PEER_FD, DIR_FD, EPOLL_FD, READ_ONLY_FD, END_FD };

static void move_to(int from, int to)
{
	CHECK(from >= 0 && dup2(from, to) == to && (from == to || close(from) == 0));
}

/* What a call may have changed is as it was. */
static void refresh(void)
{
	int pair[2];

	/* beyond the descriptors that the program has from its parent */
	CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	umask(022);
	alarm(0);
	unlink("made");
	rmdir("made");
	unlink("file");
	move_to(open("file", O_RDWR | O_CREAT | O_TRUNC, 0644), FILE_FD);
	CHECK(pwrite(FILE_FD, "0123456789abcdef", 16, 0) == 16);
	CHECK(pipe2(pair, O_NONBLOCK) == 0);
	move_to(pair[0], READ_FD);
	move_to(pair[1], WRITE_FD);
	CHECK(write(WRITE_FD, "some", 4) == 4);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	move_to(pair[0], SOCKET_FD);
	move_to(pair[1], PEER_FD);
	CHECK(write(PEER_FD, "more", 4) == 4);
	move_to(open(".", O_RDONLY | O_DIRECTORY), DIR_FD);
	move_to(epoll_create1(0), EPOLL_FD);
	move_to(open("file", O_RDONLY), READ_ONLY_FD);
}

static size_t add_edge(struct edge *edges, size_t count, const char *name, long value)
{
	CHECK(count < MAX_CANDIDATES);
	edges[count] = (struct edge){ name, value };
	return count + 1;
}

static int is(const char *kind, const char *word)
{
	return !strncmp(kind, word, strlen(word));
}

#define ADD(name, value) (count = add_edge(edges, count, name, (long)(value)))

static size_t descriptors(struct edge *edges)
{
	size_t count = 0;

	ADD("file", FILE_FD), ADD("-1", -1), ADD("999", 999), ADD("huge", 1l << 31), ADD("read", READ_FD);
	ADD("write", WRITE_FD), ADD("socket", SOCKET_FD), ADD("dir", DIR_FD), ADD("epoll", EPOLL_FD);
	ADD("readonly", READ_ONLY_FD), ADD("high", FILE_FD + (1l << 32));
	return count;
}

static size_t buffers(struct edge *edges, const char *kind)
{
	size_t count = 0;

	if (is(kind, "once")) {
		ADD("null", 0);
	} else {
		ADD("good", writable), ADD("odd", writable + 1), ADD("part", guard - 8), ADD("long", guard - 33 * PAGE + 5);
		ADD("fixed", fixed), ADD("ones", fixed + PAGE);
		if (!is(kind, "time"))
			ADD("null", 0);
	}
	ADD("guard", guard), ADD("beyond", 1ul << 47), ADD("below", (1ul << 47) - PAGE), ADD("kernel", 0xffff800000000000ul);
	ADD("last", -1ul);
	return count;
}

/* A path. Those with a buffer's name are in it. */
static size_t texts(struct edge *edges)
{
	static char longest[5000];
	size_t count = 0;

	memset(longest, 'a', sizeof(longest) - 1);
	ADD("file", "file"), ADD("made", "made"), ADD("none", "none"), ADD("empty", ""), ADD("under", "file/x");
	ADD("longest", longest), ADD("noname", memset(guard - 8, 'x', 8));
	ADD("end", memcpy(guard - 5, "file", 5)), ADD("null", 0), ADD("guard", guard), ADD("beyond", 1ul << 47);
	ADD("kernel", 0xffff800000000000ul);
	return count;
}

static size_t numbers(struct edge *edges, const char *kind, int is_length)
{
	size_t count = 0;

	if (is_length)
		ADD("16", 16);
	ADD("0", 0);
	if (is(kind, "zero"))
		return count;
	if (is(kind, "size")) {
		ADD("page", PAGE), ADD("1", 1), ADD("two", 2 * PAGE), ADD("-1", -1), ADD("-page", -PAGE);
		return count;
	}
	ADD("1", 1), ADD("-1", -1);
	if (is(kind, "few")) {
		ADD("2", 2), ADD("3", 3), ADD("9", 9), ADD("-9", -9), ADD("high2", (1l << 32) + 2);
		return count;
	}
	if (is_length)
		ADD("64k", 65536), ADD("100k", 100000), ADD("12000", 12000);
	ADD("high", (1l << 32) + (is_length ? 16 : 1)), ADD("int", 1l << 31), ADD("huge", 1l << 48), ADD("max", INT64_MAX), ADD("min", INT64_MIN);
	return count;
}

static size_t commands(struct edge *edges, const char *kind)
{
	static const int requests[] = { 0x5401, 0x5413, 0x541b, 0x5421, 0x5411, 0x540f, 0x80086601, 2, 0x5460, 0x12345678, -1 };
	static const int controls[] = { 0, 1, 2, 3, 4, 8, 9, 11, 1025, 1030, 1032, 1034, 10, 99, -1 };
	const int *values = is(kind, "request") ? requests : controls;
	size_t count = 0, length = is(kind, "request") ? ARRAY_LENGTH(requests) : ARRAY_LENGTH(controls);
	static char names[32][16];
	static size_t last;

	for (last = 0; count < length; last++) {
		snprintf(names[last], sizeof(names[last]), "%#x", values[count]);
		ADD(names[last], values[count]);
	}
	return count;
}

static size_t memory(struct edge *edges)
{
	size_t count = 0;

	ADD("spare", spare), ADD("odd", spare + 1), ADD("null", 0), ADD("beyond", 1ul << 47);
	ADD("kernel", 0xffff800000000000ul), ADD("last", -PAGE);
	return count;
}

static size_t edges_of(struct edge *edges, const char *kind, int is_length)
{
	size_t count = 0;

	if (is(kind, "fd"))
		return descriptors(edges);
	if (is(kind, "text"))
		return texts(edges);
	if (is(kind, "page"))
		return memory(edges);
	if (is(kind, "command") || is(kind, "request"))
		return commands(edges, kind);
	if (is(kind, "null"))
		return ADD("null", 0);
	if (is(kind, "value") || is(kind, "few") || is(kind, "zero") || is(kind, "size"))
		return numbers(edges, kind, is_length);
	if (is(kind, "self")) {
		ADD("0", 0), ADD("-1", -1), ADD("int", 1l << 31);
		return count;
	}
	return buffers(edges, kind);
}

struct call {
	const struct row *row;
	size_t count;
	const char *kinds[6];
	size_t edge_counts[6];
	struct edge edges[6][MAX_CANDIDATES];
};

static void attempt(const struct call *call, const size_t *chosen)
{
	long words[6] = { 0 }, result;
	char line[256];
	int length;

	memset(writable, 0, PAGE);
	memset(fixed + PAGE, 0xff, PAGE);
	memset(guard - 33 * PAGE, 0, PAGE);
	memset(guard - 8, 0, 8);
	length = snprintf(line, sizeof(line), "%s(", call->row->name);
	for (size_t i = 0; i < call->count; i++) {
		const struct edge *edge = &call->edges[i][chosen[i]];

		words[i] = edge->value;
		if (is(call->kinds[i], "text"))
			memcpy(guard - 8, strcmp(edge->name, "end") ? "xxxxxxxx" : "xxxfile", 8);
		length += snprintf(line + length, sizeof(line) - length, "%s%s", i ? ", " : "", edge->name);
	}
	result = syscall(call->row->number, words[0], words[1], words[2], words[3], words[4], words[5]);
	length += snprintf(line + length, sizeof(line) - length, ") = %ld %s\n", result,
			   result == -1 ? strerrorname_np(errno) : "");
	put_line(line, length);
}

static void take_apart(struct call *call, char *kinds)
{
	char *next = kinds;

	for (char *kind; (kind = strsep(&next, ",")) && *kind; call->count++) {
		while (*kind == ' ')
			kind++;
		CHECK(call->count < 6);
		call->kinds[call->count] = kind;
	}
}

/* The argument that is this buffer's length, or none. */
static int length_of(const char *kind)
{
	const char *mark = strchr(kind, '#');

	return mark ? atoi(mark + 1) - 1 : -1;
}

static void try_call(const struct row *row, const char *of_row)
{
	struct call call = { .row = row };
	int is_length[6] = { 0 };
	size_t chosen[6] = { 0 };
	char kinds[128];

	snprintf(kinds, sizeof(kinds), "%s", of_row);
	take_apart(&call, kinds);
	for (size_t i = 0; i < call.count; i++)
		if (length_of(call.kinds[i]) >= 0)
			is_length[length_of(call.kinds[i])] = 1;
	for (size_t i = 0; i < call.count; i++)
		call.edge_counts[i] = edges_of(call.edges[i], call.kinds[i], is_length[i]);
	refresh();
	attempt(&call, chosen);
	for (size_t i = 0; i < call.count; i++) {
		int length = length_of(call.kinds[i]);

		refresh();
		for (size_t edge = 0; edge < call.edge_counts[i]; edge++) {
			chosen[i] = edge;
			for (size_t size = 0; size < (length < 0 ? 1 : call.edge_counts[length]); size++) {
				if (length >= 0)
					chosen[length] = size;
				attempt(&call, chosen);
			}
			memset(chosen, 0, sizeof(chosen));
		}
	}
}

static const char *kinds_of(const struct row *row)
{
	static const char *const bare[] = { "getppid", "getpgrp", "inotify_init" };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (!strcmp(rows[i].name, row->name))
			return rows[i].kinds;
	for (size_t i = 0; i < ARRAY_LENGTH(bare); i++)
		if (!strcmp(bare[i], row->name))
			return "";
	return *row->kinds ? row->kinds : NULL;
}

/* A length leads beyond the end of a program's addresses or not, and an address is an integer below zero or not,
 * depending on where the memory lies: this lies where the linker put it, on Linux and on a node. */
static void map(void)
{
	static char all[(LONG_PAGES + 4) * PAGE] __attribute__((aligned(PAGE)));

	fixed = all;
	memset(fixed + PAGE, 0xff, PAGE);
	CHECK(mprotect(fixed, PAGE, PROT_READ) == 0);
	writable = all + 2 * PAGE;
	guard = writable + LONG_PAGES * PAGE;
	CHECK(mprotect(guard, PAGE, PROT_NONE) == 0);
	spare = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(spare != MAP_FAILED);
}

/* How many entries poll takes is the shell's word otherwise. select reads as many bits as the table of descriptors has
 * places, and a child's table is as long as its parent's descriptors ask: the last descriptor makes it its longest. */
static void limit_descriptors(void)
{
	const struct rlimit limit = { DESCRIPTORS, DESCRIPTORS };

	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(dup2(STDOUT_FILENO, DESCRIPTORS - 1) == DESCRIPTORS - 1);
}

int main(int count, char **words)
{
	signal(SIGALRM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	/* of a parent's limit of a file's size */
	signal(SIGXFSZ, SIG_IGN);
	limit_descriptors();
	/* what it is otherwise, and when it ends, is the parent's */
	move_to(open("/dev/null", O_RDONLY), STDIN_FILENO);
	map();
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
		const char *kinds = kinds_of(&table[i]);

		if (!kinds)
			say("%s: no kinds in calls.c\n", table[i].name);
		CHECK(kinds);
		if (strcmp(kinds, "skip") && (count < 2 || !strcmp(words[1], table[i].name)))
			try_call(&table[i], kinds);
		if (getenv("CALLS_NOW"))
			say("%.*s", (int)used, lines), used = 0;
	}
	for (size_t done = 0; done < used;) {
		ssize_t written = write(STDOUT_FILENO, lines + done, used - done);

		CHECK(written > 0);
		done += written;
	}
	return 0;
}
