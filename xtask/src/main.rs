// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `cargo xtask`: the one door. CI runs what a person runs.
//!
//! This file has only the words; each command has a file. `make` and `.ci/run` call this and nothing else.

mod bench;
mod build;
mod clean;
mod command;
mod demo;
mod docs;
mod hardening;
mod kernels;
mod miri;
mod notebook;
mod page;
mod quality;
mod ran;
mod setup;
mod tally;
mod test;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The result of every command; an error's text is one line.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Set up, build, test and measure Tacet.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Door,
}

#[derive(Subcommand)]
enum Door {
    /// Install what is missing: packages of the host, Rust targets, the nodes' tree, kernels and emulator
    Setup {
        /// Install the newest packages and kernels again, from nothing
        #[arg(long)]
        refresh: bool,
    },
    /// Build the command, the co-kernel, the modules and the test programs into build/
    Build {
        /// Only these parts (default: all)
        #[arg(value_enum)]
        parts: Vec<build::Part>,
        /// Kernel lines to build the module for (default: all)
        #[arg(long, value_delimiter = ',')]
        kernels: Vec<String>,
    },
    /// Run the checks and tests that show most for their time; with FULL=1 all of them. Ends with `N passed, N failed`
    Test {
        /// Only what needs no node: checks, lints and unit tests; minutes
        #[arg(long)]
        quick: bool,
        /// Kernel lines to test (default: all)
        #[arg(long, value_delimiter = ',')]
        kernels: Vec<String>,
    },
    /// Run what `test` leaves out for its time's sake; with FULL=1 `test` has it all
    TestMore {
        /// Kernel lines to test (default: all)
        #[arg(long, value_delimiter = ',')]
        kernels: Vec<String>,
    },
    /// Run scenarios on a kernel of line 6.12 that checks itself (KASAN, UBSAN, lockdep, RCU). Builds it once: up to an hour
    Hardening {
        /// Only these parts (default: all)
        #[arg(value_enum)]
        parts: Vec<hardening::Part>,
        /// Only scenarios whose name or script contains this
        #[arg(long, value_name = "WORDS")]
        only: Vec<String>,
        /// List the parts and run none
        #[arg(long)]
        list: bool,
        /// Write the results into docs/conformance.md
        #[arg(long)]
        write: bool,
    },
    /// Run the tests of the co-kernel's pure part under Miri, which finds what Rust's rules forbid
    Miri,
    /// Execute the example notebook with a new record; the first time this fetches Python's packages (half a gigabyte)
    Notebook,
    /// Run the benches
    Bench {
        /// Given to the benches
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Show in a node what Tacet does
    Demo {
        /// Given to the demo: --kernel 6.1, 6.12 or 7; --quanta N; --cluster: two nodes with Slurm
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Compare the counts that may only fall with their limits in quality.toml
    Quality {
        /// Write lower counts back; never higher ones
        #[arg(long)]
        tighten: bool,
        /// Print everything that this count counts, for instance files_in_circles
        #[arg(long, value_name = "NAME", conflicts_with = "tighten")]
        list: Option<String>,
    },
    /// Write docs/system-calls.md from abi/syscalls.tbl
    Page {
        /// Only check that it is current
        #[arg(long)]
        check: bool,
    },
    /// Check the documents and make a book of them in build/docs/book, by mdBook
    Docs {
        /// Only check links, chapters, and the messages of docs/troubleshooting.md
        #[arg(long)]
        check: bool,
    },
    /// Read every kernel that Debian serves today and print where Linux keeps the fields of its private structures that the
    /// module reads: the table of docs/pico-layouts.md. Fetches gigabytes
    Layouts {
        /// Only the kernels whose release contains one of these
        releases: Vec<String>,
    },
    /// Remove build/ and target/; with --cache also the nodes' trees and images
    Clean {
        /// Also remove what was downloaded and built for nodes
        #[arg(long)]
        cache: bool,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Door::Setup { refresh } => setup::setup(refresh),
        Door::Build { parts, kernels } => build::parts(&parts, &kernels),
        Door::Test { quick, kernels } => test::test(quick, &kernels),
        Door::TestMore { kernels } => test::more(&kernels),
        Door::Hardening { parts, only, list, write } => hardening::hardening(&parts, &only, list, write),
        Door::Miri => miri::miri(),
        Door::Notebook => notebook::notebook(),
        Door::Bench { arguments } => bench::bench(&arguments),
        Door::Demo { arguments } => demo::demo(&arguments),
        Door::Quality { list: Some(name), .. } => quality::list(&name),
        Door::Quality { tighten, list: None } => quality::quality(tighten),
        Door::Page { check } => page::page(check),
        Door::Docs { check } => docs::docs(check),
        Door::Layouts { releases } => layouts(&releases),
        Door::Clean { cache } => clean::clean(cache),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The test's program reads the kernels.
fn layouts(releases: &[String]) -> Result<()> {
    command::run(command::cargo().args(["run", "--quiet", "--package", "tacet-layouts-tests", "--"]).args(releases))
}

/// The top of the source tree.
fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap_or_else(|_| ".".into())
}
