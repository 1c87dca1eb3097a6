// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table: what was run, the result on each side, and whether that is as expected.
//!
//! Owns the judgement of each row, and the text under the table that explains the numbers.

use comfy_table::{ContentArrangement, Table, presets};

use crate::Result;
use crate::before::Snapshot;
use crate::noise::Noise;
use crate::place::Place;
use crate::programs::{Program, Run};

/// Under multi-threaded emulation counts vary, so only an order of magnitude is asserted.
const QUIETER: f64 = 10.0;

/// One line of the table.
pub struct Row {
    what: String,
    linux: String,
    tacet: String,
    verdict: String,
    hand_overs: String,
    as_expected: bool,
}

impl Row {
    /// Expects the same work with an order of magnitude less noise. Noise on Linux is the control that the counting
    /// works.
    pub fn noise(linux: &Result<Noise>, tacet: &Result<Noise>) -> Row {
        let (verdict, as_expected) = match (linux, tacet) {
            (Ok(linux), Ok(tacet)) if linux.max() == 0 || !linux.is_comparable(tacet) => {
                ("cannot be compared".to_owned(), false)
            }
            (Ok(linux), Ok(tacet)) if tacet.max() == 0 => ("the work; Tacet stole nothing".to_owned(), true),
            (Ok(linux), Ok(tacet)) => {
                let times = linux.total() as f64 / tacet.total() as f64;
                (format!("the work; Tacet stole {times:.0} times less"), times >= QUIETER)
            }
            _ => ("no".to_owned(), false),
        };
        let what = match linux {
            Ok(noise) => format!("noise: {} quanta of {} instructions", noise.stolen.len(), noise.user),
            Err(_) => "noise".to_owned(),
        };
        let (linux, tacet) = (noise(linux), noise(tacet));
        Row { what, linux, tacet, verdict, hand_overs: String::new(), as_expected }
    }

    /// Expects the same output on both sides, and the signs that the program worked.
    pub fn program(program: Program, linux: &Result<Run>, tacet: &Result<Run>) -> Row {
        let as_expected = match (linux, tacet) {
            (Ok(left), Ok(right)) => {
                left.output == right.output
                    && program.is_well(Place::Linux, left)
                    && program.is_well(Place::Tacet, right)
            }
            _ => false,
        };
        let verdict = match (linux, tacet) {
            (Ok(left), Ok(right)) if left.output != right.output => "no",
            _ if as_expected => "yes",
            _ => "failed",
        };
        let count = tacet.as_ref().ok().and_then(|run| run.hand_overs);
        Row {
            what: program.title().to_owned(),
            linux: said(linux),
            tacet: said(tacet),
            verdict: verdict.to_owned(),
            hand_overs: count.map(|count| count.to_string()).unwrap_or_default(),
            as_expected,
        }
    }

    /// Compares the node before the partition and after it.
    pub fn node(before: &Snapshot, after: &Snapshot) -> Row {
        let differences = before.differences(after);
        let show = |when, snapshot: &Snapshot, complaints| {
            let Snapshot { online, present, managed, unnamed, .. } = snapshot;
            format!(
                "{when}: CPUs {online} online, {present} present\n{managed} pages, {} MiB of them the kernel's own\n{complaints} new kernel complaints",
                unnamed >> 8
            )
        };
        Row {
            what: "the node around the partition".to_owned(),
            linux: show("before", before, 0),
            tacet: show("after", after, before.new_complaints(after).count()),
            verdict: if differences.is_empty() { "yes".to_owned() } else { differences.join("\n") },
            hand_overs: String::new(),
            as_expected: differences.is_empty(),
        }
    }

    /// A row for the output of a program here and at another place; `as_expected`: the two are right.
    pub fn same(what: &str, linux: &str, tacet: &str, as_expected: bool) -> Row {
        Row {
            what: what.to_owned(),
            linux: linux.trim_end().to_owned(),
            tacet: tacet.trim_end().to_owned(),
            verdict: if as_expected { "yes".to_owned() } else { "no".to_owned() },
            hand_overs: String::new(),
            as_expected,
        }
    }

    pub fn is_as_expected(&self) -> bool {
        self.as_expected
    }
}

/// The table and the explanation of its numbers.
pub fn report(rows: &[Row], release: &str) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL).set_content_arrangement(ContentArrangement::Dynamic).set_width(118);
    table.set_header(["what", "on Linux", "on Tacet", "same?", "hand-overs"]);
    for row in rows {
        table.add_row([&row.what, &row.linux, &row.tacet, &row.verdict, &row.hand_overs]);
    }
    let bad = rows.iter().filter(|row| !row.as_expected).count();
    let end =
        if bad == 0 { "Everything was as expected.".to_owned() } else { format!("{bad} rows were not as expected.") };
    format!("{table}\n{}\n{end}\n", legend(release))
}

fn legend(release: &str) -> String {
    format!(
        "Stolen instructions: executed on CPU 3 besides the program's quanta, counted by a plugin of\n\
         QEMU; the node is emulated and runs Linux {release}. They say what interrupts a program and how\n\
         much of it, not how long that takes on a real machine. Hand-overs: how often the co-kernel's cores turned to Linux\n\
         for system calls, faults and signals. Seconds above are the emulator's and this host's, no measure of either kernel."
    )
}

fn noise(noise: &Result<Noise>) -> String {
    match noise {
        Ok(noise) => {
            format!("{} quanta hit\nstolen instructions: worst {}, mean {:.2}", noise.hit(), noise.max(), noise.mean())
        }
        Err(error) => error.to_string(),
    }
}

fn said(run: &Result<Run>) -> String {
    match run {
        Ok(run) if run.success && !run.output.is_empty() => run.output.trim_end().to_owned(),
        Ok(run) => format!("{}{}", run.output, run.remarks).trim_end().to_owned(),
        Err(error) => error.to_string(),
    }
}
