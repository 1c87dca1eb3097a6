// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of an exact measurement, with an explanation of its numbers.

use std::fmt::Write;

use super::{row, table};
use crate::exact::summary::{Stolen, Summary};

/// Lines in each list of culprits.
const LINES: usize = 20;
/// Width of the explanation.
const WIDTH: usize = 100;

pub fn exact(summary: &Summary) -> String {
    let mut text = format!(
        "{}: {} quanta of {} instructions on CPU {} of {} ({}; {})\n",
        summary.label,
        summary.quanta,
        summary.program_instructions,
        summary.measured_cpu,
        summary.cpus,
        summary.kernel_release,
        summary.kernel_arguments,
    );
    let load = summary.load.as_deref().map_or("none".into(), |load| format!("`{load}`"));
    let repeats = summary.seed.map_or_else(String::new, |seed| format!("; repeatable, seed {seed}"));
    let _ = writeln!(text, "load on the other CPUs: {load}{repeats}");
    let known = |count: Option<u64>| count.map_or("unknown".into(), |count| count.to_string());
    let _ = writeln!(
        text,
        "{} entries into the kernel, interrupts: {}, exceptions: {}\n\n{}\n",
        summary.entries,
        known(summary.interrupts),
        known(summary.exceptions),
        stolen(summary)
    );
    culprits(summary, &mut text);
    let _ = writeln!(text, "{}", wrapped(summary.meaning));
    text
}

fn stolen(summary: &Summary) -> String {
    let mut table = table(&["stolen instructions of", "in all", "quanta hit", "worst", "mean", "99 %", "99.9 %"]);
    let at = |stolen: &Stolen, share: f64| {
        let found = stolen.tail.iter().find(|(of, _)| *of == share);
        found.map_or_else(String::new, |(_, length)| length.to_string())
    };
    for (name, of) in
        [("kernel", &summary.kernel), ("other programs", &summary.other_user), ("together", &summary.stolen)]
    {
        let counts = [of.instructions.to_string(), of.quanta_hit.to_string(), of.max.to_string()];
        let cells = [format!("{:.1}", of.mean), at(of, 0.99), at(of, 0.999)];
        row(&mut table, [vec![name.to_owned()], counts.to_vec(), cells.to_vec()].concat());
    }
    table.to_string()
}

fn culprits(summary: &Summary, text: &mut String) {
    let culprits = &summary.culprits;
    if !culprits.entries.is_empty() {
        let mut entries = table(&["entry into the kernel", "times", "kernel instructions"]);
        for entry in culprits.entries.iter().take(LINES) {
            row(&mut entries, vec![entry.name.clone(), entry.times.to_string(), entry.instructions.to_string()]);
        }
        let _ = writeln!(text, "{entries}\n");
    }
    if !culprits.programs.is_empty() {
        let mut programs = table(&["other program", "pid", "turns", "instructions"]);
        for program in culprits.programs.iter().take(LINES) {
            let name = program.name.clone().unwrap_or_else(|| "unknown: this emulator cannot tell".into());
            let pid = if program.name.is_some() { program.pid.to_string() } else { "-".into() };
            row(&mut programs, vec![name, pid, program.turns.to_string(), program.instructions.to_string()]);
        }
        let _ = writeln!(text, "{programs}\n");
    }
    if !culprits.functions.is_empty() {
        let all: u64 = culprits.functions.iter().map(|function| function.instructions).sum();
        let percent = |instructions: u64| format!("{:.1} %", 100.0 * instructions as f64 / all.max(1) as f64);
        let mut functions = table(&["kernel function", "calls", "own instructions", "share"]);
        for function in culprits.functions.iter().take(LINES) {
            let counts = [function.calls.to_string(), function.instructions.to_string()];
            let share = percent(function.instructions);
            row(&mut functions, [vec![function.name.clone()], counts.to_vec(), vec![share]].concat());
        }
        let rest = culprits.functions.iter().skip(LINES);
        let (more, instructions) = rest.fold((0, 0), |(count, sum), function| (count + 1, sum + function.instructions));
        if more > 0 {
            let cells = [String::new(), instructions.to_string(), percent(instructions)];
            row(&mut functions, [vec![format!("{more} more")], cells.to_vec()].concat());
        }
        let _ = writeln!(text, "{functions}\n");
    }
}

/// Breaks lines at spaces.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= WIDTH => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::record::examples::record;

    #[test]
    fn the_table_names_culprits_and_explains_itself() {
        let text = exact(&record().summary());
        for word in ["asm_sysvec_apic_timer_interrupt", "daemon", "tick [m]", "70.0 %", "no caches", "37.5"] {
            assert!(text.contains(word), "{word} is not in {text}");
        }
        assert!(text.lines().rev().take(5).all(|line| line.len() <= WIDTH));
    }
}
