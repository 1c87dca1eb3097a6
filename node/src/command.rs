// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command for a node, and its result.

use std::ffi::OsStr;
use std::time::Duration;

/// A program to run as root inside a node. Build it with [`Command::new`] or [`Command::shell`].
#[derive(Debug, Clone)]
pub struct Command {
    pub(crate) argv: Vec<String>,
    pub(crate) directory: String,
    pub(crate) environment: Vec<String>,
    pub(crate) input: Vec<u8>,
    pub(crate) timeout: Option<Duration>,
}

impl Command {
    /// A program and its arguments, found along the usual `PATH`.
    pub fn new<S: AsRef<OsStr>>(argv: impl IntoIterator<Item = S>) -> Command {
        Command {
            argv: argv.into_iter().map(|s| s.as_ref().to_string_lossy().into_owned()).collect(),
            directory: "/".to_owned(),
            environment: [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=/root",
                "LANG=C.UTF-8",
            ]
            .map(str::to_owned)
            .to_vec(),
            input: Vec::new(),
            timeout: None,
        }
    }

    /// A script for bash.
    pub fn shell(script: &str) -> Command {
        Command::new(["bash", "-c", script])
    }

    /// Sets the working directory; the default is `/`.
    pub fn directory(mut self, path: impl AsRef<std::path::Path>) -> Command {
        self.directory = path.as_ref().display().to_string();
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Command {
        self.environment.push(format!("{name}={value}"));
        self
    }

    /// Sets its standard input; the default is empty.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Command {
        self.input = bytes.into();
        self
    }

    /// Kills it after this time, instead of the node's `command_timeout`.
    pub fn timeout(mut self, limit: Duration) -> Command {
        self.timeout = Some(limit);
        self
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exited with this status.
    Code(u8),
    /// This signal killed it.
    Signal(u8),
}

impl Status {
    pub(crate) fn from_wait(word: u32) -> Status {
        match word & 0x7f {
            0 => Status::Code((word >> 8) as u8),
            signal => Status::Signal(signal as u8),
        }
    }

    /// Did it exit with status 0?
    pub fn success(self) -> bool {
        self == Status::Code(0)
    }

    /// The status as a shell reports it: 128 + signal for a killed program.
    pub fn shell_code(self) -> u8 {
        match self {
            Status::Code(code) => code,
            Status::Signal(signal) => 128 + signal,
        }
    }
}

/// The result of a finished command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub status: Status,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn error_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_words_become_codes_and_signals() {
        assert_eq!(Status::from_wait(0x0700), Status::Code(7));
        assert_eq!(Status::from_wait(9), Status::Signal(9));
        // with a core dump
        assert_eq!(Status::from_wait(0x8b), Status::Signal(11));
        assert_eq!(Status::Signal(9).shell_code(), 137);
    }
}
