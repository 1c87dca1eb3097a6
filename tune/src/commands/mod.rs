// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One function for each command: calls the library, prints the result, returns the exit status.

mod ablate;
mod boot_line;
mod export;
mod generate;
mod run;

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;
use tacet_words::Tool;
use tacet_words::interrupted::Interrupted;
use tacet_words::status::{NO, UNDONE};

use crate::apply::{self, Done};
use crate::claim::{self, Claim, Owner};
use crate::error::{Error, Result};
use crate::examples::described;
use crate::journal::{self, Journal, State};
use crate::node::{self, Linux, Node};
use crate::options::{Command, Job, Options, Wanted};
use crate::plan::{self, Plan};
use crate::{measures, rehearse, show, topology, verify};

const TOOL: Tool = Tool { name: "tacet tune", command: described, runners: &["run", "bound"] };

/// The whole program.
pub fn main() -> ExitCode {
    match TOOL.parse::<Options>() {
        Ok(options) => run(options).unwrap_or_else(|error| TOOL.fail(error.status(), &error, false)),
        Err(status) => status,
    }
}

pub fn run(options: Options) -> Result<ExitCode> {
    let (node, json) = (Linux::at(&options.root), options.json);
    match options.command {
        Command::Plan { claim, all } => plan(&node, &claim, all, json),
        Command::Apply { claim, rehearsal } => apply(&node, Owner::Node, &claim, rehearsal.dry_run, json),
        Command::Verify => verify(&node, json),
        Command::Undo { rehearsal } => undo(&node, rehearsal.dry_run, json),
        Command::Status => status(&node, json),
        Command::List { name } => list(name.as_deref(), json),
        Command::Job { command: Job::Begin { id, pid, claim, rehearsal } } => {
            begin(&node, id, pid, &claim, rehearsal.dry_run, json)
        }
        Command::Job { command: Job::End { id, rehearsal } } => end(&node, &id, rehearsal.dry_run, json),
        Command::Ablate { claim, rehearsal, .. } if rehearsal.dry_run => {
            rehearse(&node, |state| joined(&node, state, Owner::Node, &claim), json)
        }
        Command::Ablate { claim, how, .. } => ablate::ablate(&node, &claim, &how, json),
        Command::Export { format, directory, force, claim } => {
            let files = export::files(&alone(&node, &claim)?, format);
            export::export(&files, directory.as_deref(), force, json)
        }
        Command::BootLine { claim, write, undo, rehearsal } => {
            boot_line::boot_line(&node, &claim, write, undo, rehearsal.dry_run, json)
        }
        Command::Run { job, command } => run::run(&node, job.unwrap_or(Owner::Node), &command),
        Command::Bound { cpus, command } => run::bound(&node, &cpus, &command),
        Command::Man { directory } => generate::man(&directory),
        Command::Completions { shell } => generate::completions(shell),
        Command::Describe => generate::describe(),
    }
}

fn claim(node: &dyn Node, state: &State, owner: Owner, wanted: &Wanted) -> Result<Claim> {
    let measures = claim::choose(&wanted.only, &wanted.with, &wanted.without)?;
    let cpus = wanted.cpus.clone().map_or_else(|| topology::propose(node, state), Ok)?;
    Ok(Claim { owner, cpus, measures })
}

fn plan(node: &dyn Node, wanted: &Wanted, all: bool, json: bool) -> Result<ExitCode> {
    let state = state_of_this_boot(node)?;
    let claims = joined(node, &state, Owner::Node, wanted)?;
    let mut plan = Plan::make(node, &state, &claims)?;
    if wanted.only.is_empty() {
        plan = plan.with_left_out(node, &state, &claims, &wanted.without)?;
    }
    if json {
        print_json(&plan)?
    } else {
        print(&show::plan(&plan, all))?
    }
    Ok(ExitCode::SUCCESS)
}

/// The plan for a node like this one where nothing is applied.
fn alone(node: &dyn Node, wanted: &Wanted) -> Result<Plan> {
    let state = state_of_this_boot(node)?;
    let claims = claim::join(&[], claim(node, &state, Owner::Node, wanted)?, &plan::online(node, &state)?)?;
    Plan::make(node, &state, &claims)
}

fn state_of_this_boot(node: &dyn Node) -> Result<State> {
    let state = journal::read(node)?;
    let this_boot = node::boot(node).is_ok_and(|boot| boot == state.boot);
    Ok(if this_boot { state } else { State::default() })
}

fn warn(node: &dyn Node, claim: &Claim) {
    for objection in topology::objections(node, &claim.cpus) {
        eprintln!("tacet tune: {objection}");
    }
}

/// Says what these claims would change, for `--dry-run`.
fn rehearse(node: &dyn Node, claims: impl FnOnce(&State) -> Result<Vec<Claim>>, json: bool) -> Result<ExitCode> {
    let state = state_of_this_boot(node)?;
    let rehearsed = rehearse::rehearse(node, &state, &claims(&state)?)?;
    if json {
        print_json(&rehearsed)?
    } else {
        print(&show::rehearsed(&rehearsed))?
    }
    Ok(ExitCode::SUCCESS)
}

