// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls between the module's files, in `linux/` and `pico/`: which go up, and which files are in a circle.
//!
//! One file uses another if it mentions a function that the other defines, to call it or to hand its address on. A call
//! through a table of operations that the upper file fills is no mention, and so none of these edges.

use std::collections::BTreeMap;

use super::c;
use super::circles::{Edges, circles, described};
use super::count::{Count, Sources};

/// The order of calls, from the top: each may call itself and what is to the right of it.
const ORDER: [&str; 11] =
    ["main.c", "doors", "partition", "delegate", "view", "process", "memory", "pico", "border", "arch", "base"];
const MODULE: &str = "linux/";
/// Fast paths of devices, and each kind of devices: one folder in the order.
const PICO: [&str; 2] = ["pico/linux/", "pico/nvme/linux/"];
/// Kernel versions, and nothing of ours: everybody includes it.
const NOT_COUNTED: &str = "linux/compat.h";

pub fn files_in_circles(sources: &Sources) -> Count {
    circles(&edges(sources))
}

/// Functions called upwards, each counted once for every file that calls it.
pub fn calls_up(sources: &Sources) -> Count {
    let edges = edges(sources);
    let up: Vec<_> = edges.iter().filter(|((from, to), _)| goes_up(from, to)).collect();
    let count = up.iter().map(|(_, functions)| functions.len()).sum();
    Count { count, offenders: up.into_iter().map(described).collect() }
}

fn goes_up(from: &str, to: &str) -> bool {
    match (level(from), level(to)) {
        (Some(from), Some(to)) => from > to,
        // a folder without a place in the order
        _ => true,
    }
}

/// 0 at the top. A header outside the folders is for all of them and may call none.
fn level(path: &str) -> Option<usize> {
    if PICO.iter().any(|home| path.starts_with(home)) {
        return ORDER.iter().position(|name| *name == "pico");
    }
    let (first, nested) = match path.strip_prefix(MODULE)?.split_once('/') {
        Some((folder, _)) => (folder, true),
        None => (path.strip_prefix(MODULE)?, false),
    };
    let header = (!nested && first.ends_with(".h")).then_some(ORDER.len());
    ORDER.iter().position(|name| *name == first).or(header)
}

fn edges(sources: &Sources) -> Edges<'_> {
    let home = |path: &str| path.starts_with(MODULE) || PICO.iter().any(|home| path.starts_with(home));
    let module = |path: &str| home(path) && path != NOT_COUNTED && path.ends_with(['c', 'h']);
    let files: Vec<(&str, c::File)> = sources
        .iter()
        .filter(|(path, _)| module(path))
        .map(|(path, text)| (path.as_str(), c::read(path, text)))
        .collect();
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, file) in &files {
        for name in &file.offers {
            homes.entry(name).or_default().push(path);
        }
    }
    let mut edges = Edges::new();
    for (path, file) in &files {
        for name in file.mentions.difference(&file.own) {
            for home in homes.get(name.as_str()).into_iter().flatten() {
                edges.entry((path, home)).or_default().insert(name.clone());
            }
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_circle_counts_its_files_and_names_its_edges() {
        let files = sources(&[
            ("linux/doors/a.c", "void tacet_a(void)\n{\n\ttacet_b();\n}\n"),
            ("linux/process/b.c", "void tacet_b(void)\n{\n\ttacet_c();\n}\n"),
            ("linux/border/c.c", "void tacet_c(void)\n{\n\ttacet_a();\n\ttacet_d();\n}\n"),
            ("linux/border/d.c", "void tacet_d(void)\n{\n\ttacet_d();\n}\n"),
            ("noise/e.c", "void tacet_e(void)\n{\n\ttacet_a();\n}\n"),
        ]);
        let circles = files_in_circles(&files);
        assert_eq!(circles.count, 3);
        assert_eq!(circles.offenders.len(), 4);
        assert_eq!(circles.offenders[1], "linux/border/c.c -> linux/doors/a.c: tacet_a");
    }

    #[test]
    fn no_circle_without_a_way_back() {
        let down = sources(&[
            ("linux/doors/a.c", "void tacet_a(void)\n{\n\ttacet_b();\n}\nvoid tacet_up(void)\n{\n}\n"),
            ("linux/process/b.c", "static void tacet_up(void)\n{\n}\nvoid tacet_b(void)\n{\n\ttacet_up();\n}\n"),
        ]);
        assert_eq!(files_in_circles(&down).count, 0, "its own static function, not the other's");
    }

    #[test]
    fn a_headers_inline_function_is_an_edge() {
        let files = sources(&[
            ("linux/border/b.c", "void tacet_b(void)\n{\n\ttacet_inline();\n}\n"),
            ("linux/border/b.h", "static inline void tacet_inline(void)\n{\n\ttacet_b();\n}\n"),
        ]);
        assert_eq!(files_in_circles(&files).count, 2);
        let compat = sources(&[
            ("linux/b.c", "void tacet_b(void)\n{\n\ttacet_inline();\n}\n"),
            ("linux/compat.h", "static inline void tacet_inline(void)\n{\n\ttacet_b();\n}\n"),
        ]);
        assert_eq!(files_in_circles(&compat).count, 0);
    }

    #[test]
    fn only_calls_against_the_order_go_up() {
        assert!(!goes_up("linux/main.c", "linux/doors/device.c"));
        assert!(!goes_up("linux/process/a.c", "linux/process/b.c"));
        assert!(!goes_up("linux/arch/x86/start.c", "linux/tacet.h"));
        assert!(goes_up("linux/arch/x86/start.c", "linux/partition/layout.c"));
        assert!(goes_up("linux/tacet.h", "linux/arch/x86/start.c"));
        assert!(goes_up("linux/doors/a.c", "linux/elsewhere/b.c"), "a folder that the order does not name");
        let files = sources(&[
            ("linux/border/a.c", "void tacet_a(void)\n{\n\ttacet_b();\n\ttacet_c();\n}\n"),
            ("linux/doors/b.c", "void tacet_b(void)\n{\n}\nvoid tacet_c(void)\n{\n}\n"),
        ]);
        assert_eq!(calls_up(&files).count, 2);
    }
}
