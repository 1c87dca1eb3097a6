// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ablate`: prints the table and draws the picture, after Ctrl-C those of the measurements until then. Everything is undone.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{claim, print, print_json, state_of_this_boot, warn};
use crate::ablate::laboratory::{Program, Words};
use crate::ablate::{picture, series};
use crate::claim::Owner;
use crate::error::{Error, Result};
use crate::node::Node;
use crate::options::{Ablation, Wanted};
use crate::show;

pub fn ablate(node: &dyn Node, wanted: &Wanted, how: &Ablation, json: bool) -> Result<ExitCode> {
    let claim = claim(node, &state_of_this_boot(node)?, Owner::Node, wanted)?;
    warn(node, &claim);
    let words = Words {
        duration: how.duration.clone(),
        quantum: how.quantum.clone(),
        trust_clock: how.trust_clock,
        trace: !how.no_trace,
    };
    let mut laboratory = Program::open(how.laboratory.as_deref(), words, interrupted()?)?;
    if let Some(path) = &how.picture {
        can_be_written(path)?;
    }
    let mut say = |step: String| eprintln!("tacet tune: {step}");
    let (table, ended) = series(node, &mut laboratory, &claim, usize::from(how.rounds), &mut say)?;
    if let Some(path) = &how.picture {
        picture::draw(&table, path)?;
    }
    if json {
        print_json(&table)?
    } else {
        print(&show::ablation(&table))?
    }
    // the table is the output, so this is not JSON's error
    Ok(ended.map_or(ExitCode::SUCCESS, |error| {
        eprintln!("tacet tune: {error}");
        ExitCode::from(error.status())
    }))
}

/// Checks the path before an hour of measurements, not after it.
fn can_be_written(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() && !path.is_dir() {
        return Ok(());
    }
    Err(Error::new(path.display(), "no file can be created there", "name a file in a directory that exists"))
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP set.
fn interrupted() -> Result<Arc<AtomicBool>> {
    tacet_words::interrupted::flag().map_err(|error| Error::new("signals", error, ""))
}
