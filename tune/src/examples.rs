// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of each command of `tacet tune`, for its help and its man pages.
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
            ("tacet tune plan --cpus 2-7", "show each change, its reason and its cost; needs no root"),
            ("sudo tacet tune apply --cpus 2-7", "change it, until `tacet tune undo` or the next boot"),
            ("tacet tune verify", "is all still in force?"),
            ("tacet tune run -- ./a.out", "run a program on the quiet CPUs"),
            ("sudo tacet tune undo", "restore the old values"),
        ],
    ),
    (
        "plan",
        &[
            ("tacet tune plan --cpus 2-7", "show each change, its reason and its cost; needs no root"),
            (
                "tacet tune plan --without watchdogs --all",
                "leave one countermeasure out; show each object on its own line",
            ),
        ],
    ),
    (
        "apply",
        &[
            ("tacet tune apply --cpus 2-7 --dry-run", "say what would be changed"),
            ("sudo tacet tune apply --cpus 2-7", "change it, until `tacet tune undo` or the next boot"),
        ],
    ),
    ("verify", &[("tacet tune verify", "is all still in force? status 1 if something drifted")]),
    (
        "undo",
        &[
            ("sudo tacet tune undo", "restore the old values"),
            ("tacet tune undo --dry-run", "say what would be restored"),
        ],
    ),
    ("status", &[("tacet tune status", "show what is applied, and for whom")]),
    ("list", &[("tacet tune list", "name all countermeasures"), ("tacet tune list vmstat", "describe one in full")]),
    ("job begin", &[("sudo tacet tune job begin 4711 --cpus 2-7", "in a prologue: make the CPUs of job 4711 quiet")]),
    ("job end", &[("sudo tacet tune job end 4711", "in an epilogue: undo what only job 4711 wanted")]),
    (
        "ablate",
        &[
            (
                "sudo tacet tune ablate --cpus 2-3 --duration 10s",
                "measure what each countermeasure is worth on this node",
            ),
            ("tacet tune ablate --cpus 2-3 --dry-run", "say what would be applied meanwhile"),
        ],
    ),
    (
        "export",
        &[
            ("tacet tune export systemd --cpus 2-7", "print the plan as files of systemd"),
            ("sudo tacet tune export tuned --cpus 2-7 --directory /etc", "write it as a profile of TuneD"),
        ],
    ),
    (
        "boot-line",
        &[
            ("tacet tune boot-line --cpus 2-7", "print what only a boot can do"),
            ("sudo tacet tune boot-line --cpus 2-7 --write", "have update-grub or grubby write it"),
            ("sudo tacet tune boot-line --undo", "take it out again"),
        ],
    ),
    (
        "run",
        &[
            ("tacet tune run -- ./a.out input", "run a program on the quiet CPUs"),
            ("tacet tune run --job 4711 ./a.out", "on those of a job"),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_examples_that_parse() {
        assert_eq!(tacet_words::examples::wrong(&described(), "tacet tune"), Vec::<String>::new());
    }
}
