// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reports of the module that a record of its log has no room for: `tacet log` would show them cut.

/// What a record holds without its zero: `TACET_LOG_TEXT_BYTES` - 1.
const ROOM_BYTES: usize = 103;
/// The longest that `%s` becomes: a thread's name has 15 bytes. Longer words are an argument's own affair.
const NAME_BYTES: usize = 15;
/// The longest that any other conversion becomes: a process's number has seven digits.
const NUMBER_BYTES: usize = 7;

/// Line and length of each report of a C file that is too long with the longest name and number.
pub fn cut(text: &str) -> Vec<(usize, usize)> {
    let calls = text.match_indices("tacet_report(").map(|(at, call)| (at, &text[at + call.len()..]));
    let lengths = calls.filter_map(|(at, rest)| {
        let length = longest(&format_of(rest)?);
        (length > ROOM_BYTES).then(|| (text[..at].lines().count().max(1), length))
    });
    lengths.collect()
}

/// The call's second argument, if it is made of literals.
fn format_of(arguments: &str) -> Option<String> {
    let mut rest = arguments.split_once(',')?.1.trim_start();
    let mut format = String::new();
    while let Some(literal) = rest.strip_prefix('"') {
        let end = literal.match_indices('"').find(|(at, _)| !literal[..*at].ends_with('\\'))?.0;
        format.push_str(&literal[..end]);
        rest = literal[end + 1..].trim_start();
    }
    (!format.is_empty()).then_some(format)
}

fn longest(format: &str) -> usize {
    let mut pieces = format.split('%');
    let first = pieces.next().map_or(0, str::len);
    let rest = pieces.map(|piece| {
        let letter = piece.find(|c: char| c.is_ascii_alphabetic() && !"lhz".contains(c)).unwrap_or(0);
        let value = if piece[letter..].starts_with('s') { NAME_BYTES } else { NUMBER_BYTES };
        value + piece.len() - (letter + 1).min(piece.len())
    });
    first + rest.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_as_long_as_they_can_be() {
        assert_eq!(longest("process %d (%s): gone"), "process 4194304 (123456789012345): gone".len());
        assert_eq!(longest("%lu blocks, %-5x"), "1234567 blocks, 1234567".len());
    }

    #[test]
    fn a_report_that_is_cut_is_found_with_its_line() {
        let fits = format!("tacet_report(TACET_LOG_INFO, \"{}%s\", name);\n", "x".repeat(88));
        let over = format!("\ttacet_report(TACET_LOG_WARNING,\n\t\t\"{}\"\n\t\t\"%d\", 1);\n", "x".repeat(97));
        assert_eq!(cut(&fits), []);
        assert_eq!(cut(&format!("{fits}{over}")), [(2, 104)]);
        assert_eq!(cut("tacet_report(level, format, ...)"), []);
    }
}
