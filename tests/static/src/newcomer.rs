// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The first job and the demo on a machine that remembers nothing: an empty cache but for the emulator, no variables, and
//! the accelerator left to `auto`. The other cases ask for emulation.

use std::process::Command;

use crate::Result;
use crate::case::Case;
use crate::nodes::tacet;
use crate::place::{self, program};
use crate::process;
use crate::unplug::expect;

pub fn cases() -> Vec<Case> {
    vec![Case::own("a newcomer's first job", first_job), Case::own("a newcomer's demo", demo_step)]
}

/// A program on nodes of its own, with nothing remembered and nothing said about the accelerator: on this machine, whatever
/// its KVM does. `home`: a cache that holds nothing but the emulator.
fn first_job() -> Result<()> {
    let home = place::empty_cache()?;
    let run = || {
        let mut command = tacet(&["run", "--own-nodes", "--verbose", "--"]);
        command.arg(program("hello-static")).env("TACET_CACHE", home.path()).env_remove("TACET_NODE_ACCEL");
        process::run(&mut command, b"")
    };
    let (first, second) = (run()?, run()?);
    for ended in [&first, &second] {
        expect(ended, 0)?;
        let said = ended.error_text();
        let decided = said.contains("KVM executes the nodes: ") || said.contains("the nodes are emulated: ");
        if ended.text() != "hello\n" || !decided {
            return Err(format!("it printed {}{said}", ended.text()));
        }
    }
    if first.stderr == second.stderr {
        return Ok(());
    }
    Err(format!("decided twice: {}{}", first.error_text(), second.error_text()))
}

/// The demo's step in the same surroundings.
fn demo_step() -> Result<()> {
    let home = place::empty_cache()?;
    let cargo = |words: &[&str]| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(words).args(["--quiet", "--package", "tacet-demo"]).current_dir(place::top());
        command
    };
    // the limit is for the demo, not for the compiler
    let built = cargo(&["build"]).status().map_err(|error| error.to_string())?;
    if !built.success() {
        return Err("the demo cannot be compiled".into());
    }
    let mut demo = cargo(&["run"]);
    demo.args(["--", "--static-only"]).env("TACET_CACHE", home.path()).env_remove("TACET_NODE_ACCEL");
    expect(&process::run(&mut demo, b"")?, 0)
}
