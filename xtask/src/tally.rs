// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Adds up what passed and what failed, of checks and of test runners alike.
//!
//! A runner that ends badly without naming a failure counts as one: nothing that went wrong may disappear.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Result;
use crate::command::said;

#[derive(Default)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
    failures: Vec<String>,
}

impl Tally {
    /// One check, passed or failed.
    pub fn check(&mut self, name: &str, done: Result<()>) {
        match done {
            Ok(()) => {
                self.passed += 1;
                println!("ok      {name}");
            }
            Err(error) => self.fail(format!("{name}: {error}")),
        }
    }

    /// A command that prints `N passed` and `N failed` (cargo's runner or ours), echoed as it runs.
    pub fn runner(&mut self, command: &mut Command) {
        let (name, start) = (said(command), Instant::now());
        println!("+ {name}");
        let (mut passed, mut failed) = (0, 0);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let status = child.and_then(|mut child| {
            for line in child
                .stdout
                .take()
                .into_iter()
                .flat_map(|out| BufReader::new(out).lines())
                .map_while(std::result::Result::ok)
            {
                println!("{line}");
                if let Some((p, f)) = counts(&line) {
                    (passed, failed) = (passed + p, failed + f);
                }
            }
            child.wait()
        });
        self.passed += passed;
        self.failed += failed;
        match status {
            Ok(status) if failed > 0 || !status.success() => {
                if failed == 0 {
                    self.failed += 1;
                }
                self.failures.push(format!("{name}: {status}, {failed} failed"));
            }
            Ok(_) => println!("ok      {name}: {passed} in {} s", start.elapsed().as_secs()),
            Err(error) => self.fail(format!("{name}: {error}")),
        }
    }

    /// Prints the failures again and the last line that everything counts on.
    pub fn end(self) -> Result<()> {
        for failure in &self.failures {
            println!("FAILED  {failure}");
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        if self.failed == 0 { Ok(()) } else { Err(format!("{} failed", self.failed).into()) }
    }

    fn fail(&mut self, what: String) {
        println!("FAILED  {what}");
        self.failed += 1;
        self.failures.push(what);
    }
}

/// `test result: ok. 3 passed; 0 failed; …` of cargo, or a line that is `3 passed, 0 failed`.
fn counts(line: &str) -> Option<(u32, u32)> {
    let text = match line.strip_prefix("test result: ") {
        Some(rest) => rest.split_once(". ")?.1.replace(';', ","),
        None => line.to_owned(),
    };
    let mut parts = text.split(", ");
    let passed = parts.next()?.strip_suffix(" passed")?.parse().ok()?;
    let failed = parts.next()?.strip_suffix(" failed")?.parse().ok()?;
    Some((passed, failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_kinds_of_sum() {
        assert_eq!(counts("test result: ok. 28 passed; 0 failed; 1 ignored; 0 measured"), Some((28, 0)));
        assert_eq!(counts("test result: FAILED. 2 passed; 3 failed; 0 ignored"), Some((2, 3)));
        assert_eq!(counts("40 passed, 2 failed"), Some((40, 2)));
        assert_eq!(counts("it passed, nothing failed"), None);
    }

    #[test]
    fn a_runner_that_dies_silently_is_a_failure() {
        let mut tally = Tally::default();
        tally.runner(Command::new("sh").args(["-c", "echo 2 passed, 0 failed; exit 3"]));
        assert_eq!((tally.passed, tally.failed), (2, 1));
        tally.runner(Command::new("sh").args(["-c", "echo 1 passed, 1 failed; exit 1"]));
        assert_eq!((tally.passed, tally.failed), (3, 2));
    }
}
