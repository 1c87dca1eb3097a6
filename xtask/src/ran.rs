// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One run of a test runner: how many tests passed, how many failed, which, and which of those pass when repeated.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::command::said;

/// How many failed tests are repeated: where everything is broken, repeating tells nothing.
const REPEATED: usize = 10;
/// How a line of our own runner begins that names a flaky test.
const FLAKY: &str = "flaky ";

/// What a runner said.
pub struct Ran {
    pub name: String,
    pub passed: u32,
    pub failed: u32,
    /// Of cargo's runner: the tests that failed.
    pub names: Vec<String>,
    pub seconds: u64,
    pub failure: Option<String>,
    /// What our own runner found flaky.
    told: Vec<String>,
}

impl Ran {
    /// Runs it; `echo` gets its lines.
    pub fn of(command: &mut Command, mut echo: impl FnMut(&str)) -> Ran {
        let start = Instant::now();
        let mut ran = Ran {
            name: said(command),
            passed: 0,
            failed: 0,
            names: Vec::new(),
            seconds: 0,
            failure: None,
            told: Vec::new(),
        };
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let status = child.and_then(|mut child| {
            let output = child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines());
            let mut listed = false;
            for line in output.map_while(std::result::Result::ok) {
                echo(&line);
                ran.line(&line, &mut listed);
            }
            child.wait()
        });
        ran.failure = match status {
            Ok(status) if status.success() && ran.failed == 0 => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        ran.seconds = start.elapsed().as_secs();
        ran
    }

    /// `listed`: the line before was of a list of failed tests.
    fn line(&mut self, line: &str, listed: &mut bool) {
        if let Some((passed, failed)) = counts(line) {
            (self.passed, self.failed) = (self.passed + passed, self.failed + failed);
        }
        if let Some(what) = line.strip_prefix(FLAKY) {
            self.told.push(what.to_owned());
        }
        let name = line.strip_prefix("    ").filter(|_| *listed);
        *listed = line == "failures:" || name.is_some();
        if let Some(name) = name.filter(|name| !self.names.iter().any(|known| known == name)) {
            self.names.push(name.to_owned());
        }
    }

    /// What is flaky: what the runner itself told, and the failed tests that pass when `command` is repeated for each.
    pub fn flaky(&self, command: &Command) -> Vec<String> {
        let mut flaky = self.told.clone();
        for name in self.names.iter().take(REPEATED) {
            println!("again   {name}: it failed");
            let again = Ran::of(&mut only(command, name), |_| ());
            if again.failure.is_none() && again.passed > 0 {
                flaky.push(format!("{name}: it failed, and passed when repeated ({})", self.name));
            }
        }
        flaky
    }
}

/// The same command for one test.
fn only(command: &Command, test: &str) -> Command {
    let mut one = Command::new(command.get_program());
    one.args(command.get_args());
    if !command.get_args().any(|argument| argument == "--") {
        one.arg("--");
    }
    one.args(["--exact", test]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => one.env(name, value),
            None => one.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        one.current_dir(directory);
    }
    one
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
    fn failed_tests_are_known_by_name() {
        let text = "failures:\n\n---- a::b stdout ----\n    left: 1\n\n\nfailures:\n    a::b\n    c\n\n    no test\nfailures:\n    c\n";
        let ran = Ran::of(Command::new("printf").arg(text), |_| ());
        assert_eq!(ran.names, ["a::b", "c"]);
    }

    #[test]
    fn our_own_runner_says_what_is_flaky() {
        let ran = Ran::of(Command::new("echo").arg("flaky 6.12 a scenario: why"), |_| ());
        assert_eq!(ran.flaky(&Command::new("true")), ["6.12 a scenario: why"]);
    }

    #[test]
    fn one_test_is_repeated_with_the_same_words() {
        let mut command = Command::new("cargo");
        command.args(["test", "--", "--test-threads=1"]).env("A", "b");
        assert_eq!(said(&only(&command, "a::b")), "cargo test -- --test-threads=1 --exact a::b");
        assert_eq!(said(&only(Command::new("cargo").arg("test"), "a::b")), "cargo test -- --exact a::b");
        assert_eq!(only(&command, "a").get_envs().count(), 1);
    }
}
