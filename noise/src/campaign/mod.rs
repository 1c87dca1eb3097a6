// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A campaign: measurements that a file describes, one after the other, each in a process of its own.
//!
//! Each run leaves `NAME.N.json` (what was run, when, on which machine, and what it said) and, if it makes one,
//! `NAME.N.parquet`. The description is written last and at once, so a run either has it or is not done: `--resume` does
//! the others. The folder keeps the campaign's file, and a campaign goes on only with the same one.

mod plan;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use tacet_words::interrupted;

pub use plan::{Campaign, Step};

use crate::Result;
use crate::measure::machine;

const COPY: &str = "campaign.toml";

/// The machine on which a run was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub host: String,
    pub processor: String,
    pub online: String,
    pub kernel_release: String,
    pub kernel_arguments: String,
}

/// The description of a run that is done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    pub step: String,
    pub repetition: u32,
    pub command: Vec<String>,
    pub record: Option<String>,
    pub began_unix_s: u64,
    pub ended_unix_s: u64,
    pub status: i32,
    pub machine: Facts,
    /// what the command printed with --json
    pub result: serde_json::Value,
}

/// Whether the campaign is complete.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    Complete,
    Interrupted,
}

/// Set by a signal, which is passed on to the command that runs.
#[derive(Debug, Default, Clone)]
pub struct Interrupts {
    arrived: Arc<AtomicBool>,
    running: Arc<AtomicI32>,
}

impl Facts {
    pub fn now() -> Facts {
        Facts {
            host: machine::host(),
            processor: machine::processor(),
            online: machine::line_of("/sys/devices/system/cpu/online"),
            kernel_release: machine::line_of("/proc/sys/kernel/osrelease"),
            kernel_arguments: machine::line_of("/proc/cmdline"),
        }
    }
}

impl Interrupts {
    /// From now on a signal ends the command that runs, which keeps what it measured, and then the campaign.
    pub fn watch() -> Result<Interrupts> {
        let interrupts = Interrupts::default();
        let theirs = interrupts.clone();
        interrupted::each(move || {
            theirs.arrived.store(true, Ordering::Relaxed);
            let running = theirs.running.load(Ordering::Relaxed);
            if running > 0 {
                // it may have ended, or have the terminal's own signal already
                let _ = kill(Pid::from_raw(running), Signal::SIGINT);
            }
        })?;
        Ok(interrupts)
    }

    fn have_arrived(&self) -> bool {
        self.arrived.load(Ordering::Relaxed)
    }

    fn runs(&self, child: Option<&Child>) {
        let number = child.and_then(|child| i32::try_from(child.id()).ok()).unwrap_or(0);
        self.running.store(number, Ordering::Relaxed);
    }
}

/// Prepares the folder: a new one, or with `resume` that of the same campaign.
pub fn open(campaign: &Campaign, text: &str, resume: bool) -> Result<()> {
    let (folder, copy) = (&campaign.directory, campaign.directory.join(COPY));
    match (fs::read_to_string(&copy), resume) {
        (Ok(_), false) => {
            let cause = "has the results of a campaign: go on with --resume, or name another directory";
            Err(format!("{}: {cause}", folder.display()).into())
        }
        (Ok(there), true) if there != text => {
            Err(format!("{}: differs from the campaign's file: go on with the same one", copy.display()).into())
        }
        (Ok(_), true) => Ok(()),
        (Err(_), _) => {
            let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
            fs::create_dir_all(folder).map_err(failed)?;
            Ok(whole(&copy, text.as_bytes()).map_err(failed)?)
        }
    }
}

/// Does all runs that are not done. `program` is the laboratory's; `tell` is called before each run and for each that is
/// done already.
pub fn run(campaign: &Campaign, program: &Path, interrupts: &Interrupts, tell: &mut dyn FnMut(&str)) -> Result<Ended> {
    let runs = campaign.runs();
    for (index, (step, repetition)) in runs.iter().enumerate() {
        let name = format!("{}.{repetition}", step.name);
        let place = |ending: &str| campaign.directory.join(format!("{name}.{ending}"));
        let number = format!("{} of {}", index + 1, runs.len());
        if done(&place("json")).is_some() {
            tell(&format!("{number}: {name} is done"));
            continue;
        }
        if interrupts.have_arrived() {
            return Ok(Ended::Interrupted);
        }
        tell(&format!("{number}: {name}: {}", step.words.join(" ")));
        let began_unix_s = machine::unix_seconds();
        let (status, result) = execute(program, step, &place("parquet"), &place("partial"), interrupts)?;
        if interrupts.have_arrived() {
            return Ok(Ended::Interrupted);
        }
        // a verdict is a result, whatever it is
        let Some(result) = result.filter(|_| status == 0 || !step.has_record) else {
            return Err(format!("{name}: `{}` ended with {status}; go on with --resume", step.words.join(" ")).into());
        };
        let run = Run {
            step: step.name.clone(),
            repetition: *repetition,
            command: step.words.clone(),
            record: step.has_record.then(|| format!("{name}.parquet")),
            began_unix_s,
            ended_unix_s: machine::unix_seconds(),
            status,
            machine: Facts::now(),
            result,
        };
        whole(&place("json"), tacet_words::json::text(&run)?.as_bytes())?;
    }
    Ok(Ended::Complete)
}

