// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet`: the command. It reads arguments and configuration, does one thing, prints the result, and exits with a
//! status that tells success from failure.
//!
//! It owns what a person sees. It changes the machine only through `tacet-ctl`.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod compare;
mod config;
mod output;
mod text;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use tacet_ctl::{Device, Error, Machine, Result};

use args::{Cli, Command};
use config::Config;

/// Wrong arguments or configuration.
const USAGE: u8 = 2;

/// Only `tacet static run` says it, to make the proxies of a job.
const PROXY: &str = "iod-proxy";

fn main() -> ExitCode {
    // before anything is opened: a proxy has the descriptors of its caller
    if std::env::args_os().nth(1).is_some_and(|word| word == PROXY) {
        tacet_iod::proxy::main();
    }
    match Cli::try_parse().map_err(usage).and_then(run) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.status())
        }
    }
}

fn run(cli: Cli) -> Result<u8> {
    let config = Config::read(cli.config.as_deref())?;
    let machine = cli.machine_root.map_or_else(Machine::default, Machine::at);
    let json = cli.json || config.json;
    match cli.command {
        Command::Up(args) => commands::up(&machine, args.or(config.up), json),
        Command::Down(args) => commands::down(&machine, args.or(config.down), json),
        Command::Status => commands::status(json),
        Command::Run(args) => commands::run(args.or(config.run), json),
        Command::Decouple(args) => commands::decouple(args.or(config.decouple), json),
        Command::Recouple(args) => commands::recouple(args.or(config.recouple), json),
        Command::Ps => commands::ps(json),
        Command::Top(args) => commands::top(&args, json),
        Command::Log(args) => commands::log(&machine, args.or(config.log), json),
        Command::Doctor => commands::doctor(&machine, json),
        Command::Node { command, args } => commands::node(command, args.or(config.node), json),
        Command::Static { command } => commands::static_nodes(command, config.static_nodes, json),
        Command::Iod(args) => commands::iod(&args),
        Command::Noise { arguments } => commands::beside("tacet-noise", arguments.into_iter().chain(json_flag(json))),
        // The flag comes first: the arguments may end with a command line that `tacet tune` executes.
        Command::Tune { arguments } => commands::beside("tacet-tune", json_flag(json).chain(arguments)),
        Command::Sched { arguments } => {
            let prints_facts = arguments.first().is_some_and(|word| word == "status" || word == "top");
            let flag = json_flag(json && prints_facts);
            commands::beside("tacet-sched", arguments.into_iter().chain(flag))
        }
        Command::Compare(args) => commands::compare(args, json),
        Command::Provoke { cpu, damage } => Device::open()?.test(cpu, damage as u32).map(|()| 0),
        Command::Man { directory } => commands::man(&directory),
        Command::Completions { shell } => commands::completions(shell),
    }
}

fn json_flag(json: bool) -> impl Iterator<Item = OsString> {
    json.then(|| OsString::from("--json")).into_iter()
}

/// Prints help and version unchanged; turns clap's report of a mistake into one line.
fn usage(error: clap::Error) -> Error {
    if let ErrorKind::DisplayHelp | ErrorKind::DisplayVersion = error.kind() {
        error.exit();
    }
    let text = error.render().to_string();
    let cause = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "no command is given".to_string()
        }
        _ => first_paragraph(&text),
    };
    Error::new("arguments", cause, "see `tacet --help`").with_status(USAGE)
}

fn first_paragraph(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let joined = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    joined.trim_start_matches("error: ").to_string()
}
