/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The machine around the files under test: faults on purpose (faults.c), hosted programs (programs.c), and the rest
 * of the module and of Linux (machine.c). main.c executes requests on it and says what they left.
 */
#ifndef WORLD_H
#define WORLD_H

#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

#define CPUS 12u
#define FIRST_OF_REACH 2u	/* the CPUs before it are Linux's for good */
#define PROGRAMS 64u
#define MEMORY_BYTES (1ull << 32)

/* faults.c: one step of a request fails. */
void fault_arm(unsigned int step);	/* counted from 1; 0: none */
bool fault_here(void);			/* asked by each step that can fail */
bool fault_was(void);
unsigned int allocations(void);		/* that have not been freed */

/* programs.c: what a program does when it is told to leave a core, or to end. */
enum manner {
	WILLING,
	DEAF_TO_TERM,		/* only SIGKILL ends it */
	STUCK,			/* it does not leave its core, whoever wants that */
};
int program_start(unsigned int number, const char *job, uid_t user, unsigned int threads, enum manner manner);
void program_end(unsigned int number);
void programs_settle(void);
unsigned int programs_threads(void);
void programs_print(void);

/* machine.c */
struct machine_cpu {
	bool offline, open, started, published;
};
extern struct machine_cpu machine[CPUS];
void machine_begin(void);

/* main.c: the request that waits for the control lock, if there is one, is executed. */
void request_between(void);

#endif
