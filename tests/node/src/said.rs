// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scenario's script said, as the runner tells it.

use tacet_node::{Output, Status};

/// Steps of a failed script that are told.
const STEPS: usize = 12;
/// And characters of each.
const STEP_LENGTH: usize = 160;

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

/// The last lines of a text.
pub fn end_of(text: &str, count: usize, between: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join(between)
}
