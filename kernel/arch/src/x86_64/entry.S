# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Every way into and out of the co-kernel on one CPU.
#
# Owns: the saving of user registers. They are pushed straight into the running
# thread's saved registers: their end is the stack pointer with which the processor
# leaves user mode (TSS.RSP0) and which the system-call entry loads. Interrupts are
# off in the co-kernel except while it dozes (tacet_doze). Non-maskable ones arrive;
# their handler uses neither GS nor the saved registers, unless it found user mode.
#
# Symbols in braces are offsets handed in by entry.rs.

	.section .text.entry, "ax"

# One stub per vector, 16 bytes each: (error code,) vector, jump. All in one page, as descriptor.rs expects.
	.balign 4096
	.globl tacet_stubs
tacet_stubs:
	.set vector, 0
	.rept 256
	.balign 16
	.if (vector == 8) || (vector >= 10 && vector <= 14) || (vector == 17) || (vector == 21) || (vector == 29) || (vector == 30)
	.else
	pushq	$0
	.endif
	pushq	$vector
	jmp	trap
	.set vector, vector + 1
	.endr

	.balign 16
trap:					# vector 0, error 8, rip 16, cs 24
	testb	$3, 24(%rsp)
	jz	trap_kernel
	swapgs
	lfence				# nobody's GS is used after a wrong guess at the branch
trap_save:
	pushq	%rdi
	pushq	%rsi
trap_save_rest:
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%gs:{KERNEL_STACK}, %rsp
	pushq	$2			# the program's AC flag would lift SMAP
	popfq
	xorl	%eax, %eax
	jmp	return_to_cpu

	.balign 16
	.globl tacet_syscall
tacet_syscall:				# SDM vol. 2, SYSCALL: rcx = rip, r11 = rflags
	swapgs
	movq	%rsp, %gs:{SCRATCH}
	movq	%gs:{REGISTERS_END}, %rsp
	pushq	$0x2b
	pushq	%gs:{SCRATCH}
	pushq	%r11
	pushq	$0x33
	pushq	%rcx
	pushq	$0
	pushq	$0x100
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%gs:{KERNEL_STACK}, %rsp
	cld
	xorl	%eax, %eax

# The kernel stack is as tacet_enter_user left it; rax is its result.
return_to_cpu:
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	retq

# u64 tacet_enter_user(rdi = cpu, esi = whether after a call): runs user mode
# until it ends. 0: the registers say why; 1: the doorbell rang and user mode is as
# it was. After a call rcx and r11 are what SYSCALL made them, so SYSRET will do.
	.balign 16
	.globl tacet_enter_user
tacet_enter_user:
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, {KERNEL_STACK}(%rdi)
enter_begin:				# a doorbell from here on goes to enter_abort
	movq	{SIGNALS}(%rdi), %rax
	cmpl	$0, {ATTENTION}(%rax)
	jne	enter_abort
	movq	{REGISTERS_END}(%rdi), %rsp
	subq	${REGISTERS_BYTES}, %rsp
	testl	%esi, %esi
	jnz	enter_by_sysret
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	addq	$16, %rsp
	swapgs
enter_swapped:
	iretq
enter_by_sysret:
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	movq	40(%rsp), %rsp		# vector 0, error 8, rip 16, cs 24, rflags 32
	swapgs
enter_swapped_again:
	sysretq
enter_end:
enter_abort:				# kernel stack, kernel GS
	movl	$1, %eax
	jmp	return_to_cpu

# void tacet_idle(rdi = cpu): sleeps unless the doorbell has rung.
	.balign 16
	.globl tacet_idle
tacet_idle:
idle_begin:				# a doorbell from here on goes to idle_end
	movq	{SIGNALS}(%rdi), %rax
	cmpl	$0, {ATTENTION}(%rax)
	jne	idle_end
	hlt
idle_end:
	retq

# u64 tacet_doze(rdi = cpu): sleeps with interrupts on unless the doorbell has rung;
# the vector of the one that ended it, or 0. No program runs and nothing is held.
	.balign 16
	.globl tacet_doze
tacet_doze:
	xorl	%eax, %eax
doze_begin:				# a doorbell from here on goes to doze_end
	movq	{SIGNALS}(%rdi), %rcx
	cmpl	$0, {ATTENTION}(%rcx)
	jne	doze_end
	sti				# lets nothing in before the next instruction
	hlt
doze_end:
	cli
	retq

# u64 tacet_drain(): lets in one interrupt that waits; its vector, or 0.
	.globl tacet_drain
tacet_drain:
	xorl	%eax, %eax
	sti
	nop
	nop
drain_end:				# an interrupt between doze_begin and here comes here
	cli
	retq

# The doorbell. Own stack; above the frame lies the address of the CPU's own memory.
# After four pushes: rip 32, cs 40, rflags 48, rsp 56, ss 64, cpu 80.
	.balign 16
	.globl tacet_nmi
