// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns what libraries say into words for a person.
//!
//! Called for every error before it is printed. It must never make two lines of one.

/// What std and clap say, and what a person should read.
const PLAIN: [(&str, &str); 8] = [
    ("invalid digit found in string", "it is not a whole number"),
    ("cannot parse integer from empty string", "it is empty: write a number"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid float literal", "it is not a number"),
    ("cannot parse float from empty string", "it is empty: write a number"),
    ("invalid socket address syntax", "write it like 10.1.0.1:4070"),
    ("invalid IPv4 address syntax", "write it like 10.1.0.1"),
];

/// One line without control characters, numbers of errors and names of types.
pub fn line(text: &str) -> String {
    let mut line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    while let Some(begin) = line.find(" (os error ") {
        let Some(length) = line[begin..].find(')') else { break };
        line.replace_range(begin..=begin + length, "");
    }
    for (theirs, ours) in PLAIN {
        line = line.replace(theirs, ours);
    }
    range(&line).unwrap_or(line)
}

/// `x is not in 1..=99` as `it must be 1 to 99`.
fn range(line: &str) -> Option<String> {
    let (before, bounds) = line.split_once(" is not in ")?;
    let (bounds, rest) = bounds.split_once(' ').unwrap_or((bounds, ""));
    let (first, last) = bounds.split_once("..")?;
    let words = match (last.strip_prefix('='), last.parse::<i128>()) {
        (None, Ok(end)) => format!("it must be {first} to {}", end - 1),
        (Some(last), _) if last.len() < 19 => format!("it must be {first} to {last}"),
        _ => format!("it must be at least {first}"),
    };
    let object = before.rsplit_once(": ").map_or(String::new(), |(object, _)| format!("{object}: "));
    Some(format!("{object}{words} {rest}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_no_numbers_of_errors() {
        for (theirs, ours) in [
            ("a: No such file or directory (os error 2): name one\n", "a: No such file or directory: name one"),
            ("--cpu: invalid digit found in string", "--cpu: it is not a whole number"),
            ("--runs: 0 is not in 1..=65535", "--runs: it must be 1 to 65535"),
            ("0 is not in 1..65536", "it must be 1 to 65535"),
            ("--pid: 0 is not in 1..=9223372036854775807", "--pid: it must be at least 1"),
            ("two\nlines", "two lines"),
        ] {
            assert_eq!(line(theirs), ours);
        }
    }
}
