// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each call that a node answers or ships, with arguments at the edges: the same result as on Linux, or a row in
//! `calls_table.rs` that says why not. A row that no line needs any more fails too.
//!
//! The program `calls` makes the calls of `abi/syscalls.tbl` and prints a line for each: `name(edge, edge) = result error`.

use std::process::Command;

use crate::Result;
use crate::calls_table::{Differs, TABLE};
use crate::case::{Case, Same};
use crate::nodes::Nodes;
use crate::place::program;

pub fn cases() -> Vec<Case> {
    vec![Case::shared("each call with arguments at the edges", compare).more()]
}

fn compare(nodes: &Nodes) -> Result<()> {
    let words = vec![program("calls-static")];
    let same = Same { words, apart: true, ..Same::default() };
    let native = same.run(&mut Command::new(program("calls-static")))?;
    let found = same.run(&mut nodes.run(&[], &same.words))?;
    if native.status != 0 || found.status != 0 {
        let said = native.text() + &found.text() + &found.error_text();
        let last = said.lines().last().unwrap_or_default();
        return Err(format!("status {} on Linux, {} on the node: {last}", native.status, found.status));
    }
    // a difference between two runs on Linux would be one on some machine
    let mut apart = Command::new("setarch");
    let many = ["-R", "bash", "-c", "exec 500</dev/null; exec \"$0\""];
    let unlike = same.run(apart.args(many).args(&same.words))?;
    let wrong = differences(&native.text(), &unlike.text(), &mut vec![false; TABLE.len()]);
    if !wrong.is_empty() {
        let surroundings = "without randomized addresses, with a longer table of descriptors";
        return Err(format!("{surroundings}:\n    {}", wrong.join("\n    ")));
    }
    judge(&native.text(), &found.text())
}

/// Compares line by line: the two programs make the same calls in the same order.
fn judge(native: &str, found: &str) -> Result<()> {
    let mut used = vec![false; TABLE.len()];
    if native.lines().count() != found.lines().count() {
        return Err(format!("{} calls on Linux, {} on the node", native.lines().count(), found.lines().count()));
    }
    let mut wrong = differences(native, found, &mut used);
    let idle = TABLE.iter().zip(&used).filter(|(_, used)| !**used);
    wrong.extend(
        idle.map(|(row, _)| format!("no line needs the row {} {:?} ({}) any more", row.call, row.edge, row.why)),
    );
    if wrong.is_empty() {
        return Ok(());
    }
    let count = wrong.len();
    wrong.truncate(40);
    Err(format!("{count} results differ:\n    {}", wrong.join("\n    ")))
}

/// The lines that differ and have no row.
fn differences(native: &str, found: &str, used: &mut [bool]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (native, found) in native.lines().zip(found.lines()).filter(|(native, found)| native != found) {
        let mut known = false;
        for (_, used) in TABLE.iter().zip(used.iter_mut()).filter(|(row, _)| row.covers(native, found)) {
            (known, *used) = (true, true);
        }
        if !known {
            let result = found.split_once(" = ").map_or(found, |(_, result)| result);
            wrong.push(format!("{native}, there {result}"));
        }
    }
    wrong
}

impl Differs {
    /// Whether these two lines of one call differ as the row says.
    fn covers(&self, native: &str, found: &str) -> bool {
        let Some((call, rest)) = native.split_once('(') else { return false };
        let Some((edges, _)) = rest.split_once(')') else { return false };
        let gives =
            self.gives.is_empty() || found.split(") = ").nth(1).is_some_and(|result| result.trim() == self.gives);
        let named = self.edge.is_empty() || edges.split(", ").any(|edge| edge == self.edge);
        self.call.split(' ').any(|name| name == call) && named && gives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_without_a_row_is_found() {
        assert!(judge("write(file, good) = 3 \n", "write(file, good) = -1 EFAULT\n").is_err());
        assert!(judge("write(file) = 3 \n", "").is_err());
    }

    #[test]
    fn a_row_is_about_one_call_one_edge_and_one_result() {
        let row = Differs { call: "read write", edge: "odd", gives: "-1 EIO", why: "a test" };
        assert!(row.covers("write(1, odd) = 3 ", "write(1, odd) = -1 EIO"));
        assert!(!row.covers("write(1, oddly) = 3 ", "write(1, oddly) = -1 EIO"));
        assert!(!row.covers("write(1, odd) = 3 ", "write(1, odd) = -1 EFAULT"));
        assert!(!row.covers("writev(1, odd) = 3 ", "writev(1, odd) = -1 EIO"));
    }

    #[test]
    fn each_row_has_a_reason() {
        assert!(TABLE.iter().all(|row| !row.why.is_empty() && !row.call.is_empty()));
    }
}
