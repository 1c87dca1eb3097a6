// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes a plan, in the format of another tool, into a directory, or prints it.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use super::print;
use crate::error::{Error, Result};
use crate::export::{systemd, tuned};
use crate::options::Format;
use crate::plan::Plan;

pub fn export(plan: &Plan, format: Format, directory: Option<&Path>) -> Result<ExitCode> {
    let files = match format {
        Format::Tuned => tuned(plan),
        Format::Systemd => systemd(plan),
    };
    for file in &files {
        let Some(directory) = directory else {
            print(&format!("==> {}\n{}\n", file.path, file.text))?;
            continue;
        };
        let path = directory.join(&file.path);
        let failed = |error: std::io::Error| Error::io(path.display(), &error, "name a directory that can be written");
        path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, &file.text)).map_err(failed)?;
        print(&format!("{}\n", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
