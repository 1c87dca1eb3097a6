// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Words that only one processor knows: none may be in the co-kernel's layers that serve all of them.

/// Whole words, whatever their case. Names are taken apart at underscores: `read_tsc` is two words.
const X86: &[&str] = &[
    // the processor and its makers
    "x86", "amd64", "intel", "amd", "sdm", "vmx", "svm", // registers
    "cr0", "cr1", "cr2", "cr3", "cr4", "cr8", "dr6", "dr7", "efer", "eflags", "rflags", "mxcsr", "xcr0", "msr", "msrs",
    "rip", "rsp", "rbp", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "fsbase", "gsbase", "fsgsbase", "tsc", // interrupts and their tables
    "apic", "lapic", "ioapic", "x2apic", "nmi", "nmis", "idt", "gdt", "ldt", "tss", "ist", "int3",
    // page tables
    "pml4", "pml5", "pdpt", "pcid", "pkru", "smap", "smep", "umip", "nx", "wbinvd", "invlpg", "invpcid",
    // instructions
    "cpuid", "rdtsc", "rdtscp", "rdmsr", "wrmsr", "swapgs", "sysret", "sysretq", "iret", "iretq", "hlt", "mwait",
    "clac", "stac", "rdpid", "rdpru", // states of vector units
    "xsave", "xsaves", "xsaveopt", "xrstor", "xrstors", "fxsave", "fxrstor", "sse", "avx", "avx512", "amx",
];

/// The first such word of a line.
pub fn x86_word(line: &str) -> Option<&str> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.into_iter().find(|word| X86.iter().any(|x86| x86.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_only() {
        assert_eq!(x86_word("// the root goes into CR3"), Some("CR3"));
        assert_eq!(x86_word("#[cfg(target_arch = \"x86_64\")]"), Some("x86"));
        assert_eq!(x86_word("let now = user_tsc_before();"), Some("tsc"));
        assert_eq!(x86_word("a scrip, a list, gdtable, cr33, discr3"), None);
    }
}
