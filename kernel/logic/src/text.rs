// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Text of a bounded length, for log records and last words.
//!
//! Used where nothing may be allocated and nothing may fail: what does not fit
//! is cut off, at a character boundary.

use core::fmt;

/// Up to `N` bytes of UTF-8.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    /// The formatted arguments, cut to `N` bytes.
    pub fn format(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Self { bytes: [0; N], length: 0 };
        // A full text reports an error to stop the formatting: that is the cut.
        let _ = fmt::write(&mut text, arguments);
        text
    }

    /// The bytes in use.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        for character in piece.chars() {
            let end = self.length + character.len_utf8();
            let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
            character.encode_utf8(room);
            self.length = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_whole() {
        assert_eq!(Text::<16>::format(format_args!("cpu {}", 3)).as_bytes(), b"cpu 3");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(Text::<4>::format(format_args!("{}{}", "abc", "def")).as_bytes(), b"abcd");
    }

    #[test]
    fn the_cut_never_splits_a_character() {
        assert_eq!(Text::<4>::format(format_args!("abcé")).as_bytes(), b"abc");
    }
}
