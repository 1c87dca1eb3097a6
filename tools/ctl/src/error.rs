// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One error type for the library and the command: object, cause and remedy, as one line.
//!
//! Used everywhere. It must never print: the command does that.

use std::fmt;

use tacet_words::status::{MACHINE, NO};

pub type Result<T> = std::result::Result<T, Error>;

/// An error. When a function returns it, the machine is unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    object: String,
    cause: String,
    remedy: String,
    status: u8,
}

impl Error {
    /// `remedy` is empty if there is none.
    pub fn new(object: impl fmt::Display, cause: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Error { object: one_line(object), cause: one_line(cause), remedy: one_line(remedy), status: NO }
    }

    /// The words of `tacet_words::values`, `object: cause; remedy`, about a text of a person.
    pub(crate) fn said(line: String) -> Self {
        let (object, rest) = line.split_once(": ").unwrap_or((&line, ""));
        let (cause, remedy) = rest.split_once("; ").unwrap_or((rest, ""));
        Error::new(object, cause, remedy)
    }

    /// The same error with another exit status.
    pub fn with_status(self, status: u8) -> Self {
        Error { status, ..self }
    }

    pub fn status(&self) -> u8 {
        self.status
    }

    /// The machine refused it. The cause is the text of `io`, without the number that std adds.
    pub fn io(object: impl fmt::Display, io: &std::io::Error, remedy: impl fmt::Display) -> Self {
        Error::new(object, io_text(io), remedy).with_status(MACHINE)
    }
}

/// "permission denied" rather than "Permission denied (os error 13)".
pub(crate) fn io_text(io: &std::io::Error) -> String {
    let text = io.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    lower_first(text)
}

pub(crate) fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), text.chars().nth(1)) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => text.to_string(),
    }
}

/// Replaces control characters: they would break the one line, or the terminal.
fn one_line(text: impl fmt::Display) -> String {
    let text = text.to_string();
    let clean: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.cause)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_line_with_object_cause_remedy() {
        let error = Error::new("cpu 9", "it is\nabsent", "see `lscpu`");
        assert_eq!(error.to_string(), "cpu 9: it is absent; see `lscpu`");
        assert_eq!(error.status(), 1);
        assert_eq!(error.with_status(126).status(), 126);
    }

    #[test]
    fn leaves_out_an_empty_remedy() {
        assert_eq!(Error::new("a", "b", "").to_string(), "a: b");
    }

    #[test]
    fn io_errors_lose_their_number() {
        let io = std::io::Error::from_raw_os_error(13);
        assert_eq!(Error::io("/dev/tacet", &io, "").to_string(), "/dev/tacet: permission denied");
        assert_eq!(lower_first("NUMA node"), "NUMA node");
    }
}
