# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# The first instructions of a machine that the co-kernel has alone, from the boot loader to boot.rs, and those of each
# further CPU, to cpus.rs.
#
# A loader that knows PVH (QEMU's -kernel, hypervisors) comes by tacet_entry_pvh, one that knows Multiboot2 (GRUB) by
# tacet_entry_multiboot2: both in 32-bit protected mode without paging, with the address of what they tell in ebx. The
# code in .boot lies where it was loaded, at its physical address. The early tables map the first GiB three times: at 0,
# where the kernel has its direct mapping, and where the image is linked. They are loaded until boot.rs has made the
# real ones, and once more by each other CPU on its way.
#
# Symbols in braces are handed in by boot.rs.

	.section .note.tacet.pvh, "a", @note
	.balign	4
	.long	4, 8, 18			# Xen's physical 32-bit entry
	.asciz	"Xen"
	.quad	tacet_entry_pvh

	.section .multiboot2, "a", @progbits
	.balign	8
multiboot2_begin:
	.long	0xe85250d6, 0, multiboot2_end - multiboot2_begin
	.long	-(0xe85250d6 + multiboot2_end - multiboot2_begin)
	.short	3, 0				# the entry
	.long	12, tacet_entry_multiboot2
	.balign	8
	.short	0, 0
	.long	8
multiboot2_end:

	.section .bss.early, "aw", @nobits
	.balign	4096
early_root:
	.skip	4096
	.globl	tacet_early_pointers
tacet_early_pointers:
	.skip	4096
	.globl	tacet_early_spare
tacet_early_spare:				# for one GiB more (loader.rs)
	.skip	4096
	.skip	16384
boot_stack_end:

	.section .data.early, "aw", @progbits	# the processor writes what it has used
	.balign	4096
early_directory:
	.set	page, 0
	.rept	512
	.quad	0x83 + page			# present, writable, 2 MiB
	.set	page, page + 0x200000
	.endr

	.section .boot, "ax", @progbits
	.code32
	.globl	tacet_entry_pvh
tacet_entry_pvh:
	xorl	%esi, %esi
	jmp	1f
	.globl	tacet_entry_multiboot2
tacet_entry_multiboot2:
	movl	%eax, %esi
1:	cli
	cld
	movl	%ebx, %ebp			# cpuid overwrites it
	movl	$0x80000001, %eax
	cpuid
	btl	$29, %edx			# long mode
	jnc	wrong_processor
	btl	$20, %edx			# no-execute
	jnc	wrong_processor
	movl	$early_directory - {KERNEL} + 3, %eax
	movl	%eax, tacet_early_pointers - {KERNEL}
	movl	%eax, tacet_early_pointers - {KERNEL} + 8 * 510
	movl	$tacet_early_pointers - {KERNEL} + 3, %eax
	movl	%eax, early_root - {KERNEL}
	movl	%eax, early_root - {KERNEL} + 8 * 256
	movl	%eax, early_root - {KERNEL} + 8 * 511
	movl	$first_in_long_mode, %edi
	jmp	enter_long_mode

wrong_processor:
	movl	$wrong_processor_text, %esi
	movw	$0x3f8, %dx
1:	lodsb
	testb	%al, %al
	jz	2f
	outb	%al, %dx
	jmp	1b
2:	movb	${DIED}, %al
	outb	%al, ${DEBUG_EXIT}
3:	hlt
	jmp	3b
wrong_processor_text:
	.asciz	"tacet: this processor has no 64-bit mode with no-execute pages; use one that has (QEMU: -cpu max)\r\n"

# A further CPU, from tacet_trampoline.
next_in_protected_mode:
	movw	$0x18, %ax
	movw	%ax, %ds
	movl	$next_in_long_mode, %edi
# Turns on paging with the early tables, and long mode; goes on in 64-bit mode at edi. There is no stack.
enter_long_mode:
	movl	$0x20, %eax			# physical-address extension
	movl	%eax, %cr4
	movl	$early_root - {KERNEL}, %eax
	movl	%eax, %cr3
	movl	${EFER_REGISTER}, %ecx
	movl	$0x901, %eax			# no-execute, long mode, SYSCALL
	xorl	%edx, %edx
	wrmsr
	movl	$0x80050033, %eax		# paging, alignment mask, write protection, numeric errors
	movl	%eax, %cr0
	lgdtl	early_gdt_pointer
	ljmpl	$0x10, $1f
	.code64
1:	movl	$0x18, %eax
	movl	%eax, %ss
	xorl	%eax, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%edi, %edi
	jmpq	*%rdi
first_in_long_mode:
	movabsq	$first_in_place, %rax
	jmpq	*%rax
next_in_long_mode:
	movabsq	$next_in_place, %rax
	jmpq	*%rax

	.balign	8
early_gdt:
	.quad	0, 0
	.quad	0x00af9b000000ffff		# 0x10 kernel code
	.quad	0x00cf93000000ffff		# 0x18 kernel data
	.quad	0x00cf9b000000ffff		# 0x20 32-bit code
early_gdt_pointer:
	.short	39
	.long	early_gdt
	.short	0

	.text
first_in_place:
	movq	$boot_stack_end, %rsp
	movl	%ebp, %edi			# what the loader tells
	movl	%esi, %esi			# which loader it is
	xorl	%ebp, %ebp
	call	tacet_boot
1:	hlt
	jmp	1b

# A further CPU: cpus.rs has written where it goes on. Once it is here, the next one may start.
next_in_place:
	movq	tacet_next_cpu(%rip), %rax	# the root of the kernel's tables
	movq	tacet_next_cpu+8(%rip), %rsp
	movl	tacet_next_cpu+16(%rip), %edi	# its number
	movq	%rax, %cr3
	xorl	%ebp, %ebp
	movl	$1, tacet_next_cpu+20(%rip)
	call	tacet_join
1:	hlt
	jmp	1b

# void tacet_continue(rdi = root, rsi = stack): goes on in tacet_boot_in_place with the kernel's own tables.
	.globl	tacet_continue
tacet_continue:
	movq	%rdi, %cr3
	movq	%rsi, %rsp
	xorl	%ebp, %ebp
	call	tacet_boot_in_place
1:	hlt
	jmp	1b

# The first instructions of a further CPU, copied to a page below 1 MiB; real mode, cs is that page.
	.section .rodata.trampoline, "a", @progbits
	.code16
	.globl	tacet_trampoline, tacet_trampoline_end
tacet_trampoline:
	cli
	movw	%cs, %ax
	movw	%ax, %ds
	lgdtl	trampoline_gdt_pointer - tacet_trampoline
	movl	%cr0, %eax
	orl	$1, %eax
	movl	%eax, %cr0
	ljmpl	$0x20, $next_in_protected_mode
	.balign	8
trampoline_gdt_pointer:
	.short	39
	.long	early_gdt
tacet_trampoline_end:
	.code64
	.text
