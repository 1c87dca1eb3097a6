// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Only the loop is measured: its object code, which is the same in every program, calls nothing and so allocates
//! nothing.

use std::process::Command;
use std::sync::atomic::AtomicU64;

use tacet_noise::measure::sampling;

/// Each with the places in its code where it stores: the samples, the vectors, the other loops' ends, `shortest`.
const LOOPS: [(&str, usize); 7] = [
    ("noise_fwq_register", 2),
    ("noise_fwq_daxpy", 3),
    ("noise_fwq_register_until", 3),
    ("noise_fwq_daxpy_until", 4),
    ("noise_ftq_register", 1),
    ("noise_ftq_daxpy", 2),
    ("noise_selfish", 3),
];

fn code_of(function: &str) -> Vec<String> {
    let this = std::env::current_exe().expect("this test");
    let mut objdump = Command::new("objdump");
    objdump.arg("--no-show-raw-insn").arg(format!("--disassemble={function}"));
    let output = objdump.arg(this).output().expect("objdump, which comes with the compiler");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let instruction = |line: &str| Some(line.split_once(":\t")?.1.to_owned());
    text.lines().filter_map(instruction).collect()
}

fn calls(instruction: &str) -> bool {
    let name = instruction.split_whitespace().next().unwrap_or_default();
    name.starts_with("call") || ["bl", "blr", "syscall", "svc", "int"].contains(&name)
}

/// On x86-64, where an instruction's last operand is the one that it changes.
fn stores(instruction: &str) -> bool {
    let Some((name, operands)) = instruction.split_once(char::is_whitespace) else { return false };
    let from = operands.split(',').next().unwrap_or_default();
    name.starts_with("mov") && !from.contains('(') && operands.ends_with(')')
}

/// For those who watch, too, a loop stores nothing but its results.
#[test]
fn loops_call_nothing() {
    // The linker keeps only functions that are used.
    sampling::fixed_work(&mut [0; 2], 1, None);
    let watches = sampling::Watches::new(0, 1);
    let room = [AtomicU64::new(0), AtomicU64::new(0)];
    for watch in watches.iter() {
        sampling::fixed_work_until(&room, 1, 0, None, watch);
        sampling::fixed_time(&room, 0, 1, None, watch);
        sampling::selfish(&room, 0, 1, watch);
    }
    for (function, places) in LOOPS {
        let code = code_of(function);
        assert!(code.len() > 10, "{function} has {} instructions", code.len());
        let found: Vec<&String> = code.iter().filter(|instruction| calls(instruction)).collect();
        assert!(found.is_empty(), "{function}: {found:?}");
        let reads = code.iter().filter(|line| line.starts_with("rdtsc") || line.contains("cntvct_el0")).count();
        assert!(reads >= 1, "{function} reads the time {reads} times");
        let stored = code.iter().filter(|instruction| stores(instruction)).count();
        assert!(stored <= places, "{function} stores at {stored} places: {code:#?}");
    }
}

/// The test above recognises calls and stores.
#[test]
fn calls_are_recognised() {
    assert!(calls("call   1234 <malloc>") && calls("callq  *%rax") && calls("bl\tfoo") && calls("syscall"));
    assert!(stores("mov    %rdx,-0x8(%r8,%rcx,8)") && stores("movl   $0x1,0x18(%rax)"));
    assert!(!stores("mov    -0x8(%r8),%rdx") && !stores("cmp    %rax,(%r9)") && !stores("mov    %rdx,%rax"));
    assert!(!calls("imul   %rdx,%rax") && !calls("jne    12") && !calls("b.ne 12"));
}
