// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Fixed work quanta: the same instructions N times, a marker between them.
 *
 * usage: tacet-quanta QUANTA ROUNDS [CPU [OFFSETS CURRENT]]
 * Executes 2 * ROUNDS + 6 instructions a quantum and nothing that needs a kernel. CPU is for Linux: the program first
 * pins itself there (the host places a hosted thread itself). OFFSETS and CURRENT, in hexadecimal, tell the plugin
 * where the kernel keeps the name of the running task (struct guide). Prints `begun` before the first quantum and a
 * summary after the last. Must never enter the kernel between MARK_BEGIN and MARK_END.
 *
 * Uses no C library, so it is the same program on every host and in every node.
 */
#include "calls.h"
#include "marker.h"

#define WARM 50

__attribute__((section(".guide"), used)) static volatile struct guide guide = { .pid = { 1, 1 } };

/* In assembly, so that with any compiler every quantum executes the same 2 * rounds + 6 instructions. */
__attribute__((noinline)) static void quanta(unsigned long n, unsigned long rounds)
{
	unsigned long left;

	asm volatile(".p2align 6\n"
		     "1: .byte 0x0f, 0x1f, 0x80, %c3, 0, 'T', 'C'\n"
		     "test %1, %1\n"
		     "jz 3f\n"
		     "mov %2, %0\n"
		     "2: dec %0\n"
		     "jnz 2b\n"
		     "dec %1\n"
		     "jmp 1b\n"
		     "3:"
		     : "=&r"(left), "+r"(n) : "r"(rounds), "i"(MARK_QUANTUM) : "cc");
}

int program(int count, char **words)
{
	unsigned long n, rounds;
	unsigned int cpu = 0;

	if (count < 3) {
		say(2, "usage: tacet-quanta QUANTA ROUNDS [CPU [OFFSETS CURRENT]]\n");
		return 2;
	}
	n = number(words[1], 10);
	rounds = number(words[2], 10);
	if (count > 5) {
		guide.offsets = number(words[4], 16);
		guide.current = number(words[5], 16);
	}
	guide.pid[0] = guide.pid[1] = (unsigned int)call(SYS_getpid, 0, 0, 0);
	call(SYS_prctl, PR_SET_NAME, (long)PROGRAM_NAME, 0);
	if (call(SYS_mlockall, MCL_CURRENT, 0, 0) || (count > 3 && pin(number(words[3], 10)))) {
		say(2, "tacet-quanta: cannot lock its memory or keep to its cpu\n");
		return 1;
	}
	quanta(WARM, rounds);
	say(1, "begun\n");
	MARK(MARK_BEGIN, 0);
	quanta(n, rounds);
	MARK(MARK_END, 0);
	call(SYS_getcpu, (long)&cpu, 0, 0);
	say(1, "quanta ");
	say_number(1, n);
	say(1, " cpu ");
	say_number(1, cpu);
	say(1, "\n");
	return 0;
}
