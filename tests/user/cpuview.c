/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The CPU on which a program believes to run. TACET_CPUS, set only if it is
 * hosted, lists the CPUs that it must see; otherwise they are those of its affinity.
 */
#include "check.h"

#include <cpuid.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "sequence.h"
#include "vdso.h"

static cpu_set_t allowed;
static int (*vdso_getcpu)(unsigned *, unsigned *, void *);

static void parse_list(const char *list, cpu_set_t *set)
{
	char *end;

	CPU_ZERO(set);
	while (*list) {
		long first = strtol(list, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (; first <= last; first++)
			CPU_SET(first, set);
		list = end + (*end == ',');
		CHECK(!*end || *end == ',');
	}
}

static int has_rdtscp(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000001, &a, &b, &c, &d) && (d & (1 << 27));
}

enum { LIBRARY, CALL, VDSO, RSEQ, TSC_AUX, VIEWS };

/* Takes all views of one moment; repeats if the thread was moved meanwhile. */
static void look(int *views)
{
	volatile struct rseq *rseq = rseq_self();
	unsigned cpu, before;

	do {
		CHECK(syscall(SYS_getcpu, &before, NULL, NULL) == 0);
		views[LIBRARY] = sched_getcpu();
		views[VDSO] = views[TSC_AUX] = views[RSEQ] = before;
		if (vdso_getcpu) {
			CHECK(vdso_getcpu(&cpu, NULL, NULL) == 0);
			views[VDSO] = cpu;
		}
		if (__rseq_size)
			views[RSEQ] = rseq->cpu_id;
		if (has_rdtscp()) {
			unsigned aux;

			__builtin_ia32_rdtscp(&aux);
			views[TSC_AUX] = aux & 0xfff;
		}
		CHECK(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0);
		views[CALL] = cpu;
	} while (cpu != before);
}

static int agree(const int *views)
{
	for (int v = 0; v < VIEWS; v++)
		if (views[v] != views[CALL])
			return 0;
	return 1;
}

static void check_here(void)
{
	int views[VIEWS];

	for (int i = 0; i < 100; i++) {
		int tries = 0;

		/* it may have moved away and back between the first and the last view */
		do
			look(views);
		while (!agree(views) && ++tries < 5);
		CHECK(agree(views));
		for (int v = 0; v < VIEWS; v++)
			CHECK(CPU_ISSET(views[v], &allowed));
		if (i % 10 == 0)
			sched_yield();
	}
}

static void *in_a_thread(void *unused)
{
	cpu_set_t mine;

	CHECK(sched_getaffinity(0, sizeof(mine), &mine) == 0 && CPU_EQUAL(&mine, &allowed));
	check_here();
	return unused;
}

/* Binds itself to one CPU after the other, and must see that CPU. */
static void bound(void)
{
	cpu_set_t one, got;
	int views[VIEWS];

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
		CHECK(sched_getaffinity(0, sizeof(got), &got) == 0 && CPU_EQUAL(&one, &got));
		for (int i = 0; i < 20; i++) {
			look(views);
			for (int v = 0; v < VIEWS; v++)
				CHECK(views[v] == cpu);
		}
	}
	CPU_ZERO(&one);
	CHECK_ERRNO(sched_setaffinity(0, sizeof(one), &one), EINVAL);
	CHECK(sched_setaffinity(0, sizeof(allowed), &allowed) == 0);
}

static void online_file(void)
{
	char line[256];
	cpu_set_t online, both;
	FILE *file = fopen("/sys/devices/system/cpu/online", "r");

	if (!file)	/* no sysfs here */
		return;
	CHECK(fgets(line, sizeof(line), file) && fclose(file) == 0);
	line[strcspn(line, "\n")] = 0;
	parse_list(line, &online);
	CPU_AND(&both, &online, &allowed);
	CHECK(CPU_EQUAL(&both, &allowed));
	CHECK(sysconf(_SC_NPROCESSORS_ONLN) >= CPU_COUNT(&allowed));
}

int main(void)
{
	pthread_t threads[6];
	cpu_set_t mine;

	CHECK(sched_getaffinity(0, sizeof(mine), &mine) == 0);
	allowed = mine;
	if (getenv("TACET_CPUS"))
		parse_list(getenv("TACET_CPUS"), &allowed);
	CHECK(CPU_COUNT(&mine) >= 1 && CPU_EQUAL(&mine, &allowed));
	say("affinity\n");
	vdso_getcpu = vdso_symbol("__vdso_getcpu");
	PART(check_here);
	say("all views of the CPU agree\n");
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_create(&threads[i], NULL, in_a_thread, NULL));
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHILD(check_here, exited_with(status, 0));
	say("in threads and children\n");
	PART(bound);
	say("bound to each\n");
	PART(online_file);
	say("online\n");
	return 0;
}
