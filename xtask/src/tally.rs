// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Adds up what passed and what failed, of checks and of test runners alike, and what each part took.
//!
//! A runner that ends badly without naming a failure counts as one: nothing that went wrong may disappear. A test that
//! failed has failed; it runs once more, by its name, only to tell whether it is flaky. Times fail nothing.

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::Result;
use crate::command::said;
use crate::ran::Ran;

/// A part of the suite, and how many seconds it may take on two idle cores.
pub struct Part {
    pub name: &'static str,
    /// By [`Budgets`].
    seconds: [u64; 4],
}

impl Part {
    pub const fn new(name: &'static str, seconds: [u64; 4]) -> Part {
        Part { name, seconds }
    }
}

/// Which of a part's budgets holds.
#[derive(Clone, Copy, Default)]
pub enum Budgets {
    /// With `--quick`, where everything was built before.
    Quick,
    /// In a clone in which nothing was built.
    #[default]
    Usual,
    /// `make test-more`, after `make test`.
    More,
    /// With `FULL=1`, in a clone in which nothing was built.
    Full,
}

#[derive(Default)]
pub struct Tally {
    budgets: Budgets,
    pub passed: u32,
    pub failed: u32,
    failures: Vec<String>,
    flaky: Vec<String>,
    /// What took long: seconds and name.
    long: Vec<(u64, String)>,
    /// Seconds, budget and name.
    parts: Vec<(u64, u64, &'static str)>,
}

/// Seconds that are worth telling at the end.
const LONG: u64 = 20;

impl Tally {
    pub fn new(budgets: Budgets) -> Tally {
        Tally { budgets, ..Tally::default() }
    }

    /// Some checks and runners together.
    pub fn part(&mut self, part: &Part, work: impl FnOnce(&mut Tally)) {
        let budget = part.seconds[self.budgets as usize];
        println!("== {}: at most {budget} s", part.name);
        let start = Instant::now();
        work(self);
        let seconds = start.elapsed().as_secs();
        println!("== {}", row(seconds, budget, part.name));
        self.parts.push((seconds, budget, part.name));
    }

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
        let flaky = ran.flaky(command);
        self.add(ran, flaky);
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
                let flaky = ran.flaky(&command);
                let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                print!("{text}");
                tally.add(ran, flaky);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(lane);
            scope.spawn(lane);
        });
    }

    /// Something that was repeated.
    pub fn flaky(&mut self, what: String) {
        println!("flaky   {what}");
        self.flaky.push(what);
    }

    fn took(&mut self, seconds: u64, name: &str) {
        if seconds >= LONG {
            self.long.push((seconds, name.to_owned()));
        }
    }

    fn add(&mut self, ran: Ran, flaky: Vec<String>) {
        self.took(ran.seconds, &ran.name);
        self.passed += ran.passed;
        self.flaky.extend(flaky);
        match ran.failure {
            Some(why) => {
                self.failed += ran.failed.max(1);
                let sum = format!("{}: {why}, {} failed {}", ran.name, ran.failed, ran.names.join(" "));
                self.failures.push(ran.words.iter().fold(sum, |text, line| text + "\n        " + line));
            }
            None => println!("ok      {}: {} in {} s", ran.name, ran.passed, ran.seconds),
        }
    }

    /// Prints what took long, each part with its budget, what is flaky, the failures again and the last line that
    /// everything counts on.
    pub fn end(self) -> Result<()> {
        for (seconds, name) in &self.long {
            println!("{seconds:5} s {name}");
        }
        println!("Parts, with their budgets for two idle cores:");
        for (seconds, budget, name) in &self.parts {
            println!("{}", row(*seconds, *budget, name));
        }
        let sum = |of: fn(&(u64, u64, &'static str)) -> u64| self.parts.iter().map(of).sum();
        println!("{}", row(sum(|part| part.0), sum(|part| part.1), "all of it"));
        for flaky in &self.flaky {
            println!("FLAKY   {flaky}");
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

fn row(seconds: u64, budget: u64, name: &str) -> String {
    let warning = if seconds > budget { "  OVER BUDGET" } else { "" };
    format!("{seconds:5} s of {budget:5} s  {name}{warning}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_runner_that_dies_silently_is_a_failure() {
        let mut tally = Tally::default();
        tally.runner(&mut shell("echo 2 passed, 0 failed; exit 3"));
        assert_eq!((tally.passed, tally.failed), (2, 1));
        tally.runner(&mut shell("echo 1 passed, 1 failed; exit 1"));
        assert_eq!((tally.passed, tally.failed), (3, 2));
        tally.runner(&mut Command::new("/nowhere"));
        assert_eq!((tally.passed, tally.failed), (3, 3));
    }

    #[test]
    fn all_of_several_runners_count() {
        let mut tally = Tally::default();
        tally.runners(vec![
            shell("echo 2 passed, 0 failed"),
            shell("exit 1"),
            shell("echo 1 passed, 2 failed; exit 1"),
        ]);
        assert_eq!((tally.passed, tally.failed, tally.failures.len()), (3, 3, 2));
    }

    #[test]
    fn a_flaky_test_is_named_and_has_failed() {
        let mut tally = Tally::default();
        let folder = std::env::temp_dir().join(format!("tacet-flaky-{}", std::process::id()));
        let script = "if [ -e \"$FOLDER\" ]; then echo 1 passed, 0 failed; exit; fi; mkdir \"$FOLDER\"
            printf 'failures:\\n    a::test\\n\\ntest result: FAILED. 3 passed; 1 failed; 0 ignored\\n'; exit 1";
        tally.runner(shell(script).env("FOLDER", &folder));
        std::fs::remove_dir(folder).expect("made at the first run");
        assert_eq!((tally.passed, tally.failed), (3, 1));
        assert_eq!(tally.flaky.len(), 1);
        assert!(tally.flaky[0].starts_with("a::test"), "{}", tally.flaky[0]);
    }

    #[test]
    fn what_takes_too_long_is_told_and_fails_nothing() {
        assert_eq!(row(12, 10, "lints"), "   12 s of    10 s  lints  OVER BUDGET");
        assert_eq!(row(10, 10, "lints"), "   10 s of    10 s  lints");
        let mut tally = Tally::new(Budgets::Full);
        let part = Part::new("nothing", [0, 0, 0, 5]);
        tally.part(&part, |tally| tally.check("a check", || Ok(())));
        assert_eq!(tally.parts, [(0, 5, "nothing")]);
        assert!(tally.end().is_ok());
    }
}
