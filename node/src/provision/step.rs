// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One provisioning step: a command with its output in a log, a line of progress, and a stamp that records the inputs.
//!
//! Owns the log and stamp files. Used by the other files of `provision`. Must never leave a stamp for work that did
//! not finish.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cache::Cache;
use crate::error::{Error, OnPath, Result};

/// A named step of provisioning.
pub(crate) struct Step<'a> {
    cache: &'a Cache,
    name: &'a str,
    /// A text with all inputs of the step: if it is unchanged, there is nothing to do.
    made_from: String,
}

impl<'a> Step<'a> {
    pub fn new(cache: &'a Cache, name: &'a str, made_from: impl Into<String>) -> Step<'a> {
        Step { cache, name, made_from: made_from.into() }
    }

    /// Was the result on disk made from the same inputs?
    pub fn is_done(&self) -> bool {
        fs::read_to_string(self.cache.stamp(self.name)).is_ok_and(|text| text == self.made_from)
    }

    /// Does the work unless it was done, and stamps it.
    pub fn unless_done(&self, work: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let stamp = self.cache.stamp(self.name);
        fs::remove_file(&stamp).ok();
        work(self)?;
        fs::create_dir_all(stamp.parent().unwrap_or(&stamp)).on(&stamp)?;
        fs::write(&stamp, &self.made_from).on(&stamp)
    }

    /// Runs a command of this step and shows the last line of its log. `said` describes the step to the person.
    pub fn run(&self, said: &str, command: &mut Command) -> Result<()> {
        let path = self.cache.log(self.name);
        let log = File::create(&path).on(&path)?;
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().on(&path)?)
            .stderr(log)
            .spawn()
            .map_err(|e| Error::new(self.name, format!("cannot run {program}: {e}"), "run `cargo xtask setup`"))?;
        let bar = progress(said);
        let status = loop {
            if let Some(status) = child.try_wait().on(&path)? {
                break status;
            }
            bar.set_message(last_line(&path).chars().take(60).collect::<String>());
            thread::sleep(Duration::from_millis(200));
        };
        bar.finish_and_clear();
        if status.success() {
            return Ok(());
        }
        Err(Error::new(
            self.name,
            format!("{program} failed: {}", last_error(&path)),
            format!("see {}", path.display()),
        ))
    }
}

fn progress(said: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_prefix(said.to_owned());
    if bar.is_hidden() {
        eprintln!("{said}");
    }
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} [{elapsed}] {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn last_line(log: &Path) -> String {
    lines(log).pop().unwrap_or_default()
}

/// The last line that names an error, else the last line.
fn last_error(log: &Path) -> String {
    let mut lines = lines(log);
    let named = lines.iter().rposition(|l| l.starts_with("E: ") || l.contains("rror:") || l.contains("cannot "));
    match named {
        Some(at) => lines.swap_remove(at),
        None => lines.pop().unwrap_or_else(|| "no output".to_owned()),
    }
}

fn lines(log: &Path) -> Vec<String> {
    let bytes = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_leaves_no_stamp_and_names_its_log() {
        let scratch = tempfile::tempdir().expect("scratch");
        let cache = Cache::at(scratch.path()).expect("cache");
        let step = Step::new(&cache, "probe", "a");
        let failing =
            |s: &Step| s.run("probing", Command::new("sh").args(["-c", "echo E: no such package; echo more; exit 3"]));
        let error = step.unless_done(failing).expect_err("it fails").to_string();
        assert!(error.contains("E: no such package") && error.contains("probe.log"), "{error}");
        assert!(!step.is_done());
    }

    #[test]
    fn a_step_is_repeated_only_when_its_inputs_change() {
        let scratch = tempfile::tempdir().expect("scratch");
        let cache = Cache::at(scratch.path()).expect("cache");
        let mut runs = 0;
        for inputs in ["a", "a", "b"] {
            Step::new(&cache, "count", inputs)
                .unless_done(|_| {
                    runs += 1;
                    Ok(())
                })
                .expect("works");
        }
        assert_eq!(runs, 2);
    }
}
