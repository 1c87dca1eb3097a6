// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names and numbers of signals, as `kill` reads them.

use nix::sys::signal::Signal;
use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Result};

/// Real-time signals have numbers only.
const LAST: i32 = 64;

/// `TERM`, `SIGTERM` or `15`.
pub fn parse(text: &str) -> Result<i32> {
    let fail = || {
        Error::new(format!("--signal {text}"), "there is no such signal", "use a name like TERM, or 1 to 64")
            .with_status(USAGE)
    };
    if let Ok(number) = text.parse::<i32>() {
        return if (1..=LAST).contains(&number) { Ok(number) } else { Err(fail()) };
    }
    let upper = text.to_ascii_uppercase();
    let name = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    name.parse::<Signal>().map(|signal| signal as i32).map_err(|_| fail())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for text in ["TERM", "SIGTERM", "term", "15"] {
            assert_eq!(parse(text).unwrap(), 15);
        }
        assert_eq!(parse("34").unwrap(), 34);
        for text in ["0", "65", "-1", "NOTHING", ""] {
            assert!(parse(text).unwrap_err().to_string().contains("no such signal"), "{text}");
        }
    }
}
