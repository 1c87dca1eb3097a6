# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Exceptions that do not come from a program: of the few routines in which the
# co-kernel expects one, and machine checks from anywhere. Any other is the end of the
# CPU. Assembled with entry.S, as one file: its labels are meant there.

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
	.globl tacet_user_exchange
tacet_user_exchange:			# edx = the new value
	movl	%esi, %eax
	lock cmpxchgl %edx, (%rdi)
	xorl	%edx, %edx
	retq
user_access_end:
user_access_fault:
	movl	$1, %edx
	retq

# Double fault and machine check come on stacks of their own, from anywhere. Above a
# machine check's frame lies the address of the CPU's own memory, as above a doorbell's.
	.balign 16
	.globl tacet_double_fault
tacet_double_fault:
	pushq	$8
	jmp	trap_fatal
	.balign 16
	.globl tacet_machine_check
tacet_machine_check:
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11			# rip 72, cs 80, rflags 88, rsp 96, ss 104, cpu 120
	pushq	$2
	popfq
	leaq	72(%rsp), %rdi
	xorl	%esi, %esi
	testb	$3, 80(%rsp)
	jnz	1f
	movl	$2, %esi
	leaq	user_access_begin(%rip), %rax
	cmpq	%rax, 72(%rsp)
	jb	1f
	leaq	user_access_end(%rip), %rax
	cmpq	%rax, 72(%rsp)
	jae	1f
	movl	$1, %esi
1:	movq	120(%rsp), %rdx
	call	tacet_judge_machine_check
	cmpl	$1, %eax
	ja	check_ends_program
	jb	2f
	leaq	user_access_fault(%rip), %rax
	movq	%rax, 72(%rsp)
2:	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	testb	$3, 8(%rsp)
	jnz	check_done
	pushq	%rax			# IRETQ in the doorbell's handler would let in the
	leaq	tacet_nmi(%rip), %rax	# next bell, onto the same stack: return to there by
	cmpq	%rax, 8(%rsp)		# RETQ, from that stack
	jb	3f
	leaq	nmi_leave_user(%rip), %rax
	cmpq	%rax, 8(%rsp)
	jb	check_in_nmi
	leaq	nmi_kernel(%rip), %rax
	cmpq	%rax, 8(%rsp)
	jb	3f
	leaq	nmi_end(%rip), %rax
	cmpq	%rax, 8(%rsp)
	jb	check_in_nmi
3:	popq	%rax
check_done:
	iretq
check_in_nmi:
	pushq	%rcx			# rcx 0, rax 8, rip 16, cs 24, rflags 32, rsp 40
	movq	40(%rsp), %rcx
	movq	16(%rsp), %rax
	movq	%rax, -8(%rcx)
	movq	32(%rsp), %rax
	movq	%rax, -16(%rcx)
	movq	8(%rsp), %rax
	movq	%rax, -24(%rcx)
	movq	(%rsp), %rax
	movq	%rax, -32(%rcx)
	leaq	-32(%rcx), %rsp
	popq	%rcx
	popq	%rax
	popfq
	retq

# As an exception of the program, with the physical address as its error code.
check_ends_program:
	swapgs
	lfence				# as in trap
	movq	%rdx, %gs:{SCRATCH}
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	movq	%rsp, %gs:{NMI_FRAME}	# no doorbell's handler saves user mode now
	movq	%gs:{REGISTERS_END}, %rsp
	subq	$40, %rsp
	pushq	%gs:{SCRATCH}
	pushq	$18
	pushq	%rdi
	pushq	%rsi			# rip 32, cs 40, rflags 48, rsp 56, ss 64
	movq	%gs:{NMI_FRAME}, %rsi
	movq	0(%rsi), %rdi
	movq	%rdi, 32(%rsp)
	movq	8(%rsi), %rdi
	movq	%rdi, 40(%rsp)
	movq	16(%rsi), %rdi
	movq	%rdi, 48(%rsp)
	movq	24(%rsi), %rdi
	movq	%rdi, 56(%rsp)
	movq	32(%rsi), %rdi
	movq	%rdi, 64(%rsp)
	jmp	trap_save_rest

# Loads a thread's user state, but for what tacet_enter_user loads: rdi = the saved
# state, esi = what the processor has, rdx = this CPU's own memory. 0; 1: the processor
# refused some of it. Nothing is on the stack. Loading GS loses the base, which is put
# back: no handler of what may come before then uses it.
	.balign 16
	.globl tacet_load_state
tacet_load_state:
	movq	%rdx, %r8
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
4:	xorl	%esi, %esi
state_end:
	movl	${OWN_GS_BASE_REGISTER}, %ecx
	movl	%r8d, %eax
	movq	%r8, %rdx
	shrq	$32, %rdx
	wrmsr
	movl	%esi, %eax
	retq
state_refused:
	movl	$1, %esi
	jmp	state_end

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
	lfence				# as in trap
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
