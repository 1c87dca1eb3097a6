// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table: what was run, what came out on each side, and whether that was as expected.
//!
//! Owns the judgement of each row and the words under the table that say what the numbers are.

use comfy_table::{ContentArrangement, Table, presets};
use tacet_bench::Profile;

use crate::Result;
use crate::before::Snapshot;
use crate::place::Place;
use crate::programs::{Program, Run};

/// Under multi-threaded emulation counts vary: only an order of magnitude is asserted.
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
    /// Same work, an order of magnitude less noise; noise on Linux is the control that shows that counting works.
    pub fn noise(linux: &Result<Profile>, tacet: &Result<Profile>) -> Row {
        let (verdict, as_expected) = match (linux, tacet) {
            (Ok(linux), Ok(tacet)) if linux.max() == 0 || linux.user.abs_diff(tacet.user) > 100 => {
                ("cannot be compared".to_owned(), false)
            }
            (Ok(linux), Ok(tacet)) if tacet.max() == 0 => (format!("silent; Linux stole {:.0}", total(linux)), true),
            (Ok(linux), Ok(tacet)) => {
                let times = total(linux) / total(tacet);
                (format!("{times:.0} times quieter"), times >= QUIETER)
            }
            _ => ("no".to_owned(), false),
        };
        let what = match linux {
            Ok(profile) => format!("noise: {} quanta of {} instructions", profile.stolen.len(), profile.user),
            Err(_) => "noise".to_owned(),
        };
        let (linux, tacet) = (noise(linux), noise(tacet));
        Row { what, linux, tacet, verdict, hand_overs: "0 wanted".to_owned(), as_expected }
    }

    /// The same output, and everything that this program says when it is well.
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

    /// The node before the partition and after it.
    pub fn node(before: &Snapshot, after: &Snapshot) -> Row {
        let differences = before.differences(after);
        let show = |snapshot: &Snapshot, complaints| {
            let Snapshot { online, present, managed, free_kib, .. } = snapshot;
            format!(
                "CPUs {online} online, {present} present\n{managed} pages, {} MiB free\n{complaints} new kernel complaints",
                free_kib >> 10
            )
        };
        Row {
            what: "the node, before and after the partition".to_owned(),
            linux: show(before, 0),
            tacet: show(after, before.new_complaints(after).count()),
            verdict: if differences.is_empty() { "yes".to_owned() } else { differences.join("\n") },
            hand_overs: String::new(),
            as_expected: differences.is_empty(),
        }
    }

    pub fn is_as_expected(&self) -> bool {
        self.as_expected
    }
}

/// The table and what its numbers are.
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
        "Stolen instructions: executed on CPU 3 outside user mode while the program did its quanta; counted by a plugin \
         of QEMU, on Linux\n{release} in an emulated node. They say what interrupts a program and how much of it, not \
         how long that takes on a real machine.\nHand-overs: how often the co-kernel's cores turned to Linux for system \
         calls, faults and signals. Seconds above are the\nemulator's and this host's, no measure of either kernel."
    )
}

fn total(profile: &Profile) -> f64 {
    profile.stolen.iter().sum::<u64>() as f64
}

fn noise(profile: &Result<Profile>) -> String {
    match profile {
        Ok(profile) => format!(
            "{} quanta hit\nstolen instructions: worst {}, mean {:.2}",
            profile.hit(),
            profile.max(),
            profile.mean()
        ),
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
