// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An error in one line: the object, what was wrong, what would be right.

use std::fmt;
use std::io;

use tacet_words::status;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    line: String,
    status: u8,
}

impl Error {
    /// `remedy` may be empty.
    pub fn new(object: impl fmt::Display, cause: impl fmt::Display, remedy: &str) -> Error {
        let rest = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        let line = format!("{object}: {cause}{rest}");
        Error { line: line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(), status: status::USAGE }
    }

    pub fn io(object: impl fmt::Display, error: &io::Error, remedy: &str) -> Error {
        Error::new(object, reason(error), remedy).with_status(status::MACHINE)
    }

    /// The same error with another exit status.
    pub fn with_status(self, status: u8) -> Error {
        Error { status, ..self }
    }

    pub fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl std::error::Error for Error {}

/// `permission denied` rather than `Permission denied (os error 13)`.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let acronym = text.chars().nth(1).is_some_and(char::is_uppercase);
    if acronym {
        text.to_owned()
    } else {
        text.chars().take(1).flat_map(char::to_lowercase).chain(text.chars().skip(1)).collect()
    }
}
