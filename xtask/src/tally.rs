// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Adds up what passed and what failed, of checks and of test runners alike.
//!
//! A runner that ends badly without naming a failure counts as one: nothing that went wrong may disappear.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::Result;
use crate::command::said;

#[derive(Default)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
    failures: Vec<String>,
    /// What took long: seconds and name.
    long: Vec<(u64, String)>,
}

/// Seconds that are worth telling at the end.
const LONG: u64 = 20;

impl Tally {
    /// One check, passed or failed.
    pub fn check(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        let start = Instant::now();
        let done = work();
        self.took(start.elapsed().as_secs(), name);
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
        println!("+ {}", said(command));
        let ran = Ran::of(command, |line| println!("{line}"));
        self.add(ran);
    }

    /// Such commands, two at a time: each waits much. What each printed stays together.
    pub fn runners(&mut self, commands: Vec<Command>) {
        let (waiting, tally) = (Mutex::new(commands.into_iter()), Mutex::new(self));
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let lane = || {
            while let Some(mut command) = next() {
                let mut text = format!("+ {}\n", said(&command));
                let ran = Ran::of(&mut command, |line| {
                    text.push_str(line);
                    text.push('\n');
                });
                let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                print!("{text}");
                tally.add(ran);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(lane);
            scope.spawn(lane);
        });
    }

    fn took(&mut self, seconds: u64, name: &str) {
        if seconds >= LONG {
            self.long.push((seconds, name.to_owned()));
        }
    }

    fn add(&mut self, ran: Ran) {
        self.took(ran.seconds, &ran.name);
        self.passed += ran.passed;
        match ran.failure {
            Some(why) => {
                self.failed += ran.failed.max(1);
                self.failures.push(format!("{}: {why}, {} failed", ran.name, ran.failed));
            }
            None => println!("ok      {}: {} in {} s", ran.name, ran.passed, ran.seconds),
        }
    }

    /// Prints what took long, the failures again and the last line that everything counts on.
    pub fn end(self) -> Result<()> {
        for (seconds, name) in &self.long {
            println!("{seconds:5} s {name}");
        }
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

/// What a runner said.
struct Ran {
    name: String,
    passed: u32,
    failed: u32,
    seconds: u64,
    failure: Option<String>,
}

impl Ran {
    /// Runs it; `echo` is given its lines.
    fn of(command: &mut Command, mut echo: impl FnMut(&str)) -> Ran {
        let (name, start) = (said(command), Instant::now());
        let (mut passed, mut failed) = (0, 0);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let status = child.and_then(|mut child| {
            let output = child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines());
            for line in output.map_while(std::result::Result::ok) {
                echo(&line);
                if let Some((p, f)) = counts(&line) {
                    (passed, failed) = (passed + p, failed + f);
                }
            }
            child.wait()
        });
        let failure = match status {
            Ok(status) if status.success() && failed == 0 => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        Ran { name, passed, failed, seconds: start.elapsed().as_secs(), failure }
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
        tally.runner(&mut Command::new("/nowhere"));
        assert_eq!((tally.passed, tally.failed), (3, 3));
    }

    #[test]
    fn all_of_several_runners_count() {
        let mut tally = Tally::default();
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        tally.runners(vec![
            shell("echo 2 passed, 0 failed"),
            shell("exit 1"),
            shell("echo 1 passed, 2 failed; exit 1"),
        ]);
        assert_eq!((tally.passed, tally.failed, tally.failures.len()), (3, 3, 2));
    }
}
