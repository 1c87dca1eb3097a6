// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Measures how long a running program takes to get to a core of the partition, and back.
 *
 * usage: decouple CPU ROUNDS LINUX_CPU OTHER_LINUX_CPU
 * A child spins and notes the tick at which it finds itself on another CPU. The parent requests the move, and measures
 * the time from its request to that tick. Prints `decouple_ns` and `recouple_ns`, and for comparison `migrate_ns`: the
 * same between two CPUs of Linux, by sched_setaffinity. Must never leave the child behind.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tacet/ioctl.h>

#include "clock.h"

#define MOST 256
#define PATIENCE_US 5000000

struct place {
	_Atomic uint32_t cpu;
	uint64_t since;
};

static struct place *place;
static int device;

static void spin(void)
{
	uint32_t last = ~0u, cpu;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint64_t now = ticks_on(&cpu);

		if (cpu != last) {
			place->since = now;
			atomic_store_explicit(&place->cpu, cpu, memory_order_release);
			last = cpu;
		}
	}
}

static int allow(pid_t child, unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(child, sizeof(set), &set);
}

static int decouple(pid_t child, unsigned int cpu)
{
	struct tacet_decouple request = { .revision = TACET_ABI_REVISION, .pid = child, .cpu = cpu };

	return ioctl(device, TACET_DECOUPLE, &request);
}

static int recouple(pid_t child, unsigned int unused)
{
	struct tacet_recouple request = { .revision = TACET_ABI_REVISION, .pid = child };

	(void)unused;
	return ioctl(device, TACET_RECOUPLE, &request);
}

/* Ticks from the request to the child's arrival on @cpu; 0 if it does not arrive. */
static uint64_t move(int (*request)(pid_t, unsigned int), pid_t child, unsigned int cpu)
{
	uint64_t start = ticks();

	if (request(child, cpu))
		return 0;
	for (int waited = 0; atomic_load_explicit(&place->cpu, memory_order_acquire) != cpu; waited += 100) {
		if (waited > PATIENCE_US)
			return 0;
		usleep(100);
	}
	return place->since - start;
}

int main(int argc, char **argv)
{
	uint64_t there[MOST], back[MOST], migrate[MOST];
	unsigned int cpu, home, other;
	struct clock clock;
	size_t rounds, i;
	pid_t child;

	if (argc != 5 || (rounds = strtoul(argv[2], NULL, 0)) > MOST) {
		fprintf(stderr, "usage: decouple CPU ROUNDS LINUX_CPU OTHER_LINUX_CPU\n");
		return 2;
	}
	cpu = atoi(argv[1]), home = atoi(argv[3]), other = atoi(argv[4]);
	place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	device = open("/dev/tacet", O_RDWR | O_CLOEXEC);
	if (place == MAP_FAILED || device < 0) {
		perror("decouple");
		return 1;
	}
	child = fork();
	if (!child)
		spin();
	clock_start(&clock);
	for (i = 0; i < rounds; i++) {
		if (!move(allow, child, home) || !(migrate[i] = move(allow, child, other)) || !move(allow, child, home))
			break;
		if (!(there[i] = move(decouple, child, cpu)) || !(back[i] = move(recouple, child, home)))
			break;
	}
	clock_stop(&clock);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (i < rounds) {
		fprintf(stderr, "decouple: round %zu: the child is on cpu %u\n", i, place->cpu);
		return 1;
	}
	printf("decouple_ns %.0f\n", nanoseconds(&clock, middle(there, rounds)));
	printf("recouple_ns %.0f\n", nanoseconds(&clock, middle(back, rounds)));
	printf("migrate_ns %.0f\n", nanoseconds(&clock, middle(migrate, rounds)));
	return 0;
}
