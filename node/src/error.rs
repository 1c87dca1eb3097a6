// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One-line errors: what failed, why, and what to do about it.
//!
//! Every fallible function of this crate returns this error, and a caller can simply print it. It must never span lines
//! or carry a backtrace: details are in the log file that the remedy names.

use std::fmt;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// `object: cause; remedy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    object: String,
    cause: String,
    remedy: String,
    emulator: bool,
}

impl Error {
    /// An error about `object`. The texts are in lower case; line breaks in them become spaces.
    pub fn new(object: impl fmt::Display, cause: impl fmt::Display, remedy: impl fmt::Display) -> Error {
        Error { object: one_line(object), cause: one_line(cause), remedy: one_line(remedy), emulator: false }
    }

    /// The same error, with the knowledge whether the emulator caused it.
    pub(crate) fn caused_by_emulator(mut self, emulator: bool) -> Error {
        self.emulator = emulator;
        self
    }

    /// Did a known mistake of the emulator cause it ([`crate::stale_breakpoint`])? Then another attempt may succeed.
    pub fn is_emulator_fault(&self) -> bool {
        self.emulator
    }

    /// The object: a file, a node, a package.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// Why it failed.
    pub fn cause(&self) -> &str {
        &self.cause
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.cause)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

impl std::error::Error for Error {}

/// Turns the error of an operation on a file into one that names the file.
pub(crate) trait OnPath<T> {
    fn on(self, path: &std::path::Path) -> Result<T>;
}

impl<T, E: fmt::Display> OnPath<T> for std::result::Result<T, E> {
    fn on(self, path: &std::path::Path) -> Result<T> {
        self.map_err(|e| Error::new(path.display(), e, "check permissions and free space"))
    }
}

fn one_line(text: impl fmt::Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_on_one_line() {
        let e = Error::new("root tree", "apt failed\n  twice", "see the log");
        assert_eq!(e.to_string(), "root tree: apt failed twice; see the log");
    }

    #[test]
    fn a_missing_remedy_leaves_no_separator() {
        assert_eq!(Error::new("qemu", "gone", "").to_string(), "qemu: gone");
    }
}
