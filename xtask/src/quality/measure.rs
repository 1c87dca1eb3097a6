// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One count over all sources: the number, and where it comes from.

/// Path and text.
type Sources = [(String, String)];

/// The only files that may grow without limit are generated ones.
const GENERATED: &str = "abi/src/generated.rs";
/// Where `unsafe` belongs: the machine, the border, the test that calls the border's C end, the measuring loops.
const UNSAFE_HOMES: [&str; 4] = ["kernel/metal/", "abi/", "tests/border/", "noise/src/measure/sampling.rs"];
/// The only C file that knows kernel versions.
const VERSIONS_HOME: &str = "linux/compat.h";

/// `None` for a name that no count has.
pub fn measure(name: &str, sources: &Sources) -> Option<(usize, String)> {
    match name {
        "longest_file" => Some(longest(sources, |text| Some(text.lines().count()))),
        "longest_function" => Some(longest(sources, |text| functions(text).max())),
        "unsafe_elsewhere" => Some(total(sources, |path, line| {
            path.ends_with(".rs") && !UNSAFE_HOMES.iter().any(|home| path.starts_with(home)) && is_unsafe_code(line)
        })),
        "conditionals_in_linux" => Some(total(sources, |path, line| {
            // a header's own guard is not a variant
            path.starts_with("linux/") && path != VERSIONS_HOME && line.starts_with("#if") && !line.ends_with("_H")
        })),
        "left_open" => Some(total(sources, |path, line| !path.starts_with("xtask/") && open_end(line))),
        _ => None,
    }
}

fn longest(sources: &Sources, of: impl Fn(&str) -> Option<usize>) -> (usize, String) {
    let counted = sources.iter().filter(|(path, _)| path != GENERATED);
    let sizes = counted.filter_map(|(path, text)| Some((of(text)?, path.clone())));
    sizes.max().unwrap_or_default()
}

fn total(sources: &Sources, hit: impl Fn(&str, &str) -> bool) -> (usize, String) {
    let mut at = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| path != GENERATED) {
        at.extend(
            text.lines().enumerate().filter(|(_, line)| hit(path, line)).map(|(n, _)| format!("{path}:{}", n + 1)),
        );
    }
    let shown = at.iter().take(5).cloned().collect::<Vec<_>>().join(" ");
    (at.len(), shown)
}

fn is_unsafe_code(line: &str) -> bool {
    // neither comments nor texts
    let code = line.split("//").next().unwrap_or_default().split('"').next().unwrap_or_default();
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe(", "unsafe trait"]
        .iter()
        .any(|word| code.contains(word))
}

fn open_end(line: &str) -> bool {
    ["TODO", "FIXME", "XXX", "HACK", "todo!(", "unimplemented!("].iter().any(|word| line.contains(word))
}

/// The lengths of functions: from a line that opens one to the brace that closes it at the same indentation.
fn functions(text: &str) -> impl Iterator<Item = usize> {
    let lines: Vec<&str> = text.lines().collect();
    let mut lengths = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if !opens_function(&lines, start) {
            continue;
        }
        let closing = |l: &&str| l.trim_end() == format!("{}}}", &line[..indent]);
        if let Some(length) = lines.get(start..).and_then(|rest| rest.iter().position(closing)) {
            lengths.push(length + 1);
        }
    }
    lengths.into_iter()
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

    fn of(name: &str, path: &str, text: &str) -> usize {
        measure(name, &[(path.to_owned(), text.to_owned())]).expect("a known count").0
    }

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let rust = "fn short() {}\npub fn two(\n    a: u8,\n) {\n    if a {\n    }\n}\n";
        assert_eq!(of("longest_function", "a.rs", rust), 6);
        assert_eq!(of("longest_function", "a.c", "int f(void)\n{\n\treturn 1;\n}\n"), 3);
    }

    #[test]
    fn unsafe_is_free_only_at_home() {
        assert_eq!(of("unsafe_elsewhere", "node/src/a.rs", "let x = unsafe { 1 };\n#![deny(unsafe_code)]\n"), 1);
        assert_eq!(of("unsafe_elsewhere", "kernel/metal/src/a.rs", "unsafe { 1 }\n"), 0);
    }

    #[test]
    fn versions_live_in_one_file() {
        assert_eq!(of("conditionals_in_linux", "linux/a.c", "#ifdef X\n#endif\n"), 1);
        assert_eq!(of("conditionals_in_linux", "linux/a.h", "#ifndef TACET_A_H\n"), 0);
        assert_eq!(of("conditionals_in_linux", "linux/compat.h", "#if X\n"), 0);
    }
}
