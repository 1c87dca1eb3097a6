/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The run-time support of a program without a C library on x86-64 Linux: start and end, system calls, numbers.
 *
 * Owns: _start. Included once by a program of one file, which defines program(); built with -ffreestanding -nostdlib -static.
 */
#ifndef TACET_EXACT_CALLS_H
#define TACET_EXACT_CALLS_H

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int program(int count, char **words);

static inline long call(long number, long a, long b, long c)
{
	long answer;

	asm volatile("syscall" : "=a"(answer) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return answer;
}

/* The kernel puts the number of words on the stack, then the words. */
__attribute__((used)) static void begin(long *stack)
{
	call(SYS_exit_group, program((int)stack[0], (char **)(stack + 1)), 0, 0);
}

asm(".globl _start\n_start: mov %rsp, %rdi\nand $-16, %rsp\ncall begin");

static inline void say(int file, const char *text)
{
	long length = 0;

	while (text[length])
		length++;
	call(SYS_write, file, (long)text, length);
}

static inline void say_number(int file, unsigned long value)
{
	char digits[21], *at = digits + 20;

	*at = 0;
	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	say(file, at);
}

/* Reads up to the first character that is not a digit of that base. */
static inline unsigned long number(const char *text, unsigned base)
{
	unsigned long value = 0;

	for (;; text++) {
		unsigned digit = *text >= 'a' ? *text - 'a' + 10u : *text - '0' + 0u;

		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

static inline long pin(unsigned long cpu)
{
	unsigned long set[16] = { 0 };

	if (cpu >= 1024)
		return -1;
	set[cpu / 64] = 1UL << cpu % 64;
	return call(SYS_sched_setaffinity, 0, sizeof(set), (long)set);
}

#endif
