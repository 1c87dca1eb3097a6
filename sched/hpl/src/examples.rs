// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of each command of `tacet sched`, for its help and its man pages.
//!
//! Nobody executes them here; a test parses each.

use clap::{Command, CommandFactory};
use tacet_words::examples::{Examples, add};

use crate::options::Options;

/// The description of the arguments, with the examples.
pub fn described() -> Command {
    add(Options::command(), EXAMPLES)
}

const EXAMPLES: &Examples = &[
    (
        "",
        &[
            ("sudo tacet sched start", "load the class"),
            ("tacet sched run -- mpiexec -n 8 ./a.out", "run a program in it"),
            ("sudo tacet sched stop", "return all tasks to Linux's own scheduler"),
        ],
    ),
    (
        "start",
        &[
            ("sudo tacet sched start", "load the class; programs enter it by `tacet sched run`"),
            (
                "sudo tacet sched start --group slurmstepd.slice --trickle 2ms",
                "all tasks of a control group are in the class",
            ),
            ("tacet sched start --dry-run", "say whether this kernel can, and what would be loaded"),
        ],
    ),
    ("stop", &[("sudo tacet sched stop", "return all tasks to Linux's own scheduler")]),
    ("status", &[("tacet sched status", "does the class schedule, and what did it count?")]),
    ("top", &[("sudo tacet sched top --every 5s -n 12", "a minute of counts")]),
    ("run", &[("tacet sched run -- mpiexec -n 8 ./a.out", "run a program and its children in the class")]),
    ("count", &[("sudo tacet sched count ./a.out", "switches and migrations of the whole node meanwhile, as JSON")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_examples_that_parse() {
        assert_eq!(tacet_words::examples::wrong(&described(), "tacet sched"), Vec::<String>::new());
    }
}