tacet_nmi:
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rdi
	movq	80(%rsp), %rdi
	movq	{SIGNALS}(%rdi), %rax
	movq	{FLUSH_REQUESTED}(%rax), %rcx	# read before the flush, so that
	cmpq	{FLUSH_ACKNOWLEDGED}(%rax), %rcx	# later requests ring again
	je	1f
	movq	%cr3, %rdx
	testb	$3, 40(%rsp)
	jnz	3f
	cmpl	${MODE_RESTS}, {MODE}(%rax)
	jae	nmi_leave_space
3:	movq	%rdx, %cr3
nmi_flushed:
	movq	%rcx, {FLUSH_ACKNOWLEDGED}(%rax)
	jmp	2f
1:	cmpl	$0, {ATTENTION}(%rax)
	jne	2f
	incq	{DOORBELLS_EMPTY}(%rax)
2:	testb	$3, 40(%rsp)
	jz	nmi_kernel
	incq	{DOORBELLS_USER}(%rax)
	cmpl	$0, {ATTENTION}(%rax)
	jne	nmi_leave_user
nmi_done:
	popq	%rdi
	popq	%rdx
	popq	%rcx
	popq	%rax
	iretq

# The CPU halts or looks for something to do: no thread runs, and load_space comes before
# the next one. So it leaves the address space, as Linux's idle CPUs do, and is not rung
# for later changes of that. First the root, then the announcement.
nmi_leave_space:
	movq	{IDLE_ROOT}(%rax), %rdx
	movq	%rdx, %cr3
	movq	$0, {ACTIVE_ROOT}(%rax)
	jmp	nmi_flushed

nmi_leave_user:				# save user mode whole, return 1 to the caller
	popq	%rdi
	popq	%rdx
	popq	%rcx
	popq	%rax
	swapgs
	lfence				# as in trap
	movq	%rsp, %gs:{NMI_FRAME}
	movq	%gs:{REGISTERS_END}, %rsp
	subq	$56, %rsp
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%gs:{NMI_FRAME}, %rsi
	movq	%gs:{REGISTERS_END}, %rdi
	subq	$56, %rdi
	movq	$2, 0(%rdi)
	movq	$0, 8(%rdi)
	movq	0(%rsi), %rax
	movq	%rax, 16(%rdi)
	movq	8(%rsi), %rax
	movq	%rax, 24(%rdi)
	movq	16(%rsi), %rax
	movq	%rax, 32(%rdi)
	movq	24(%rsi), %rax
	movq	%rax, 40(%rdi)
	movq	32(%rsi), %rax
	movq	%rax, 48(%rdi)
	movq	%gs:{KERNEL_STACK}, %rax	# leave by IRET: nothing else lets
	movq	%rax, %rsp			# the next NMI in; below the saved
	pushq	$0x18				# registers is no room for its frame
	pushq	%rax
	pushq	$2
	pushq	$0x10
	leaq	enter_abort(%rip), %rcx
	pushq	%rcx
	cld
	iretq

nmi_kernel:				# flushed already; only a request to look needs more
	incq	{DOORBELLS_KERNEL}(%rax)
	cmpl	$0, {ATTENTION}(%rax)
	je	nmi_done
	movq	32(%rsp), %rcx
	leaq	idle_begin(%rip), %rdx
	cmpq	%rdx, %rcx
	jb	1f
	leaq	idle_end(%rip), %rdx
	cmpq	%rdx, %rcx
	jae	4f
	movq	%rdx, 32(%rsp)
	jmp	nmi_done
4:	leaq	doze_begin(%rip), %rdx
	cmpq	%rdx, %rcx
	jb	1f
	leaq	doze_end(%rip), %rdx
	cmpq	%rdx, %rcx
	jae	1f
	movq	%rdx, 32(%rsp)
	jmp	nmi_done
1:	leaq	enter_begin(%rip), %rdx
	cmpq	%rdx, %rcx
	jb	nmi_done
	leaq	enter_end(%rip), %rdx
	cmpq	%rdx, %rcx
	jae	nmi_done
	leaq	enter_swapped_again(%rip), %rdx
	cmpq	%rdx, %rcx
	je	3f
	leaq	enter_swapped(%rip), %rdx
	cmpq	%rdx, %rcx
	jne	2f
3:	swapgs				# the user's GS was in: take it out again
2:	leaq	enter_abort(%rip), %rcx
	movq	%rcx, 32(%rsp)
	movq	$2, 48(%rsp)
	movq	{KERNEL_STACK}(%rdi), %rcx
	movq	%rcx, 56(%rsp)
	jmp	nmi_done
nmi_end:

# First instruction of a CPU, from its host: rdi = its page (Signals).
	.globl tacet_start
tacet_start:
	movq	{BOOT_STACK}(%rdi), %rsp
	xorl	%ebp, %ebp
	call	tacet_main
2:	hlt
	jmp	2b
