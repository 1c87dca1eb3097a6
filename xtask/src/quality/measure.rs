// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One count over all sources: the number, and everything that it counted.

use std::collections::BTreeMap;

use super::count::{Count, Sources};
use super::functions::functions;
use super::words::x86_word;
use super::{calls, layers, modules, reports};

/// The only files that may grow without limit are generated ones.
const GENERATED: &str = "abi/src/generated.rs";
/// Where `unsafe` belongs: the processor, the Rust end of the border and the test that calls its C end, the measuring
/// loops, and the cells in which loom looks for data races.
const UNSAFE_HOMES: [&str; 7] = [
    "kernel/arch/",
    "kernel/host/linux/",
    "abi/",
    "tests/border/",
    "noise/src/measure/sampling.rs",
    "kernel/logic/tests/handshakes/",
    "static/iod/src/proxy/raw.rs",
];
/// The only C file that knows kernel versions.
const VERSIONS_HOME: &str = "linux/compat.h";
/// The only part of the co-kernel that knows the border.
const BORDERS_HOME: &str = "kernel/host/linux/";
/// Layers for every processor. Their tests in `tests/` name those that they prove it for.
const ANY_PROCESSOR: [&str; 2] = ["kernel/logic/src/", "kernel/core/src/"];
/// Crates whose files are floors: none of them may be in a circle.
const FLOORS: [&str; 2] = ["kernel/core", "kernel/host/static"];
/// How many of the longest files and functions are listed.
const LONGEST: usize = 20;

/// `None` for a name that no count has.
pub fn measure(name: &str, sources: &Sources) -> Option<Count> {
    match name {
        "longest_file" => Some(longest(sources, |text| vec![(1, text.lines().count())])),
        "longest_function" => Some(longest(sources, functions)),
        "files_in_circles" => Some(calls::files_in_circles(sources)),
        "modules_in_circles" => Some(modules::in_circles(sources, &[])),
        "floors_in_circles" => Some(modules::in_circles(sources, &FLOORS)),
        "calls_up_in_linux" => Some(calls::calls_up(sources)),
        "layers" => Some(layers::layers(sources)),
        "tacet_abi_outside_host" => Some(lines(sources, |path, line| {
            let here = path.starts_with("kernel/") && path.ends_with(".rs") && !path.starts_with(BORDERS_HOME);
            here && line.contains("tacet_abi")
        })),
        "x86_words" => Some(lines(sources, |path, line| {
            ANY_PROCESSOR.iter().any(|layer| path.starts_with(layer)) && x86_word(line).is_some()
        })),
        "unsafe_elsewhere" => Some(lines(sources, |path, line| {
            path.ends_with(".rs") && !UNSAFE_HOMES.iter().any(|home| path.starts_with(home)) && is_unsafe_code(line)
        })),
        "conditionals_in_linux" => Some(lines(sources, |path, line| {
            // a header's own guard is not a variant
            path.starts_with("linux/") && path != VERSIONS_HOME && line.starts_with("#if") && !line.ends_with("_H")
        })),
        "reports_cut" => Some(reports_cut(sources)),
        "device_folder_lines" => Some(device_folders(sources)),
        "left_open" => Some(lines(sources, |path, line| !path.starts_with("xtask/") && open_end(line))),
        _ => None,
    }
}

/// The longest of what `of` finds in each text: the line that it begins at, and its length.
fn longest(sources: &Sources, of: impl Fn(&str) -> Vec<(usize, usize)>) -> Count {
    let counted = sources.iter().filter(|(path, _)| path != GENERATED);
    let found = counted.flat_map(|(path, text)| of(text).into_iter().map(move |(line, length)| (length, path, line)));
    let mut found: Vec<_> = found.collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    let count = found.first().map_or(0, |(length, ..)| *length);
    let offenders = found.iter().take(LONGEST).map(|(length, path, line)| format!("{path}:{line} ({length} lines)"));
    Count { count, offenders: offenders.collect() }
}

fn reports_cut(sources: &Sources) -> Count {
    let files = sources.iter().filter(|(path, _)| path.ends_with(".c"));
    let cut = files.flat_map(|(path, text)| reports::cut(text).into_iter().map(move |found| (path, found)));
    let offenders: Vec<_> = cut.map(|(path, (line, length))| format!("{path}:{line} ({length} bytes)")).collect();
    Count { count: offenders.len(), offenders }
}

