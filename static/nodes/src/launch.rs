// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starts the keeper of a set, and ends it.
//!
//! Called by `tacet static boot` and, for nodes of one job, by `tacet static run`. Must never leave a keeper behind whose
//! report was a failure.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tacet_ctl::status::{MACHINE, UNDONE};
use tacet_ctl::{Error, Result};
use tacet_node::Qemu;

use crate::boot_line;
use crate::keeper::{Order, Report};
use crate::qemu::{Files, arguments, distrust_kvm, foresee, from_node};
use crate::spec::Spec;
use crate::state::{self, Facts, State};

/// A keeper ends its nodes by signals, so it needs no longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The nodes of one job. Dropping it ends them, and waits until everything is given back.
pub struct Nodes {
    pub facts: Facts,
    keeper: Child,
    /// The keeper ends when this end of the pipe is closed, hence also when this process is killed.
    alive: Option<ChildStdin>,
}

impl Nodes {
    /// KVM, which executed these nodes, is not believed again on this boot and build.
    pub fn distrust_kvm(&self, why: &str) {
        if let Some(spec) = &self.facts.spec
            && let Ok(qemu) = Qemu::installed(spec.qemu.as_deref())
        {
            distrust_kvm(spec, &qemu, why);
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        drop(self.alive.take());
        let until = Instant::now() + PATIENCE;
        while matches!(self.keeper.try_wait(), Ok(None)) {
            if Instant::now() > until {
                // its emulators die with it, and the next set for one job removes its directory
                self.keeper.kill().ok();
                self.keeper.wait().ok();
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Boots a set in the background.
pub fn boot(name: &str, spec: &Spec) -> Result<Facts> {
    if state::is_locked(&state::directory(name)?) {
        let remedy = format!("end them: `tacet static boot --down --name {name}`, or use another --name");
        return Err(Error::new(format!("nodes `{name}`"), "they are booted already", remedy));
    }
    let order = Order { name: name.to_owned(), spec: spec.clone(), for_one_job: false };
    start(&order).map(|(facts, _keeper, _alive)| facts)
}

/// Boots nodes for one job.
pub fn for_one_job(spec: &Spec) -> Result<Nodes> {
    let order = Order { name: state::name_for_one_job(), spec: spec.clone(), for_one_job: true };
    let (facts, keeper, alive) = start(&order)?;
    Ok(Nodes { facts, keeper, alive: Some(alive) })
}

/// Ends a set, or removes what a killed keeper left of it. Returns false if there was none.
pub fn down(name: &str) -> Result<bool> {
    let directory = state::directory(name)?;
    if directory.exists() && !state::is_locked(&directory) {
        return State::create(name).map(|_state| true);
    }
    let Some(facts) = state::booted(name)? else {
        return Ok(false);
    };
    // the lock shows that the process is the keeper, not another one with its number
    kill(Pid::from_raw(facts.pid), Signal::SIGTERM).map_err(|errno| {
        Error::new(format!("nodes `{name}`: keeper {}", facts.pid), errno.desc(), "use its user").with_status(MACHINE)
    })?;
    let until = Instant::now() + PATIENCE;
    while state::is_locked(&directory) {
        if Instant::now() > until {
            let remedy = format!("kill it: kill -KILL {}", facts.pid);
            return Err(Error::new(format!("nodes `{name}`: keeper {}", facts.pid), "it does not end", remedy)
                .with_status(MACHINE));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(true)
}

/// The command lines with which a set's emulators would be started, and the kernel's words; the key and the daemon's port
/// are made at the boot.
pub fn rehearse(name: &str, spec: &Spec) -> Result<Vec<(String, String)>> {
    spec.check()?;
    let qemu = Qemu::installed(spec.qemu.as_deref()).map_err(from_node)?;
    let directory = state::directory(name)?;
    let kvm = foresee(spec, &qemu)?.kvm;
    let lines = (0..spec.nodes).map(|node| {
        let words = boot_line::emulated(node, spec.link, 0, spec.service_cpu, "KEY").replace(":0 ", ":PORT ");
        (command_line(&qemu, spec, kvm, &directory, node), words)
    });
    Ok(lines.collect())
}

fn command_line(qemu: &Qemu, spec: &Spec, kvm: bool, directory: &Path, node: u32) -> String {
    let command = qemu.command();
    let mut words: Vec<String> = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.extend(arguments(spec, &Files::of(directory, node), qemu.version, kvm));
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// As a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn start(order: &Order) -> Result<(Facts, Child, ChildStdin)> {
    order.spec.check()?;
    let fail = |io: std::io::Error| Error::io("the keeper of the nodes", &io, "");
    let executable = std::env::current_exe().map_err(fail)?;
    let mut command = Command::new(executable);
    // configuration is for the launcher alone
    command.args(["--config", "/dev/null", "static", "keep"]);
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut keeper = command.spawn().map_err(fail)?;
    let pipes = keeper.stdin.take().zip(keeper.stdout.take());
    let (mut alive, said) =
        pipes.ok_or_else(|| Error::new("the keeper of the nodes", "it has no pipes", "").with_status(MACHINE))?;
    let mut text = serde_json::to_string(order).unwrap_or_default();
    text.push('\n');
    alive.write_all(text.as_bytes()).map_err(fail)?;
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line).map_err(fail)?;
    match serde_json::from_str(&line) {
        Ok(Report::Ready(facts)) => Ok((facts, keeper, alive)),
        Ok(Report::Failed(line, code)) => {
            keeper.wait().ok();
            let (object, rest) = line.split_once(": ").unwrap_or(("nodes", &line));
            Err(Error::new(object, rest, "").with_status(code))
        }
        Err(_) => {
            keeper.kill().ok();
            let status = keeper.wait().map_err(fail)?;
            Err(Error::new("the keeper of the nodes", format!("it died: {status}"), "report this").with_status(UNDONE))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("tcg,thread=multi"), "tcg,thread=multi");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
