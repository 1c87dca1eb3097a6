// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lengths of functions, in Rust and C as this tree formats them.

/// Each function's first line, from 1, and its length: from the line that opens it to the brace that closes it at the
/// same indentation.
pub fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if !opens_function(&lines, start) {
            continue;
        }
        let closing = |l: &&str| l.trim_end() == format!("{}}}", &line[..indent]);
        if let Some(length) = lines.get(start..).and_then(|rest| rest.iter().position(closing)) {
            found.push((start + 1, length + 1));
        }
    }
    found
}

/// A Rust `fn` whose body is not on its line, or the lone brace under a C function's head.
fn opens_function(lines: &[&str], at: usize) -> bool {
    let line = lines.get(at).copied().unwrap_or_default();
    let words = line
        .trim_start()
        .trim_start_matches("pub ")
        .trim_start_matches("pub(crate) ")
        .trim_start_matches("pub(super) ");
    let rust = ["fn ", "const fn ", "unsafe fn ", "extern \"C\" fn ", "unsafe extern \"C\" fn "]
        .iter()
        .any(|w| words.starts_with(w));
    let above = at.checked_sub(1).and_then(|above| lines.get(above)).copied().unwrap_or_default();
    (rust && !line.ends_with(['}', ';'])) || (line == "{" && above.ends_with(')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let rust = "fn short() {}\npub fn two(\n    a: u8,\n) {\n    if a {\n    }\n}\n";
        assert_eq!(functions(rust), [(2, 6)]);
        assert_eq!(functions("int f(void)\n{\n\treturn 1;\n}\n"), [(2, 3)]);
    }
}
