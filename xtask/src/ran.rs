// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One run of a test runner: how many tests passed, how many failed, which, and which of those pass when repeated.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::said;
use crate::tree;

/// How many failed tests are repeated: where everything is broken, repeating tells nothing.
const REPEATED: usize = 10;
/// How a line of our own runner begins that names a flaky test.
const FLAKY: &str = "flaky ";

/// How the runner of scenarios begins its list of what failed.
const ONCE_MORE: &str = "Once more, what failed:";
/// How many lines of what a failed test said are told again at the end.
const WORDS: usize = 12;

/// A runner that says nothing for so long waits for something that will not come. The slowest scenario takes half of it.
const SILENCE: Duration = Duration::from_secs(900);

/// What a runner said.
pub struct Ran {
    pub name: String,
    pub passed: u32,
    pub failed: u32,
    /// Of cargo's runner: the tests that failed.
    pub names: Vec<String>,
    pub seconds: u64,
    pub failure: Option<String>,
    /// The first lines of what each failed test said: the end of a long log is all that some readers get.
    pub words: Vec<String>,
    /// How many lines of the test that is telling are still taken.
    room: usize,
    /// What our own runner found flaky.
    told: Vec<String>,
}

impl Ran {
    /// Runs it; `echo` gets its lines.
    pub fn of(command: &mut Command, echo: impl FnMut(&str)) -> Ran {
        Ran::within(command, SILENCE, echo)
    }

    /// The same; after this silence it is killed, with everything that it started.
    pub fn within(command: &mut Command, silence: Duration, mut echo: impl FnMut(&str)) -> Ran {
        let start = Instant::now();
        let mut ran = Ran {
            name: said(command),
            passed: 0,
            failed: 0,
            names: Vec::new(),
            seconds: 0,
            failure: None,
            words: Vec::new(),
            room: 0,
            told: Vec::new(),
        };
        let mut listed = false;
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let ended = child.and_then(|mut child| {
            let last = listen(&mut child, silence, &mut |line| {
                echo(line);
                ran.line(line, &mut listed);
            });
            Ok((child.wait()?, last))
        });
        ran.failure = match ended {
            Ok((_, Some(last))) => Some(format!("it said nothing for {} s after `{last}`", silence.as_secs())),
            Ok((status, None)) if status.success() && ran.failed == 0 => None,
            Ok((status, None)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        ran.seconds = start.elapsed().as_secs();
        ran
    }

    /// `listed`: the line before was of a list of failed tests.
    fn line(&mut self, line: &str, listed: &mut bool) {
        self.hear(line);
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

    /// Takes what a failed test says: below its line or at the end in our own runners, in a section of its own in cargo's.
    fn hear(&mut self, line: &str) {
        let of_ours = line.starts_with("test ") && line.contains(" ... FAILED");
        if of_ours || line.starts_with("---- ") || line == ONCE_MORE {
            self.room = WORDS + 1;
        } else if line.is_empty() || line.starts_with("test ") || line == "failures:" || counts(line).is_some() {
            self.room = 0;
        }
        if self.room > 0 {
            self.room -= 1;
            self.words.push(line.to_owned());
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

/// Hands on the lines of a child until it closes its output. A child that is silent for too long is killed; its last words.
fn listen(child: &mut Child, silence: Duration, take: &mut impl FnMut(&str)) -> Option<String> {
    let pieces = pieces(child);
    let (mut text, mut last) = (Vec::new(), String::new());
    loop {
        match pieces.recv_timeout(silence) {
            Ok(piece) => text.extend(piece),
            Err(RecvTimeoutError::Timeout) => {
                let rest = String::from_utf8_lossy(&text).trim().to_owned();
                tree::kill(child.id());
                return Some(if rest.is_empty() { last } else { rest });
            }
            Err(RecvTimeoutError::Disconnected) => {
                if !text.is_empty() {
                    take(&String::from_utf8_lossy(&text));
                }
                return None;
            }
        }
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let rest = text.split_off(end + 1);
            last = String::from_utf8_lossy(&std::mem::replace(&mut text, rest)).trim_end().to_owned();
            take(&last);
        }
    }
}

/// What the child prints, as it comes: a runner's dots are no lines, but are signs of life.
fn pieces(child: &mut Child) -> Receiver<Vec<u8>> {
    let (sender, pieces) = channel();
    if let Some(mut output) = child.stdout.take() {
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(bytes) = output.read(&mut piece) {
                let piece = piece.get(..bytes).filter(|piece| !piece.is_empty());
                if piece.is_none_or(|piece| sender.send(piece.to_vec()).is_err()) {
                    return;
                }
            }
        });
    }
    pieces
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
    fn what_a_failed_test_says_is_kept() {
        let ours =
            "test a ... ok (1 s)\ntest b ... FAILED (2 s)\n    why\n    because\ntest c ... ok (1 s)\n    no word\n";
        let ran = Ran::of(Command::new("printf").arg(ours), |_| ());
        assert_eq!(ran.words, ["test b ... FAILED (2 s)", "    why", "    because"]);
        let of_cargo = "\nfailures:\n\n---- a::b stdout ----\nit panicked\n\nfailures:\n    a::b\n";
        let ran = Ran::of(Command::new("printf").args(["--", of_cargo]), |_| ());
        assert_eq!(ran.words, ["---- a::b stdout ----", "it panicked"]);
        let scenarios =
            "not ok 6.1 x: why (3 s)\nOnce more, what failed:\nnot ok 6.1 x: why (3 s)\n2 passed, 1 failed\n";
        let ran = Ran::of(Command::new("printf").arg(scenarios), |_| ());
        assert_eq!(ran.words, ["Once more, what failed:", "not ok 6.1 x: why (3 s)"]);
        let long = format!("test b ... FAILED\n{}", "    a line\n".repeat(WORDS + 9));
        assert_eq!(Ran::of(Command::new("printf").arg(long), |_| ()).words.len(), WORDS + 1);
    }

    #[test]
    fn a_silent_runner_is_killed_with_all_that_it_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 2 passed, 0 failed; printf waits; sleep 1000 & echo $! >&2; wait"]);
        command.stderr(Stdio::piped());
        let start = Instant::now();
        let ran = Ran::within(&mut command, Duration::from_secs(2), |_| ());
        assert_eq!(ran.failure.as_deref(), Some("it said nothing for 2 s after `waits`"));
        assert_eq!(ran.passed, 2);
        // the inner sleep held the output open
        assert!(start.elapsed() < Duration::from_secs(900));
        let dots = "for i in 1 2 3 4 5 6 7 8; do printf .; sleep 0.5; done; echo; echo 1 passed, 0 failed";
        let ran = Ran::within(Command::new("sh").args(["-c", dots]), Duration::from_secs(3), |_| ());
        assert_eq!((ran.failure, ran.passed), (None, 1));
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
