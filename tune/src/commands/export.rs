// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes a plan, in the format of another tool, into a directory, or prints it.
//!
//! It must never replace a file of other contents without `--force`: a site may have edited it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::{print, print_json};
use crate::error::{Error, Result};
use crate::export::{Exported, systemd, tuned};
use crate::options::Format;
use crate::plan::Plan;

/// docs/json/tune-export.json describes it.
#[derive(Serialize)]
struct Report<'a> {
    files: Vec<Written<'a>>,
}

#[derive(Serialize)]
struct Written<'a> {
    path: PathBuf,
    text: &'a str,
    written: bool,
}

pub fn files(plan: &Plan, format: Format) -> Vec<Exported> {
    match format {
        Format::Tuned => tuned(plan),
        Format::Systemd => systemd(plan),
    }
}

pub fn export(files: &[Exported], directory: Option<&Path>, force: bool, json: bool) -> Result<ExitCode> {
    let place = |file: &Exported| directory.map_or_else(|| PathBuf::from(&file.path), |below| below.join(&file.path));
    if directory.is_some() {
        // all are checked before one is written
        files.iter().try_for_each(|file| may_write(&place(file), &file.text, force))?;
        files.iter().try_for_each(|file| write(&place(file), &file.text))?;
    }
    if json {
        let written = directory.is_some();
        let files = files.iter().map(|file| Written { path: place(file), text: &file.text, written });
        print_json(&Report { files: files.collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    for file in files {
        match directory {
            Some(_) => print(&format!("{}\n", place(file).display()))?,
            None => print(&format!("==> {}\n{}\n", file.path, file.text))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn may_write(path: &Path, text: &str, force: bool) -> Result<()> {
    let differs = fs::read(path).is_ok_and(|there| there != text.as_bytes());
    if differs && !force {
        return Err(Error::new(path.display(), "it exists", "name another directory, or overwrite it with --force"));
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| Error::io(path.display(), &error, "name a directory that can be written");
    path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text)).map_err(failed)
}
