/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * fork() while another thread moves a mapping from one end of a large one to the other, again and again. Each child must
 * have it at exactly one of the two places.
 */
#include "check.h"

#include <pthread.h>

#define PAGE 4096ul
#define BYTES (16ul << 20)
#define MOVES 5000
#define MARK 77

static char *area;
static volatile int begun, ends;

static char *place(int high)
{
	return area + (high ? BYTES - PAGE : 0);
}

/* Moves what is at @from to @to and back. In registers alone: a touch of memory would wait for the end of a fork. False: a
 * move failed. */
static int move_often(char *from, char *to, long times)
{
	register unsigned long flags asm("r10") = MREMAP_MAYMOVE | MREMAP_FIXED;
	register char *target asm("r8") = to;
	long failed = 0;

	asm volatile("1: mov %[number], %%eax\n"
		     "syscall\n"
		     "cmp %[to], %%rax\n"
		     "jne 2f\n"
		     "xchg %[from], %[to]\n"
		     "dec %[times]\n"
		     "jnz 1b\n"
		     "jmp 3f\n"
		     "2: inc %[failed]\n"
		     "3:\n"
		     : [from] "+D"(from), [to] "+r"(target), [times] "+r"(times), [failed] "+r"(failed)
		     : [number] "i"(SYS_mremap), "S"(PAGE), "d"(PAGE), "r"(flags)
		     : "rax", "rcx", "r11", "memory", "cc");
	return !failed;
}

static void *move_on(void *unused)
{
	while (!ends) {
		CHECK(move_often(place(0), place(1), MOVES));
		begun = 1;
	}
	return unused;
}

/* Nothing of the copy may be done by a processor that has nothing else to do: then it would be done at once. */
static void *be_busy(void *unused)
{
	while (!ends)
		;
	return unused;
}

/* The mapping is there: another one would not have the mark. */
static int has(int high, int ends_of_pipe[2])
{
	char mark;

	if (write(ends_of_pipe[1], place(high), 1) != 1)
		return 0;
	CHECK(read(ends_of_pipe[0], &mark, 1) == 1 && mark == MARK);
	return 1;
}

static void look(void)
{
	int ends_of_pipe[2];

	CHECK(pipe(ends_of_pipe) == 0);
	CHECK(has(0, ends_of_pipe) + has(1, ends_of_pipe) == 1);
	_exit(0);
}

int main(void)
{
	pthread_t mover, busy;

	area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	memset(area, MARK, BYTES);
	CHECK(munmap(place(1), PAGE) == 0);
	CHECK(pthread_create(&mover, NULL, move_on, NULL) == 0);
	CHECK(pthread_create(&busy, NULL, be_busy, NULL) == 0);
	while (!begun)
		sleep_ms(1);
	for (int round = 0; round < rounds(8, 40); round++) {
		sleep_ms(1);
		CHECK(child_status(look) == 0);
	}
	ends = 1;
	CHECK(pthread_join(mover, NULL) == 0 && pthread_join(busy, NULL) == 0);
	say("each child has it once\n");
	return 0;
}