fn apply(node: &dyn Node, owner: Owner, wanted: &Wanted, dry_run: bool, json: bool) -> Result<ExitCode> {
    if dry_run {
        return rehearse(node, |state| joined(node, state, owner, wanted), json);
    }
    let interrupted = watch()?;
    let journal = Journal::open(node)?;
    let before = journal.state.claims.clone();
    let claims = match joined(node, &journal.state, owner.clone(), wanted) {
        Ok(claims) => claims,
        Err(error) => return journal.close().and(Err(error)),
    };
    match apply::reconcile_unless(node, journal, &claims, &|| interrupted.signal().is_some())? {
        Some(done) => report(&done, json),
        None => take_back(node, &owner, &before, interrupted.signal().unwrap_or("a signal")),
    }
}

/// From here on signals end nothing: the command undoes what it did, or goes to its end.
fn watch() -> Result<Interrupted> {
    Interrupted::watch().map_err(|error| Error::io("signals", &error, ""))
}

/// The end of a command that a signal interrupted.
fn take_back(node: &dyn Node, owner: &Owner, before: &[Claim], signal: &str) -> Result<ExitCode> {
    let left = apply::take_claim_back(node, owner, before)?.not_restored.len();
    if left > 0 {
        let cause = format!("interrupted by {signal}; {left} of its changes are not given back");
        return Err(Error::new("apply", cause, "`tacet tune status` and `tacet tune undo`").with_status(NO));
    }
    let cause = format!("interrupted by {signal}: what it had changed is given back");
    Err(Error::new("apply", cause, "repeat the command").with_status(UNDONE))
}

/// The claims of the journal and this one.
fn joined(node: &dyn Node, state: &State, owner: Owner, wanted: &Wanted) -> Result<Vec<Claim>> {
    let new = claim(node, state, owner, wanted)?;
    warn(node, &new);
    claim::join(&state.claims, new, &plan::online(node, state)?)
}

fn undo(node: &dyn Node, dry_run: bool, json: bool) -> Result<ExitCode> {
    if dry_run {
        return rehearse(node, |_| Ok(Vec::new()), json);
    }
    // it goes to its end: half an undo is worse than a late one
    let _watched = watch()?;
    report(&apply::reconcile(node, Journal::open(node)?, &[])?, json)
}

#[derive(Serialize)]
struct Told<'a> {
    /// The kernel refused something; the status is 1 then.
    partial: bool,
    #[serde(flatten)]
    done: &'a Done,
}

fn report(done: &Done, json: bool) -> Result<ExitCode> {
    if json {
        print_json(&Told { partial: done.is_partial(), done })?
    } else {
        print(&show::done(done))?
    }
    Ok(if done.is_partial() { ExitCode::from(NO) } else { ExitCode::SUCCESS })
}

fn begin(node: &dyn Node, id: Owner, pid: Option<u32>, wanted: &Wanted, dry_run: bool, json: bool) -> Result<ExitCode> {
    if wanted.cpus.is_none() {
        return Err(Error::new(id, "its CPUs are missing", "give them with --cpus"));
    }
    let status = apply(node, id.clone(), wanted, dry_run, json)?;
    if let Some(pid) = pid.filter(|_| !dry_run) {
        run::enter(node, &id, pid)?;
    }
    Ok(status)
}

fn end(node: &dyn Node, id: &Owner, dry_run: bool, json: bool) -> Result<ExitCode> {
    // no claim of this job is no error: an epilogue may run twice, or after a reboot
    let rest =
        |state: &State| -> Vec<Claim> { state.claims.iter().filter(|claim| claim.owner != *id).cloned().collect() };
    if dry_run {
        return rehearse(node, |state| Ok(rest(state)), json);
    }
    let _watched = watch()?;
    let journal = Journal::open(node)?;
    let rest = rest(&journal.state);
    report(&apply::reconcile(node, journal, &rest)?, json)
}

fn verify(node: &dyn Node, json: bool) -> Result<ExitCode> {
    let verdict = verify::verify(node, &verify::applied(node)?)?;
    if json {
        print_json(&verdict)?
    } else {
        print(&show::verdict(&verdict))?
    }
    Ok(if verdict.holds() { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

#[derive(Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    state: &'a State,
    this_boot: bool,
}

fn status(node: &dyn Node, json: bool) -> Result<ExitCode> {
    let state = &journal::read(node)?;
    let this_boot = state.boot.is_empty() || node::boot(node).is_ok_and(|boot| boot == state.boot);
    if json {
        print_json(&Status { state, this_boot })?
    } else {
        print(&show::status(state, this_boot))?
    }
    Ok(ExitCode::SUCCESS)
}

fn list(name: Option<&str>, json: bool) -> Result<ExitCode> {
    let chosen = match name {
        Some(name) => vec![measures::named(name)?],
        None => measures::ALL.to_vec(),
    };
    if json {
        let about: Vec<_> = chosen.iter().map(|measure| measure.about()).collect();
        print(&tacet_words::json::list(&about).map_err(|error| Error::new("json", error, ""))?)?;
    } else {
        let text = chosen.first().filter(|_| name.is_some()).map_or_else(show::list, |one| show::about(one.about()));
        print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_json(value: &impl Serialize) -> Result<()> {
    print(&tacet_words::json::text(value).map_err(|error| Error::new("json", error, ""))?)
}

/// Prints. If the reader has gone away, the command ends quietly.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::io("standard output", &error, "")),
        _ => Ok(()),
    }
}
