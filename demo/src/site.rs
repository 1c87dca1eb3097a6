// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node of the demo: its files, the partition, and running commands at a place.
//!
//! Owns `build/demo`, which the node sees at the same path. Called by `main.rs` and `before.rs`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tacet_bench::{Configuration, Programs, Settings};
use tacet_node::{Cache, Command, Kernel, Node, Output, provision};

use crate::Result;
use crate::noise::{self, Noise};
use crate::place::Place;
use crate::programs::{Program, Run};
use crate::progress::Progress;

/// The limit for one program; an emulator on a busy host is slow.
const LIMIT: Duration = Duration::from_secs(120);

/// A booted node with the programs in it.
pub struct Site {
    node: Node,
    programs: Programs,
    directory: PathBuf,
}

impl Site {
    /// Builds the measuring programs, boots the node, compiles the demo's programs inside.
    pub fn open(cache: &Cache, settings: &Settings, progress: &mut Progress) -> Result<Site> {
        provision::ensure(cache)?;
        let programs = progress.step("build what measures", || Programs::build(cache))?;
        let directory = programs.build_directory().join("demo");
        fs::create_dir_all(&directory)?;
        for (name, text) in Program::SOURCES {
            fs::write(directory.join(name), text)?;
        }
        let release = Kernel::installed(cache, settings.kernel)?.release;
        let name = format!("boot a node: Linux {release}, 4 CPUs, emulated");
        let spec = Configuration::DefaultLinux.node(settings, &programs);
        let node = progress.step(&name, || Node::boot(cache, &spec))?;
        let site = Site { node, programs, directory };
        progress.step("compile in the node: mpicc pi.c, gcc counter.c", || site.shell(Program::COMPILE))?;
        Ok(site)
    }

    /// Runs a command that may fail.
    pub fn run(&self, place: Place, command: &str) -> Result<Run> {
        let before = self.hand_overs(place)?;
        let Output { status, stdout, stderr } = self.node.run(&self.command(command))?;
        let after = self.hand_overs(place)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let hand_overs = before.zip(after).map(|(before, after)| after - before);
        Ok(Run { output: text(stdout), remarks: text(stderr), success: status.success(), hand_overs })
    }

    /// Runs a script that must exit with status 0, and returns its output.
    pub fn shell(&self, script: &str) -> Result<String> {
        let output = self.node.run(&self.command(script))?;
        if output.status.success() {
            return Ok(output.text());
        }
        let said = output.error_text();
        let last = said.lines().last().unwrap_or("no message");
        Err(format!("in the node: `{}`: {last}", script.lines().next().unwrap_or_default()).into())
    }

    /// Records the noise on CPU 3.
    pub fn noise(&self, place: Place, quanta: u64) -> Result<Noise> {
        let programs = self.programs.build_directory().join("tests/perf");
        let said = self.shell(&noise::script(place, quanta, &format!("'{}'", programs.display())))?;
        noise::read(&said, &fs::read_to_string(self.node.plugin_log())?, quanta)
    }

    /// Starts the partition.
    pub fn up(&self) -> Result<()> {
        self.shell("tacet up --cpus 2-3 --memory 256M").map(drop)
    }

    /// Stops the partition and unloads the module.
    pub fn down(&self) -> Result<()> {
        self.shell("tacet down && rmmod tacet").map(drop)
    }

    /// Powers the node off, and returns the release of its kernel.
    pub fn close(self) -> Result<String> {
        let release = self.node.release().to_owned();
        self.node.power_off()?;
        Ok(release)
    }

    /// How often the cores have forwarded to Linux since the partition started.
    fn hand_overs(&self, place: Place) -> Result<Option<u64>> {
        if place == Place::Linux {
            return Ok(None);
        }
        let status: serde_json::Value = serde_json::from_str(&self.shell("tacet status --json")?)?;
        let cores = status["cores"].as_array().ok_or("tacet status: no cores in its JSON")?;
        Ok(Some(cores.iter().filter_map(|core| core["notifications"].as_u64()).sum()))
    }

    fn command(&self, script: &str) -> Command {
        let bin = self.programs.build_directory().join("bin");
        let path = format!("PATH='{}':$PATH; {script}", bin.display());
        Command::shell(&path).directory(&self.directory).timeout(LIMIT)
    }
}
