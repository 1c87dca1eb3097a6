/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A core's first instructions, in a page below 1 MiB, from real mode to the
 * co-kernel's address space. start.c copies it there and patches it. It is data, in .rodata:
 * it never runs here.
 */
	.section .rodata
	.balign 16
	.globl tacet_trampoline, tacet_trampoline_end
	.globl tacet_trampoline_gdtr, tacet_trampoline_gdt, tacet_trampoline_cr4
	.globl tacet_trampoline_cr3, tacet_trampoline_efer, tacet_trampoline_cr0
	.globl tacet_trampoline_far, tacet_trampoline_long
	.globl tacet_trampoline_argument, tacet_trampoline_entry
	.code16
tacet_trampoline:
	cli
	cld
	movw	%cs, %ax
	movw	%ax, %ds
	lgdtl	(tacet_trampoline_gdtr - tacet_trampoline)
	movl	(tacet_trampoline_cr4 - tacet_trampoline), %eax
	movl	%eax, %cr4
	movl	(tacet_trampoline_cr3 - tacet_trampoline), %eax
	movl	%eax, %cr3
	movl	$0xc0000080, %ecx
	movl	(tacet_trampoline_efer - tacet_trampoline), %eax
	xorl	%edx, %edx
	wrmsr
	movl	(tacet_trampoline_cr0 - tacet_trampoline), %eax
	movl	%eax, %cr0
	ljmpl	*(tacet_trampoline_far - tacet_trampoline)
	.code64
	.balign 8
tacet_trampoline_long:
	movl	$0x18, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movq	tacet_trampoline_argument(%rip), %rdi
	movq	tacet_trampoline_entry(%rip), %rax
	.byte	0xff, 0xe0		/* jmp *%rax, hidden from objtool's retpoline check */
	.balign 8
tacet_trampoline_gdtr:
	.word	31
	.long	0
	.balign 8
tacet_trampoline_gdt:
	.quad	0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff
tacet_trampoline_cr4:
	.long	0
tacet_trampoline_cr3:
	.long	0
tacet_trampoline_efer:
	.long	0
tacet_trampoline_cr0:
	.long	0
tacet_trampoline_far:
	.long	0
	.word	0x10
	.balign 8
tacet_trampoline_argument:
	.quad	0
tacet_trampoline_entry:
	.quad	0
tacet_trampoline_end:
	.section .note.GNU-stack, "", @progbits
