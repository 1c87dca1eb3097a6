// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Only the loop is measured: its object code, which is the same in every program, calls nothing and so allocates
//! nothing.

use std::process::Command;

use tacet_noise::measure::sampling;

const LOOPS: [&str; 7] = [
    "noise_fwq_register",
    "noise_fwq_daxpy",
    "noise_fwq_register_until",
    "noise_fwq_daxpy_until",
    "noise_ftq_register",
    "noise_ftq_daxpy",
    "noise_selfish",
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

#[test]
fn loops_call_nothing() {
    // The linker keeps only functions that are used.
    sampling::fixed_work(&mut [0; 2], 1, None);
    let watches = sampling::Watches::new(0, 1);
    for watch in watches.iter() {
        sampling::fixed_work_until(&mut [0; 2], 1, 0, None, watch);
        sampling::fixed_time(&mut [0; 2], 0, 1, None, watch);
        sampling::selfish(&mut [0; 2], 0, 1, watch);
    }
    for function in LOOPS {
        let code = code_of(function);
        assert!(code.len() > 10, "{function} has {} instructions", code.len());
        let found: Vec<&String> = code.iter().filter(|instruction| calls(instruction)).collect();
        assert!(found.is_empty(), "{function}: {found:?}");
        let reads = code.iter().filter(|line| line.starts_with("rdtsc") || line.contains("cntvct_el0")).count();
        assert!(reads >= 1, "{function} reads the time {reads} times");
    }
}

/// The test above recognises calls.
#[test]
fn calls_are_recognised() {
    assert!(calls("call   1234 <malloc>") && calls("callq  *%rax") && calls("bl\tfoo") && calls("syscall"));
    assert!(!calls("imul   %rdx,%rax") && !calls("jne    12") && !calls("b.ne 12"));
}