/// The runs that are done, in the campaign's order.
pub fn results(campaign: &Campaign) -> Vec<Run> {
    let path = |(step, number): (&Step, u32)| campaign.directory.join(format!("{}.{number}.json", step.name));
    campaign.runs().into_iter().filter_map(|run| done(&path(run))).collect()
}

fn done(path: &Path) -> Option<Run> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// The command's status, and what it said if that is JSON with a result.
fn execute(
    program: &Path,
    step: &Step,
    record: &Path,
    output: &Path,
    interrupts: &Interrupts,
) -> Result<(i32, Option<serde_json::Value>)> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::create(output).map_err(|error| failed(output, error))?;
    let mut command = Command::new(program);
    command.args(&step.words).arg("--json").stdin(Stdio::null()).stdout(file);
    if step.has_record {
        // what an interrupted run left is not a result
        command.arg("--force").arg("--output").arg(record);
    }
    let mut child = command.spawn().map_err(|error| failed(program, error))?;
    interrupts.runs(Some(&child));
    let ended = child.wait();
    interrupts.runs(None);
    let status = ended.map_err(|error| failed(program, error))?.code().unwrap_or(-1);
    let said = fs::read_to_string(output).map_err(|error| failed(output, error))?;
    fs::remove_file(output).map_err(|error| failed(output, error))?;
    let said: Option<serde_json::Value> = serde_json::from_str(&said).ok();
    Ok((status, said.filter(|said| said.get("error").is_none())))
}

/// Writes a file that is there whole or not at all.
fn whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let partial = path.with_extension("new");
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    const TEXT: &str = "directory = 'out'\nrepetitions = 2\n[[step]]\nname = 'a'\ncommand = 'measure'\n[[step]]\nname = 'gate'\n\
        command = 'check'\nrepetitions = 1\noptions = { rate = 1e-5 }\n";

    /// A folder with a stand-in for the laboratory, which notes its words and says what the shell text says.
    fn made(says: &str) -> (tempfile::TempDir, Campaign, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let campaign = Campaign::read(&folder.path().join("c.toml"), TEXT).expect("a campaign");
        let program = folder.path().join("program");
        let calls = folder.path().join("calls");
        fs::write(&program, format!("#!/bin/sh\necho \"$*\" >>{}\n{says}\n", calls.display())).expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
        (folder, campaign, program)
    }

    fn calls(folder: &tempfile::TempDir) -> Vec<String> {
        let text = fs::read_to_string(folder.path().join("calls")).unwrap_or_default();
        text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
    }

    /// The second run fails once; what is done is not repeated, and a verdict of 1 is a result.
    #[test]
    fn an_ended_campaign_goes_on() {
        let says = "cd $(dirname $0); case $1 in check) echo '{\"verdict\": \"noisy\"}'; exit 1 ;; esac
            [ \"$(grep -c measure calls)\" != 2 ] || exit 3
            echo '{\"host\": \"h\"}'";
        let (folder, campaign, program) = made(says);
        open(&campaign, TEXT, false).expect("a new folder");
        let mut told = Vec::new();
        let interrupts = Interrupts::default();
        let go = |told: &mut Vec<String>| run(&campaign, &program, &interrupts, &mut |line| told.push(line.into()));
        let error = go(&mut told).expect_err("the second measure fails").to_string();
        assert_eq!(error, "a.2: `measure` ended with 3; go on with --resume");
        assert_eq!(calls(&folder), ["measure", "check", "measure"]);
        assert!(open(&campaign, TEXT, false).is_err_and(|error| error.to_string().contains("--resume")));
        assert!(open(&campaign, "other", true).is_err_and(|error| error.to_string().contains("differs")));
        open(&campaign, TEXT, true).expect("the same");
        told.clear();
        assert_eq!(go(&mut told).expect("complete"), Ended::Complete);
        assert_eq!(calls(&folder), ["measure", "check", "measure", "measure"]);
        assert_eq!(told[..2], ["1 of 3: a.1 is done", "2 of 3: gate.1 is done"]);
        let all = results(&campaign);
        let facts: Vec<_> = all.iter().map(|run| (run.step.as_str(), run.repetition, run.status)).collect();
        assert_eq!(facts, [("a", 1, 0), ("gate", 1, 1), ("a", 2, 0)]);
        assert!(all.iter().all(|run| run.machine == Facts::now()));
        assert_eq!((all[0].record.as_deref(), all[1].record.as_deref()), (Some("a.1.parquet"), None));
        assert_eq!(all[1].result["verdict"], "noisy");
        assert!(fs::read_dir(&campaign.directory).expect("results").all(|file| {
            let name = file.expect("a file").file_name().into_string().expect("text");
            name.ends_with(".json") || name == COPY
        }));
    }

    /// A command that a signal ended early gives no result of a campaign.
    #[test]
    fn an_interrupted_run_is_repeated() {
        let (folder, campaign, program) = made("echo '{}'");
        open(&campaign, TEXT, false).expect("a new folder");
        let interrupts = Interrupts::default();
        let ended = run(&campaign, &program, &interrupts, &mut |_| interrupts.arrived.store(true, Ordering::Relaxed));
        assert_eq!(ended.expect("ended"), Ended::Interrupted);
        assert_eq!((results(&campaign).len(), calls(&folder).len()), (0, 1));
        let go_on = Interrupts::default();
        assert_eq!(run(&campaign, &program, &go_on, &mut |_| ()).expect("complete"), Ended::Complete);
        assert_eq!(results(&campaign).len(), 3);
    }
}
