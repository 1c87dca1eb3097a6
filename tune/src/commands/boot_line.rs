// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `boot-line`: prints the words that only a boot can put into force, or has them written or taken out.

use std::process::ExitCode;

use super::{alone, print, print_json};
use crate::boot_line::{self, Outcome};
use crate::error::Result;
use crate::node::Linux;
use crate::options::Wanted;

pub fn boot_line(node: &Linux, claim: &Wanted, write: bool, undo: bool, dry_run: bool, json: bool) -> Result<ExitCode> {
    let words = if undo { Vec::new() } else { boot_line::wanted(node, &alone(node, claim)?)? };
    let outcome = if write || undo {
        boot_line::set(node, words, dry_run)?
    } else {
        Outcome { words, tool: None, changed: false }
    };
    if json {
        print_json(&outcome)?;
    } else {
        print(&text(&outcome, write || undo))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(outcome: &Outcome, changes: bool) -> String {
    let words = outcome.words.join(" ");
    match (changes, outcome.tool, words.as_str()) {
        (false, _, "") => "nothing: the boot line has all that these countermeasures want\n".into(),
        (false, _, words) => format!("{words}\n"),
        (true, None, _) => "nothing to change\n".into(),
        (true, Some(_), words) => {
            let would = if outcome.changed { "" } else { "would be " };
            let done = if words.is_empty() { "taken out".to_owned() } else { format!("written: {words}") };
            format!("{would}{done}; it counts from the next boot\n")
        }
    }
}
