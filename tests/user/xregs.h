/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * All vector, mask and x87 registers of the CPU, in their full width: load
 * them, let an event happen while only a few instructions of ours run, and
 * read them back.
 */
#ifndef TACET_TESTS_USER_XREGS_H
#define TACET_TESTS_USER_XREGS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xregs {
	uint8_t vector[32][64];	/* without AVX-512, only the first 16 or 32 bytes of the first 16 are used */
	uint64_t mask[8];
	uint8_t x87[8][16];
};

/* The event: spin until *flag is not 0, if there is a flag; then make system call `number`, if it is not negative. */
struct xevent {
	volatile int *flag;
	long number, first, second;
};

long xregs_hold_sse(const struct xregs *in, struct xregs *out, struct xevent *event);
long xregs_hold_avx(const struct xregs *in, struct xregs *out, struct xevent *event);
long xregs_hold_avx512(const struct xregs *in, struct xregs *out, struct xevent *event);

/*
 * rdi: in, rsi: out, rdx: event. The fields are at the offsets that the asserts
 * below state. A call may clobber rcx and r11; all other registers are defined.
 */
asm(
	".pushsection .text\n"
	".macro xregs_x87_load\n"
	"	fninit\n"
	"	.irp n,0,1,2,3,4,5,6,7\n"
	"	fldt	(2112 + \\n * 16)(%rdi)\n"
	"	.endr\n"
	".endm\n"
	".macro xregs_event\n"
	"	mov	%rdx, %rbx\n"
	"	mov	%rsi, %r12\n"
	"	mov	0(%rbx), %rcx\n"
	"	mov	8(%rbx), %rax\n"
	"	mov	16(%rbx), %rdi\n"
	"	mov	24(%rbx), %rsi\n"
	"	xor	%edx, %edx\n"
	"	xor	%r10d, %r10d\n"
	"	xor	%r8d, %r8d\n"
	"	test	%rcx, %rcx\n"
	"	jz	2f\n"
	"1:	cmpl	$0, (%rcx)\n"
	"	je	1b\n"
	"2:	test	%rax, %rax\n"
	"	js	3f\n"
	"	syscall\n"
	"3:\n"
	".endm\n"
	".macro xregs_x87_store\n"
	"	.irp n,7,6,5,4,3,2,1,0\n"
	"	fstpt	(2112 + \\n * 16)(%r12)\n"
	"	.endr\n"
	"	pop	%r12\n"
	"	pop	%rbx\n"
	"	ret\n"
	".endm\n"

	".macro xregs_function name, move, register, count\n"
	"	.globl	\\name\n"
	"	.type	\\name, @function\n"
	"\\name:\n"
	"	push	%rbx\n"
	"	push	%r12\n"
	"	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	\\move	(\\n * 64)(%rdi), %\\register\\n\n"
	"	.endr\n"
	"	.if	\\count > 16\n"
	"	.irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	"	\\move	(\\n * 64)(%rdi), %\\register\\n\n"
	"	.endr\n"
	"	.irp n,0,1,2,3,4,5,6,7\n"
	"	kmovq	(2048 + \\n * 8)(%rdi), %k\\n\n"
	"	.endr\n"
	"	.endif\n"
	"	xregs_x87_load\n"
	"	xregs_event\n"
	"	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	\\move	%\\register\\n, (\\n * 64)(%r12)\n"
	"	.endr\n"
	"	.if	\\count > 16\n"
	"	.irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	"	\\move	%\\register\\n, (\\n * 64)(%r12)\n"
	"	.endr\n"
	"	.irp n,0,1,2,3,4,5,6,7\n"
	"	kmovq	%k\\n, (2048 + \\n * 8)(%r12)\n"
	"	.endr\n"
	"	.endif\n"
	"	.ifc	\\register, xmm\n"
	"	.else\n"
	"	vzeroupper\n"
	"	.endif\n"
	"	xregs_x87_store\n"
	".endm\n"

	"xregs_function xregs_hold_sse, movups, xmm, 16\n"
	"xregs_function xregs_hold_avx, vmovups, ymm, 16\n"
	"xregs_function xregs_hold_avx512, vmovups, zmm, 32\n"
	".popsection\n"
);

_Static_assert(offsetof(struct xregs, mask) == 2048, "mask");
_Static_assert(offsetof(struct xregs, x87) == 2112, "x87");
_Static_assert(offsetof(struct xevent, number) == 8 && offsetof(struct xevent, second) == 24, "event");

static inline int xregs_width(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
		return 64;
	return __builtin_cpu_supports("avx") ? 32 : 16;
}

/* A pattern that differs in every register from that of any other seed; the x87 values are valid numbers. */
static inline void xregs_fill(struct xregs *x, unsigned seed)
{
	int width = xregs_width();

	memset(x, 0, sizeof(*x));
	for (int r = 0; r < (width == 64 ? 32 : 16); r++)
		for (int i = 0; i < width; i++)
			x->vector[r][i] = (uint8_t)(seed * 37 + r * 64 + r + i * 3 + 1);
	for (int k = 0; k < 8 && width == 64; k++)
		x->mask[k] = seed * 0x9e3779b97f4a7c15u + k;
	for (int i = 0; i < 8; i++) {
		long double value = seed * 1000.5L + i + 0.125L;

		memcpy(x->x87[i], &value, 10);
	}
}

static inline long xregs_hold(const struct xregs *in, struct xregs *out, struct xevent *event)
{
	memset(out, 0, sizeof(*out));
	switch (xregs_width()) {
	case 64:
		return xregs_hold_avx512(in, out, event);
	case 32:
		return xregs_hold_avx(in, out, event);
	default:
		return xregs_hold_sse(in, out, event);
	}
}

#endif
