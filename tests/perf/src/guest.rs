// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node during a measurement: runs commands that must succeed and programs that print numbers; controls the partition
//! and the load.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use tacet_node::{Command, Job, Node};

use crate::Result;
use crate::configuration::LOADED;
use crate::programs::Programs;

/// The lines `name value` that a program printed.
pub type Numbers = BTreeMap<String, f64>;

/// A node and the programs in it.
pub struct Guest<'a> {
    pub node: &'a Node,
    pub programs: &'a Programs,
}

/// The running load.
pub struct Load(Job);

/// The output of `tacet status --json`, as far as it is used here.
#[derive(Deserialize)]
pub struct Status {
    pub up_ns: u64,
    pub down_ns: u64,
    #[serde(default)]
    pub cores: Vec<CoreStatus>,
}

/// One core of the partition.
#[derive(Deserialize)]
pub struct CoreStatus {
    pub cpu: u32,
    pub doorbells_user: u64,
    pub foreign_interrupts: Vec<Foreign>,
}

/// Interrupts of one vector that the module did not send.
#[derive(Deserialize)]
pub struct Foreign {
    pub count: u64,
}

impl Guest<'_> {
    /// Runs a command that must exit with status 0.
    pub fn run<S: AsRef<str>>(&self, argv: &[S]) -> Result<String> {
        let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
        let output = self.node.run(&Command::new(&argv))?;
        if output.status.success() {
            return Ok(output.text());
        }
        let said = format!("{} {}", output.error_text().trim(), output.text().trim());
        Err(format!("in the node: `{}`: {:?}: {said}", argv.join(" "), output.status).into())
    }

    /// Runs a script that must exit with status 0.
    pub fn shell(&self, script: &str) -> Result<String> {
        self.run(&["bash", "-ec", script])
    }

    /// Runs one of the guest programs on Linux.
    pub fn native(&self, name: &str, arguments: &[String]) -> Result<Numbers> {
        let mut argv = vec![self.programs.program(name)];
        argv.extend_from_slice(arguments);
        self.numbers(&argv)
    }

    /// Runs one of the guest programs on the CPUs that `tacet tune` keeps for applications.
    pub fn tuned(&self, name: &str, arguments: &[String]) -> Result<Numbers> {
        let tuner = self.programs.tune().display().to_string();
        let mut argv = vec![tuner, "run".to_owned(), "--".to_owned(), self.programs.program(name)];
        argv.extend_from_slice(arguments);
        self.numbers(&argv)
    }

    /// Runs one of the guest programs on the partition.
    pub fn hosted(&self, flags: &[&str], name: &str, arguments: &[String]) -> Result<Numbers> {
        let mut argv = self.tacet(&["run"]);
        // What is measured is not the first touch of the program's memory, unless a bench says so.
        if !flags.contains(&"--no-populate") {
            argv.push("--populate".to_owned());
        }
        argv.extend(flags.iter().map(|f| (*f).to_owned()));
        argv.extend(["--".to_owned(), self.programs.program(name)]);
        argv.extend_from_slice(arguments);
        self.numbers(&argv)
    }

    /// Runs a command that must exit with status 0, and returns the numbers that it printed.
    pub fn numbers<S: AsRef<str>>(&self, argv: &[S]) -> Result<Numbers> {
        Ok(numbers(&self.run(argv)?))
    }

    /// Starts the partition, with little memory.
    pub fn up(&self, cpus: &str) -> Result<()> {
        self.up_with(cpus, "64M")
    }

    /// Starts the partition. Linux may refuse a CPU while other code changes CPUs: this is reported, and tried again.
    pub fn up_with(&self, cpus: &str, memory: &str) -> Result<()> {
        let up = self.tacet(&["up", "--cpus", cpus, "--memory", memory]);
        for _ in 0..5 {
            match self.run(&up) {
                Err(busy) if busy.to_string().contains("error -16") => eprintln!("  trying again: {busy}"),
                result => return result.map(drop),
            }
            self.run(&["sleep", "1"])?;
        }
        self.run(&up).map(drop)
    }

    /// Stops the partition.
    pub fn down(&self) -> Result<()> {
        self.run(&self.tacet(&["down"])).map(drop)
    }

    /// The partition's counters so far.
    pub fn status(&self) -> Result<Status> {
        Ok(serde_json::from_str(&self.run(&self.tacet(&["--json", "status"]))?)?)
    }

    /// Starts the load and waits until it is active.
    pub fn load(&self, disturbances: &[String]) -> Result<Load> {
        self.shell(PREPARE_LOAD)?;
        let mut argv = vec![self.programs.program("load")];
        argv.extend([LOADED, "3600", "/tmp/load", "cordic"].map(str::to_owned));
        argv.extend_from_slice(disturbances);
        let job = self.node.start(&Command::new(&argv).timeout(Duration::from_secs(3700)))?;
        self.run(&["sleep", "2"])?;
        Ok(Load(job))
    }

    /// Stops the load; returns the rounds of each disturbance.
    pub fn unload(&self, load: Load) -> Result<Numbers> {
        self.run(&["touch", "/tmp/load/stop"])?;
        let text = load.0.wait()?.text();
        Ok(numbers(&text.lines().filter_map(|l| l.strip_prefix("load ")).collect::<Vec<_>>().join("\n")))
    }

    fn tacet(&self, arguments: &[&str]) -> Vec<String> {
        std::iter::once(self.programs.tacet().display().to_string())
            .chain(arguments.iter().map(|a| (*a).to_owned()))
            .collect()
    }
}

const PREPARE_LOAD: &str = r#"
    mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
    rm -rf /tmp/load; mkdir -p /tmp/load
    module=$(modinfo -n cordic)
    case $module in
        *.xz) xz -dc "$module" > /tmp/load/cordic.ko;;
        *) cp "$module" /tmp/load/cordic.ko;;
    esac"#;

/// Reads the lines that are a name and a number; other lines are for people.
pub fn numbers(text: &str) -> Numbers {
    let pair = |line: &str| {
        let (name, value) = line.trim().split_once(' ')?;
        Some((name.to_owned(), value.split(' ').next()?.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_and_leaves_out_words() {
        let read = numbers("call_ns 12.5\nload started\nquanta 3 cpu 1\n\n");
        assert_eq!(read.get("call_ns"), Some(&12.5));
        assert_eq!(read.get("quanta"), Some(&3.0));
        assert_eq!(read.len(), 2);
    }
}
