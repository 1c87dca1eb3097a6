// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The numbers of jobs: none is given twice, also not by the next daemon of the set.
//!
//! A job outlives its daemon, and its number names it to nodes and to `run`. So a file beside the set's key holds a bound
//! below which every number may have been given. It is on disk before the first number under it is: a daemon that was
//! killed, or whose host lost its power, only skips some. A clock would not do, since it can be set back. The book owns
//! this; it must never give a number that the file does not cover.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// So many numbers for each write of the file.
const BLOCK: u32 = 100;

#[derive(Debug)]
pub struct Numbers {
    last: u32,
    /// All up to this one are covered.
    bound: u32,
    /// `None`: nodes and jobs live no longer than this daemon, so there is nothing to remember.
    file: Option<PathBuf>,
}

impl Numbers {
    /// Goes on behind the numbers that the file covers.
    pub fn new(file: Option<&Path>) -> Result<Self> {
        let bound = match file.map(fs::read_to_string) {
            None => 0,
            Some(Ok(text)) => text.trim().parse().map_err(|_| {
                let remedy =
                    "write the greatest number of a job that there was, or remove the file and boot the nodes again";
                Error::new(path_of(file), "it is not the number of a job", remedy)
            })?,
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => 0,
            Some(Err(error)) => return Err(unkept(file, error)),
        };
        let mut numbers = Numbers { last: bound, bound, file: file.map(Path::to_owned) };
        // A file that cannot be written is known now, and not at the first job.
        numbers.cover(bound)?;
        Ok(numbers)
    }

    pub fn next(&mut self) -> Result<u32> {
        let number = self.last.checked_add(1);
        let number = number.ok_or_else(|| Error::new("jobs", "all numbers are used", "make a key for another set"))?;
        if number > self.bound {
            self.cover(number.saturating_add(BLOCK - 1))?;
        }
        self.last = number;
        Ok(number)
    }

    /// A daemon whose file was lost has given this one.
    pub fn taken(&mut self, number: u32) {
        self.last = self.last.max(number);
    }

    fn cover(&mut self, bound: u32) -> Result<()> {
        if let Some(file) = &self.file {
            keep(file, &bound.to_string()).map_err(|error| unkept(Some(file), error))?;
        }
        self.bound = bound;
        Ok(())
    }
}

/// The whole file or the old one, also after a loss of power.
pub fn keep(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_added_extension("new");
    let mut file = File::create(&new)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn unkept(file: Option<&Path>, error: io::Error) -> Error {
    Error::new(path_of(file), error, "the daemon keeps the last job's number there: let it write")
}

fn path_of(file: Option<&Path>) -> String {
    file.unwrap_or(Path::new("jobs")).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_daemon_gives_a_number_of_an_earlier_one() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("key.jobs");
        let mut last = 0;
        for jobs in [1, 0, 250, 3, 100] {
            // Dropped without a word, as by SIGKILL.
            let mut numbers = Numbers::new(Some(&file)).unwrap();
            for _ in 0..jobs {
                let next = numbers.next().unwrap();
                assert!(next > last, "{next} after {last}");
                last = next;
            }
        }
        assert!(last < 1000, "few are skipped: {last}");
    }

    #[test]
    fn what_cannot_be_kept_is_not_given() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("gone/key.jobs");
        assert!(Numbers::new(Some(&file)).is_err());
        fs::create_dir(scratch.path().join("gone")).unwrap();
        let mut numbers = Numbers::new(Some(&file)).unwrap();
        fs::remove_dir_all(scratch.path().join("gone")).unwrap();
        assert!(numbers.next().is_err());
        fs::create_dir(scratch.path().join("gone")).unwrap();
        assert_eq!(numbers.next().unwrap(), 1);
        fs::write(&file, "nonsense\n").unwrap();
        assert!(Numbers::new(Some(&file)).unwrap_err().to_string().contains("not the number of a job"));
        fs::write(&file, format!("{}\n", u32::MAX)).unwrap();
        assert!(Numbers::new(Some(&file)).unwrap().next().is_err());
    }

    #[test]
    fn without_a_file_they_begin_with_1() {
        assert_eq!(Numbers::new(None).unwrap().next().unwrap(), 1);
    }
}
