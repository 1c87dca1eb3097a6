// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that use each other, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::count::Count;

/// Who mentions which functions of whom.
pub type Edges<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<String>>;

/// The files that are in circles.
pub fn circles(edges: &Edges<'_>) -> Count {
    let graph: DiGraphMap<&str, ()> = edges.keys().copied().collect();
    let mut circles = tarjan_scc(&graph);
    circles.retain(|circle| circle.len() > 1);
    circles.iter_mut().for_each(|circle| circle.sort_unstable());
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    let count = circles.iter().map(Vec::len).sum();
    let shown = circles.iter().flat_map(|circle| {
        let mut lines = vec![format!("circle of {} files: {}", circle.len(), circle.join(" "))];
        let inside = |(from, to): &(&str, &str)| circle.contains(from) && circle.contains(to);
        lines.extend(edges.iter().filter(|(edge, _)| inside(edge)).map(described));
        lines
    });
    Count { count, offenders: shown.collect() }
}

/// One edge, for people.
pub fn described(((from, to), functions): (&(&str, &str), &BTreeSet<String>)) -> String {
    let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
    format!("{from} -> {to}: {}", functions.join(", "))
}