/// The largest folder of a device with a fast path: those below pico/ but for the framework's own two.
fn device_folders(sources: &Sources) -> Count {
    let mut folders = BTreeMap::<&str, usize>::new();
    for (path, text) in sources {
        let folder = path.strip_prefix("pico/").and_then(|rest| rest.split_once('/')).map(|(folder, _)| folder);
        if let Some(folder) = folder.filter(|folder| !["core", "linux"].contains(folder)) {
            *folders.entry(folder).or_default() += text.lines().count();
        }
    }
    let count = folders.values().max().copied().unwrap_or(0);
    let offenders = folders.iter().map(|(folder, lines)| format!("pico/{folder} ({lines} lines)"));
    Count { count, offenders: offenders.collect() }
}

fn lines(sources: &Sources, hit: impl Fn(&str, &str) -> bool) -> Count {
    let mut offenders = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| path != GENERATED) {
        let hits = text.lines().enumerate().filter(|(_, line)| hit(path, line));
        offenders.extend(hits.map(|(n, line)| format!("{path}:{}: {}", n + 1, line.trim())));
    }
    Count { count: offenders.len(), offenders }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, path: &str, text: &str) -> usize {
        measure(name, &[(path.to_owned(), text.to_owned())]).expect("a known count").count
    }

    #[test]
    fn the_longest_is_named_first() {
        let sources = [("a.c".to_owned(), "1\n2\n".to_owned()), ("b.c".to_owned(), "1\n2\n3\n".to_owned())];
        let count = measure("longest_file", &sources).expect("a known count");
        assert_eq!((count.count, count.offenders[0].as_str()), (3, "b.c:1 (3 lines)"));
        assert_eq!(of("longest_function", "a.c", "int f(void)\n{\n\treturn 1;\n}\n"), 3);
    }

    #[test]
    fn a_devices_folder_is_counted_whole_and_the_framework_is_not() {
        let files =
            ["pico/nvme/linux/a.c", "pico/nvme/core/src/b.rs", "pico/linux/c.c", "pico/core/d.rs", "pico/e/f.c"];
        let sources = files.map(|path| (path.to_owned(), "1\n2\n".to_owned()));
        let count = measure("device_folder_lines", &sources).expect("a known count");
        assert_eq!((count.count, count.offenders), (4, vec!["pico/e (2 lines)".into(), "pico/nvme (4 lines)".into()]));
    }

    #[test]
    fn unsafe_is_free_only_at_home() {
        assert_eq!(of("unsafe_elsewhere", "node/src/a.rs", "let x = unsafe { 1 };\n#![deny(unsafe_code)]\n"), 1);
        assert_eq!(of("unsafe_elsewhere", "kernel/core/src/a.rs", "unsafe { 1 }\n"), 1);
        assert_eq!(of("unsafe_elsewhere", "kernel/arch/src/a.rs", "unsafe { 1 }\n"), 0);
        assert_eq!(of("unsafe_elsewhere", "kernel/host/linux/src/a.rs", "unsafe { 1 }\n"), 0);
    }

    #[test]
    fn versions_live_in_one_file() {
        assert_eq!(of("conditionals_in_linux", "linux/a.c", "#ifdef X\n#endif\n"), 1);
        assert_eq!(of("conditionals_in_linux", "linux/a.h", "#ifndef TACET_A_H\n"), 0);
        assert_eq!(of("conditionals_in_linux", "linux/compat.h", "#if X\n"), 0);
    }

    #[test]
    fn the_border_is_known_in_one_place() {
        assert_eq!(of("tacet_abi_outside_host", "kernel/core/src/a.rs", "use tacet_abi::Cpu;\nuse other;\n"), 1);
        assert_eq!(of("tacet_abi_outside_host", "kernel/host/linux/src/a.rs", "use tacet_abi::Cpu;\n"), 0);
        assert_eq!(of("tacet_abi_outside_host", "tools/ctl/src/a.rs", "use tacet_abi::Cpu;\n"), 0);
    }

    #[test]
    fn processors_are_named_only_in_their_layer() {
        assert_eq!(of("x86_words", "kernel/logic/src/a.rs", "// as CR3 has it\n// nothing\n"), 1);
        assert_eq!(of("x86_words", "kernel/core/src/a.rs", "fn read_tsc() {}\n"), 1);
        assert_eq!(of("x86_words", "kernel/logic/tests/paging/x86_64.rs", "// x86-64\n"), 0);
        assert_eq!(of("x86_words", "kernel/arch/x86_64/src/a.rs", "fn read_tsc() {}\n"), 0);
    }

    #[test]
    fn an_unknown_count_is_none() {
        assert_eq!(measure("width", &[]), None);
    }
}
