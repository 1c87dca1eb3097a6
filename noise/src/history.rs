// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The verdicts of earlier checks: one JSON object on each line, in the order of time.
//!
//! `check` appends, `history` reads. A line is written in one call to a file that is open for appending, so checks at the
//! same time do not mix. A line that a full disk cut is left out when it is read. It never changes or removes a line.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Result;

/// The verdicts of root, on machines that are checked before each job.
const OF_ROOT: &str = "/var/lib/tacet/noise/checks.jsonl";
const OF_USER: &str = "tacet/checks.jsonl";

/// A check of this machine that measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub began_unix_s: u64,
    pub host: String,
    pub kernel_release: String,
    pub cpus: Vec<u32>,
    pub duration_ns: f64,
    /// `quiet`, `noisy` or `not_enough`
    pub verdict: String,
    pub max_noise_ns: f64,
    pub max_noise_limit_ns: Option<f64>,
    pub noise_rate: f64,
    pub noise_rate_limit: Option<f64>,
    /// the source that explains most of the noise, if it was looked for and found
    pub thief: Option<String>,
}

/// Where the verdicts of this user are: of root on the machine, of others below XDG_STATE_HOME.
pub fn usual_place() -> Result<PathBuf> {
    let is_root = nix::unistd::geteuid().is_root();
    let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    place(is_root, home("XDG_STATE_HOME"), home("HOME"))
}

fn place(is_root: bool, state: Option<PathBuf>, home: Option<PathBuf>) -> Result<PathBuf> {
    if is_root {
        return Ok(OF_ROOT.into());
    }
    let state = state.filter(|path| path.is_absolute()).or_else(|| home.map(|home| home.join(".local/state")));
    let state = state.ok_or("neither HOME nor XDG_STATE_HOME is set: name a file with --history")?;
    Ok(state.join(OF_USER))
}

/// Appends one line, and makes the folder for the first.
pub fn append(path: &Path, entry: &Entry) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let line = serde_json::to_string(entry)? + "\n";
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    Ok(file.write_all(line.as_bytes()).map_err(failed)?)
}

/// The entries, the oldest first, and how many lines are none. No file: no entries.
pub fn read(path: &Path) -> Result<(Vec<Entry>, usize)> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        other => other.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let (good, bad): (Vec<_>, Vec<_>) =
        lines.map(|line| serde_json::from_str(line).ok()).partition(|entry: &Option<Entry>| entry.is_some());
    Ok((good.into_iter().flatten().collect(), bad.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(began_unix_s: u64) -> Entry {
        Entry {
            began_unix_s,
            host: "node1".into(),
            kernel_release: "6.12.57".into(),
            cpus: vec![2, 3],
            duration_ns: 5e9,
            verdict: "quiet".into(),
            max_noise_ns: 12_345.5,
            max_noise_limit_ns: None,
            noise_rate: 1e-7,
            noise_rate_limit: Some(1e-5),
            thief: None,
        }
    }

    #[test]
    fn what_was_appended_is_read_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/folder/checks.jsonl");
        assert_eq!(read(&path).expect("none yet"), (Vec::new(), 0));
        append(&path, &entry(7)).expect("appended");
        append(&path, &entry(5)).expect("appended");
        assert_eq!(read(&path).expect("two"), (vec![entry(7), entry(5)], 0));
    }

    /// The line after one that a full disk cut is whole, if that one has its end; both are counted.
    #[test]
    fn a_cut_line_costs_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("checks.jsonl");
        append(&path, &entry(1)).expect("appended");
        fs::write(&path, fs::read_to_string(&path).expect("text") + "{\"began_unix_s\":9,\n").expect("cut");
        append(&path, &entry(2)).expect("appended");
        assert_eq!(read(&path).expect("two"), (vec![entry(1), entry(2)], 1));
        assert!(read(folder.path()).is_err(), "a folder");
    }

    #[test]
    fn each_user_has_a_place() {
        let at = |root, state: &str, home: &str| {
            let path = |text: &str| (!text.is_empty()).then(|| text.into());
            place(root, path(state), path(home)).map(|path| path.display().to_string()).unwrap_or_default()
        };
        assert_eq!(at(true, "/s", "/h"), "/var/lib/tacet/noise/checks.jsonl");
        assert_eq!(at(false, "/s", "/h"), "/s/tacet/checks.jsonl");
        assert_eq!(at(false, "", "/h"), "/h/.local/state/tacet/checks.jsonl");
        assert_eq!(at(false, "relative", "/h"), "/h/.local/state/tacet/checks.jsonl");
        assert_eq!(at(false, "", ""), "");
    }
}
