// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Amounts of memory as people write them: `1G`, `512M`, `2MiB`.
//!
//! Called for flags, the configuration file and tables. Units are powers of 1024. Parsing must never round.

use crate::{Error, Result};

/// The block size of a partition's memory.
pub(crate) const LARGE_PAGE: u64 = 2 << 20;

const UNITS: [(&str, u32); 5] = [("", 0), ("K", 10), ("M", 20), ("G", 30), ("T", 40)];

pub fn parse_bytes(text: &str) -> Result<u64> {
    tacet_words::values::size(text).map_err(Error::said)
}

/// The largest unit in which the number is whole: `1 GiB`, `1536 MiB`.
pub fn format_bytes(bytes: u64) -> String {
    let fitting = UNITS.iter().rev().find(|(_, shift)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift));
    match fitting {
        Some((name, shift)) if *shift > 0 => format!("{} {name}iB", bytes >> shift),
        _ => format!("{bytes} B"),
    }
}

/// The next multiple of 2 MiB, or the largest one that fits in 64 bits.
pub fn round_up_to_large_page(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(LARGE_PAGE).unwrap_or(u64::MAX - u64::MAX % LARGE_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vocabulary has its own tests; here its errors pass.
    #[test]
    fn a_size_that_is_none_is_one_line() {
        assert_eq!(parse_bytes(" 3T "), Ok(3 << 40));
        let error = parse_bytes("1.5G").expect_err("not whole").to_string();
        assert!(error.starts_with("size `") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn formats_exactly() {
        assert_eq!(format_bytes(0), "0 B");
        assert_eq!(format_bytes(1 << 30), "1 GiB");
        assert_eq!(format_bytes(1536 << 20), "1536 MiB");
        assert_eq!(format_bytes((1 << 20) + 1), "1048577 B");
    }

    #[test]
    fn rounds_up_only() {
        assert_eq!(round_up_to_large_page(0), 0);
        assert_eq!(round_up_to_large_page(1), LARGE_PAGE);
        assert_eq!(round_up_to_large_page(LARGE_PAGE), LARGE_PAGE);
        assert_eq!(round_up_to_large_page(u64::MAX) % LARGE_PAGE, 0);
    }
}
