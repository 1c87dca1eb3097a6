// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One case: a program whose output and status are compared, or a test of its own.

use crate::nodes::Nodes;
use crate::process::{self, Ended};
use crate::{Result, real};

/// A case with its name.
pub struct Case {
    pub name: String,
    pub work: Work,
    /// `make test-more` runs it, not `make test`: it takes long.
    pub in_more: bool,
}

type Test = Box<dyn Fn(&Nodes) -> Result<()> + Send>;

pub enum Work {
    /// The same on Linux and on a node.
    Same(Same),
    /// A test that uses the common nodes.
    Shared(Test),
    /// A test with nodes of its own, which it may break.
    Own(Box<dyn Fn() -> Result<()> + Send>),
}

/// A program, its surroundings, and what it must do.
#[derive(Clone, Default)]
pub struct Same {
    pub words: Vec<String>,
    pub input: Vec<u8>,
    /// Of `tacet static run`.
    pub flags: Vec<String>,
    /// Further variables that the program sees.
    pub environment: Vec<(String, String)>,
    /// Runs in a directory of its own, which is empty.
    pub apart: bool,
    /// Expected instead of what it does on Linux: output and status.
    pub expected: Option<(Vec<u8>, i32)>,
    /// It must end with status 0 on Linux: else the case fails.
    pub succeeds: bool,
}

impl Case {
    pub fn same(name: impl Into<String>, words: &[&str]) -> Case {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Case { name: name.into(), work: Work::Same(Same { words, ..Same::default() }), in_more: false }
    }

    pub fn shared(name: impl Into<String>, test: impl Fn(&Nodes) -> Result<()> + Send + 'static) -> Case {
        Case { name: name.into(), work: Work::Shared(Box::new(test)), in_more: false }
    }

    pub fn own(name: &str, test: impl Fn() -> Result<()> + Send + 'static) -> Case {
        Case { name: name.to_owned(), work: Work::Own(Box::new(test)), in_more: false }
    }

    /// Not in `make test`.
    pub fn more(mut self) -> Case {
        self.in_more = true;
        self
    }

    /// With this input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Case {
        if let Work::Same(same) = &mut self.work {
            same.input = bytes.into();
        }
        self
    }

    /// With these flags of `tacet static run`.
    pub fn flags(mut self, flags: &[&str]) -> Case {
        if let Work::Same(same) = &mut self.work {
            same.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        }
        self
    }

    /// It says by its status whether all was good: the same failure on both sides is one.
    pub fn succeeds(mut self) -> Case {
        if let Work::Same(same) = &mut self.work {
            same.succeeds = true;
        }
        self
    }

    /// With these variables.
    pub fn environment(mut self, variables: &[(&str, &str)]) -> Case {
        if let Work::Same(same) = &mut self.work {
            same.environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        }
        self
    }

    /// In an empty directory.
    pub fn apart(mut self) -> Case {
        if let Work::Same(same) = &mut self.work {
            same.apart = true;
        }
        self
    }

    /// With this result, whatever it is on Linux.
    pub fn expect(mut self, output: impl Into<Vec<u8>>, status: i32) -> Case {
        if let Work::Same(same) = &mut self.work {
            same.expected = Some((output.into(), status));
        }
        self
    }
}

impl Same {
    /// Runs it, here unless its result is known, and on a node.
    pub fn check(&self, nodes: &Nodes) -> Result<()> {
        let expected = match &self.expected {
            Some(expected) => expected.clone(),
            None => {
                let Some((program, arguments)) = self.words.split_first() else { return Ok(()) };
                let mut native = std::process::Command::new(program);
                let ended = self.run(native.args(arguments))?;
                if ended.text().contains("check failed") {
                    return Err(format!("on Linux: {}", ended.text()));
                }
                if self.succeeds && ended.status != 0 {
                    let why = ended.error_text();
                    let last = why.lines().last().unwrap_or_default();
                    return Err(format!("status {} on Linux (see `cargo xtask setup`): {last}", ended.status));
                }
                (ended.stdout, ended.status)
            }
        };
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        Same::compare(&expected, &self.run(&mut nodes.run(&flags, &self.words))?)
    }

    /// Runs the command in the program's surroundings.
    pub fn run(&self, command: &mut std::process::Command) -> Result<Ended> {
        surroundings(command).envs(self.environment.iter().map(|(name, value)| (name, value)));
        let directory = self.apart.then(real::scratch).transpose()?;
        if let Some(directory) = &directory {
            command.current_dir(directory.path());
        }
        process::run(command, &self.input)
    }

    fn compare((output, status): &(Vec<u8>, i32), found: &Ended) -> Result<()> {
        if (output, *status) == (&found.stdout, found.status) {
            return Ok(());
        }
        let expected = String::from_utf8_lossy(output);
        let (text, error) = (found.text(), found.error_text());
        Err(format!(
            "status {} instead of {status}\n{}    standard error: {}",
            found.status,
            difference(&expected, &text),
            error.trim_end().replace('\n', "\n                    ")
        ))
    }
}

/// The first lines that differ.
fn difference(expected: &str, found: &str) -> String {
    let mut pairs =
        expected.lines().map(Some).chain(std::iter::repeat(None)).zip(found.lines().map(Some).chain([None]));
    match pairs.find(|(expected, found)| expected != found) {
        Some((expected, found)) => {
            format!("    expected: {}\n    found:    {}\n", expected.unwrap_or("(end)"), found.unwrap_or("(end)"))
        }
        None => String::new(),
    }
}

/// Variables that the program may see: the same on both sides.
fn surroundings(command: &mut std::process::Command) -> &mut std::process::Command {
    command.env("TACET_TEST_WORDS", "several words").env("LC_ALL", "C.UTF-8").env("TZ", "UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let ended = |text: &str, status| Ended { stdout: text.into(), stderr: b"why".to_vec(), status };
        assert!(Same::compare(&(b"a\nb\n".to_vec(), 0), &ended("a\nb\n", 0)).is_ok());
        let error = Same::compare(&(b"a\nb\n".to_vec(), 0), &ended("a\nc\n", 3)).unwrap_err();
        assert_eq!(error, "status 3 instead of 0\n    expected: b\n    found:    c\n    standard error: why");
        let error = Same::compare(&(b"a\n".to_vec(), 0), &ended("", 0)).unwrap_err();
        assert!(error.contains("found:    (end)"), "{error}");
    }
}
