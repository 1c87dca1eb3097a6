/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Every exception that user code can raise in 64-bit mode, as the signal it becomes. */
#include "check.h"

#include <cpuid.h>
#include <setjmp.h>
#include <ucontext.h>

static sigjmp_buf back;
static volatile siginfo_t seen;
static volatile uint64_t seen_ip, seen_trap, seen_error;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	seen = *info;
	seen_ip = g[REG_RIP];
	seen_trap = g[REG_TRAPNO];
	seen_error = g[REG_ERR];
	siglongjmp(back, 1);
}

/*
 * Each case is a piece of code that starts at its label; the signal's address
 * is where the CPU stopped: at the label, after it, or zero.
 */
enum where { AT, AFTER, NONE };

#define CASE(name, code) \
	void case_##name(void); \
	asm(".pushsection .text\n.globl case_" #name "\n.type case_" #name ", @function\ncase_" #name ":\n" code "\nret\n.popsection\n")

CASE(divide_by_zero, "xor %ecx, %ecx\n mov $1, %eax\n xor %edx, %edx\n div %ecx");
CASE(divide_overflow, "mov $1, %ecx\n mov $1, %edx\n xor %eax, %eax\n div %ecx");
CASE(icebp, ".byte 0xf1");
CASE(breakpoint, "int3");
CASE(breakpoint_long, ".byte 0xcd, 0x03");
CASE(overflow_int, "int $4");
CASE(undefined, "ud2");
CASE(undefined_one, "ud1 %eax, %eax");
CASE(bad_lock, ".byte 0xf0, 0x90");
CASE(hlt, "hlt");
CASE(cli, "cli");
CASE(in, "mov $0x80, %dx\n in %dx, %al");
CASE(out, "mov $0x80, %dx\n out %al, %dx");
CASE(load_cr3, "mov %cr3, %rax");
CASE(write_cr0, "mov %rax, %cr0");
CASE(debug_register, "mov %rax, %db7");
CASE(rdmsr, "mov $0xc0000080, %ecx\n rdmsr");
CASE(wrmsr, "mov $0xc0000080, %ecx\n wrmsr");
CASE(swapgs, "swapgs");
CASE(sysret, "sysretq");
CASE(iret, "push $0\n push $0\n push $0\n push $0x10\n push $0\n iretq");
CASE(lgdt, "lgdt -16(%rsp)");
CASE(ltr, "xor %eax, %eax\n ltr %ax");
CASE(invlpg, "invlpg (%rsp)");
CASE(wbinvd, "wbinvd");
CASE(int_number, "int $0x30");
CASE(int_page_fault, "int $14");
CASE(int_nmi, "int $2");
CASE(int_doorbell, "int $0xf2");
CASE(bad_selector, "mov $0x10, %eax\n mov %eax, %ds");
CASE(stack_address, "mov %rsp, %rcx\n mov $0x1234567812345678, %rsp\n pop %rax\n mov %rcx, %rsp");
CASE(frame_address, "push %rbp\n mov $0x1234567812345678, %rbp\n mov (%rbp), %rax\n pop %rbp");
CASE(misaligned_sse, "lea -33(%rsp), %rax\n or $1, %rax\n movaps (%rax), %xmm0");
CASE(x87, "fninit\n push $0x37b\n fldcw (%rsp)\n pop %rax\n fld1\n fldz\n fdivrp\n fwait");
CASE(simd, "push $0x1f00\n ldmxcsr (%rsp)\n pop %rax\n pxor %xmm0, %xmm0\n divss %xmm0, %xmm0");
CASE(single_step, "pushfq\n orl $0x100, (%rsp)\n popfq\n nop\n nop");

static const struct {
	const char *name;
	void (*code)(void);
	int sig, si_code;
	enum where where;
	int trap;
} cases[] = {
	{ "divide by zero", case_divide_by_zero, SIGFPE, FPE_INTDIV, AFTER, 0 },
	{ "divide overflow", case_divide_overflow, SIGFPE, FPE_INTDIV, AFTER, 0 },
	{ "icebp", case_icebp, SIGTRAP, TRAP_BRKPT, AFTER, 1 },
	{ "breakpoint", case_breakpoint, SIGTRAP, SI_KERNEL, NONE, 3 },
	{ "breakpoint, long form", case_breakpoint_long, SIGTRAP, SI_KERNEL, NONE, 3 },
	{ "overflow by number", case_overflow_int, SIGSEGV, SI_KERNEL, NONE, 4 },
	{ "undefined", case_undefined, SIGILL, ILL_ILLOPN, AT, 6 },
	{ "undefined, one", case_undefined_one, SIGILL, ILL_ILLOPN, AT, 6 },
	{ "lock on nothing", case_bad_lock, SIGILL, ILL_ILLOPN, AT, 6 },
	{ "hlt", case_hlt, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "cli", case_cli, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "in", case_in, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "out", case_out, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "read of a control register", case_load_cr3, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "write of a control register", case_write_cr0, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "debug register", case_debug_register, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "rdmsr", case_rdmsr, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "wrmsr", case_wrmsr, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "swapgs", case_swapgs, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "sysret", case_sysret, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "iret to the kernel", case_iret, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "lgdt", case_lgdt, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "ltr", case_ltr, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "invlpg", case_invlpg, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "wbinvd", case_wbinvd, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "interrupt by number", case_int_number, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "page fault by number", case_int_page_fault, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "NMI by number", case_int_nmi, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "device interrupt by number", case_int_doorbell, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "kernel selector", case_bad_selector, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "stack not canonical", case_stack_address, SIGBUS, SI_KERNEL, NONE, 12 },
	{ "frame not canonical", case_frame_address, SIGBUS, SI_KERNEL, NONE, 12 },
	{ "vector not aligned", case_misaligned_sse, SIGSEGV, SI_KERNEL, NONE, 13 },
	{ "x87 divide by zero", case_x87, SIGFPE, FPE_FLTDIV, AFTER, 16 },
	{ "vector invalid operation", case_simd, SIGFPE, FPE_FLTINV, AFTER, 19 },
	{ "single step", case_single_step, SIGTRAP, TRAP_TRACE, AFTER, 1 },
};

/* QEMU's TCG does not raise all of them; only there may one be missing. */
static int under_tcg(void)
{
	char name[13] = { 0 };
	unsigned eax;

	__cpuid(0x40000000, eax, *(unsigned *)name, *(unsigned *)(name + 4), *(unsigned *)(name + 8));
	return eax && !strcmp(name, "TCGTCGTCGTCG");
}

static void run(unsigned i)
{
	uint64_t start = (uint64_t)cases[i].code;

	seen.si_signo = 0;
	if (!sigsetjmp(back, 1)) {
		cases[i].code();
		CHECK(under_tcg());
		goto done;
	}
	/* it also takes a bad stack address for any other */
	if (cases[i].trap == 12 && seen_trap == 13 && under_tcg())
		goto done;
	CHECK(seen.si_signo == cases[i].sig && seen.si_code == cases[i].si_code);
	CHECK(seen_trap == (uint64_t)cases[i].trap);
	CHECK(seen_ip >= start && seen_ip < start + 64);
	switch (cases[i].where) {
	case AT:
		CHECK((uint64_t)seen.si_addr == start);
		break;
	case AFTER:
		CHECK((uint64_t)seen.si_addr >= start && (uint64_t)seen.si_addr <= start + 64);
		break;
	case NONE:
		CHECK(!seen.si_addr);
	}
done:
	asm volatile("fninit");
	say("%s\n", cases[i].name);
}

static void alignment(void)
{
	seen.si_signo = 0;
	if (!sigsetjmp(back, 1))
		asm volatile("push $0\n push $0\n pushfq\n orl $0x40000, (%%rsp)\n popfq\n mov 1(%%rsp), %%eax\n"
			     "pushfq\n andl $~0x40000, (%%rsp)\n popfq\n add $16, %%rsp" : : : "rax", "memory", "cc");
	else
		asm volatile("pushfq\n andl $~0x40000, (%%rsp)\n popfq" : : : "memory", "cc");
	if (seen.si_signo || !under_tcg())
		CHECK(seen.si_signo == SIGBUS && seen.si_code == BUS_ADRALN && seen_trap == 17);
	say("alignment\n");
}

int main(void)
{
	stack_t alternate = { .ss_sp = private_pages(16), .ss_size = 65536 };
	static const int signals[] = { SIGFPE, SIGTRAP, SIGSEGV, SIGILL, SIGBUS };

	CHECK(sigaltstack(&alternate, NULL) == 0);
	for (unsigned i = 0; i < ARRAY_LENGTH(signals); i++)
		on_signal(signals[i], on_fault, SA_ONSTACK);
	for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++)
		run(i);
	alignment();
	return 0;
}
