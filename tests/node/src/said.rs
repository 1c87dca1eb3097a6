// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scenario's script said, as the runner tells it.

use tacet_node::{Output, Status};

/// Steps of a failed script that are told.
const STEPS: usize = 12;
/// And characters of each.
const STEP_LENGTH: usize = 160;
/// Lines of a report that are told: lockdep's are the longest, with a stack for each lock.
const REPORT: usize = 120;
/// Characters of a reason that is told in one line.
const FIRST_LENGTH: usize = 400;

/// Why the script failed, in its own words; empty if it did not.
pub fn failures(output: &Output) -> Vec<String> {
    let text = output.text();
    let mut reasons: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("fail: ")).map(str::to_owned).collect();
    if !output.status.success() && reasons.is_empty() {
        let how = match output.status {
            Status::Code(code) => format!("status {code}"),
            Status::Signal(signal) => format!("signal {signal}"),
        };
        reasons.push(format!("{how}: {} {}", end_of(&text, 3, " | "), end_of(&output.error_text(), 3, " | ")));
    }
    reasons
}

/// What the script noted of a run that went well.
pub fn notes(output: &Output) -> String {
    output.text().lines().filter_map(|line| line.strip_prefix("note: ")).map(|note| format!(", {note}")).collect()
}

/// The first part of what diagnose.sh prints.
pub fn last_steps(diagnosis: &str) -> String {
    let steps = diagnosis.lines().skip(1).take_while(|line| !line.starts_with("--- "));
    let short: Vec<String> = steps.map(|line| line.chars().take(STEP_LENGTH).collect()).collect();
    end_of(&short.join("\n"), STEPS, "\n")
}

/// As much of a reason as fits in one line.
pub fn beginning(reason: &str) -> String {
    reason.lines().next().unwrap_or_default().chars().take(FIRST_LENGTH).collect()
}

/// The last lines of a text.
pub fn end_of(text: &str, count: usize, between: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join(between)
}

/// A report of the kernel: the lines of its log from `first` on, as many as the longest report has.
pub fn report(log: &str, first: &str) -> String {
    let lines = log.lines().skip_while(|line| line.trim_end() != first.trim_end());
    lines.take(REPORT).collect::<Vec<_>>().join("\n")
}

/// Where each CPU is, of all the registers that the emulator prints: a few words for each.
pub fn places(registers: &str) -> String {
    let place = |cpu: &str| {
        let word = |name: &str| cpu.split_whitespace().find(|word| word.starts_with(name)).unwrap_or_default();
        let number = cpu.split_whitespace().next().unwrap_or_default();
        format!("CPU {number} {}{} {}", word("EIP="), word("RIP="), word("HLT="))
    };
    registers.split("CPU#").skip(1).map(place).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_told_from_its_first_line() {
        let first = "[  3.1] BUG: KASAN: slab-use-after-free in tacet_find+0x1/0x2 [tacet]";
        let log = format!("[  1.0] booted\n{first}\n[  3.2] Read of size 8\n[  3.3] Call Trace:\n");
        assert_eq!(report(&log, first).lines().count(), 3);
        assert!(report(&log, first).starts_with(first));
        assert_eq!(report(&log.repeat(100), first).lines().count(), REPORT);
        assert_eq!(report(&log, "[  9.9] of a log that was cleared meanwhile"), "");
    }

    #[test]
    fn of_registers_only_the_places_are_told() {
        let registers = "info registers -a\n\nCPU#0\nRAX=1 RBX=2\nRIP=ffffffff81000000 RFL=00000246 II=0 HLT=1\nES =0\n\n\
                         CPU#1\nEAX=0\nEIP=0000fff0 EFL=00000002 [-------] II=0 HLT=1\nYMM00=0\n(qemu) ";
        assert_eq!(places(registers), "CPU 0 RIP=ffffffff81000000 HLT=1, CPU 1 EIP=0000fff0 HLT=1");
    }
}
