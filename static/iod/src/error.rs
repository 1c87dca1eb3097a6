// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One error type: object, cause and remedy, as one line.
//!
//! Everything in this crate returns it, and the commands print it. It must never print by itself.

use std::fmt::Display;

pub type Result<T> = std::result::Result<T, Error>;

/// `object: cause; remedy`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {cause}; {remedy}")]
pub struct Error {
    object: String,
    cause: String,
    remedy: String,
}

impl Error {
    pub fn new(object: impl Display, cause: impl Display, remedy: impl Display) -> Self {
        Error { object: one_line(object), cause: one_line(cause), remedy: one_line(remedy) }
    }
}

/// Control characters would break the line, or the terminal.
pub(crate) fn one_line(text: impl Display) -> String {
    text.to_string().trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_line() {
        let error = Error::new("job 7", "it has\nended", "see `tacet static status`");
        assert_eq!(error.to_string(), "job 7: it has ended; see `tacet static status`");
    }
}
