// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of `tests/user` whose calls a static node has: they print what their `.expected` files say.

use std::fs;

use crate::case::Case;
use crate::place::{top, user_program};

/// Programs that fork or trace, that test what Linux's memory has
/// and a static map has not, or that need the co-kernel, are not here.
const PROGRAMS: [&str; 12] = [
    "exceptions",
    "ldt",
    "membarrier",
    "pkeys",
    "registers",
    "rseq",
    "sigfp",
    "signals",
    "stacks",
    "threads",
    "uring",
    "userfault",
];

pub fn cases() -> Vec<Case> {
    PROGRAMS.into_iter().map(case).collect()
}

fn case(name: &str) -> Case {
    let said = fs::read(top().join(format!("tests/user/{name}.expected"))).unwrap_or_default();
    Case::same(format!("user {name}"), &[&user_program(name)]).expect(said, 0)
}
