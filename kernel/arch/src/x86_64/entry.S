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

# One stub per vector, 16 bytes each: (error code,) vector, jump.
	.balign 16
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
trap_save:
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
	movq	%rdx, %cr3
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

nmi_leave_user:				# save user mode whole, return 1 to the caller
	popq	%rdi
	popq	%rdx
	popq	%rcx
	popq	%rax
	swapgs
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
	pushq	$0x18				# the next NMI in
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

# Reading and writing the program's memory: rdi = address, rsi = value; the
# value is in rax, and rdx says whether it faulted. Nothing is on the stack.
	.balign 16
user_access_begin:
	.globl tacet_user_load
tacet_user_load:
	movl	(%rdi), %eax
	xorl	%edx, %edx
	retq
	.globl tacet_user_store
tacet_user_store:
	movl	%esi, (%rdi)
	xorl	%edx, %edx
	retq
user_access_end:
user_access_fault:
	movl	$1, %edx
	retq

# Double fault and machine check come on stacks of their own, from anywhere.
	.balign 16
	.globl tacet_double_fault
tacet_double_fault:
	pushq	$8
	jmp	trap_fatal
	.balign 16
	.globl tacet_machine_check
tacet_machine_check:
	pushq	$0
	pushq	$18
	jmp	trap_fatal

# Loads a thread's user state, but for what tacet_enter_user loads: rdi = the saved
# state, esi = what the processor has. 0; 1: the processor refused some of it.
# Nothing is on the stack. GS base is the caller's to put back.
	.balign 16
	.globl tacet_load_state
tacet_load_state:
state_begin:
	movw	{DS}(%rdi), %ds
	movw	{ES}(%rdi), %es
	movw	{FS}(%rdi), %fs
	movw	{GS}(%rdi), %gs
	movl	${FS_BASE_REGISTER}, %ecx	# after the selectors, which change the bases
	movl	{FS_BASE}(%rdi), %eax
	movl	{FS_BASE}+4(%rdi), %edx
	wrmsr
	movl	${GS_BASE_REGISTER}, %ecx
	movl	{GS_BASE}(%rdi), %eax
	movl	{GS_BASE}+4(%rdi), %edx
	wrmsr
	testl	${HAS_XFD}, %esi
	jz	1f
	movl	${XFD_REGISTER}, %ecx
	movl	{XFD}(%rdi), %eax
	movl	{XFD}+4(%rdi), %edx
	wrmsr
1:	testl	${HAS_PKU}, %esi
	jz	2f
	movl	{PKRU}(%rdi), %eax
	xorl	%ecx, %ecx
	xorl	%edx, %edx
	wrpkru
2:	movl	{RESTORE_MASK}(%rdi), %eax
	movl	{RESTORE_MASK}+4(%rdi), %edx
	testl	${HAS_XSAVES}, %esi
	jz	3f
	xrstors64 {XSTATE}(%rdi)
	jmp	4f
3:	xrstor64 {XSTATE}(%rdi)
4:	xorl	%eax, %eax
	retq
state_end:
state_refused:
	movl	$1, %eax
	retq

# A page fault of the routines above is the user's: the routine returns with rdx 1.
# So is any other exception while its state is loaded (state_refused), and while IRETQ
# loads its last registers (trap_iretq).
# An interrupt ends tacet_doze or tacet_drain; rax is theirs to return, rcx free.
# Any other exception inside the co-kernel is its end. The frame is the argument:
# vector 0, error 8, rip 16, cs 24, rflags 32, rsp, ss. GS may be either side's here.
trap_kernel:
	cmpq	$32, (%rsp)
	jae	trap_interrupt
	pushq	%rax
	cmpq	$14, 8(%rsp)
	je	1f
	leaq	enter_swapped(%rip), %rax
	cmpq	%rax, 24(%rsp)
	je	trap_iretq
	leaq	state_begin(%rip), %rax
	cmpq	%rax, 24(%rsp)
	jb	3f
	leaq	state_end(%rip), %rax
	cmpq	%rax, 24(%rsp)
	jae	3f
	leaq	state_refused(%rip), %rax
	jmp	2f
1:	leaq	user_access_begin(%rip), %rax
	cmpq	%rax, 24(%rsp)
	jb	3f
	leaq	user_access_end(%rip), %rax
	cmpq	%rax, 24(%rsp)
	jae	3f
	leaq	user_access_fault(%rip), %rax
2:	movq	%rax, 24(%rsp)
	popq	%rax
	addq	$16, %rsp
	iretq
3:	popq	%rax
	jmp	trap_fatal

# IRETQ refused the program's rip, cs, rflags or ss (a rip that is not canonical is the
# one that a program can have). They are in the saved registers still. This exception
# was pushed right below them, over registers that are live again: it ends user mode as
# if the program had raised it at that rip, and the host does what it finds right.
trap_iretq:
	popq	%rax
	swapgs
	popq	%gs:{SCRATCH}
	movq	%gs:{REGISTERS_END}, %rsp
	subq	$40, %rsp
	pushq	$0
	pushq	%gs:{SCRATCH}
	jmp	trap_save
trap_interrupt:
	leaq	doze_begin(%rip), %rcx
	cmpq	%rcx, 16(%rsp)
	jb	trap_fatal
	leaq	drain_end(%rip), %rcx
	cmpq	%rcx, 16(%rsp)
	ja	trap_fatal
	movq	%rcx, 16(%rsp)		# both end alike
	andq	$~0x200, 32(%rsp)
	movq	(%rsp), %rax
	addq	$16, %rsp
	iretq
trap_fatal:
	movq	%rsp, %rdi
	andq	$-16, %rsp
	pushq	$2
	popfq
	call	tacet_fatal_trap
1:	hlt
	jmp	1b

# First instruction of a CPU, from its host: rdi = its page (Signals).
	.globl tacet_start
tacet_start:
	movq	{BOOT_STACK}(%rdi), %rsp
	xorl	%ebp, %ebp
	call	tacet_main
2:	hlt
	jmp	2b
