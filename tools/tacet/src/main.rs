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
mod screen;
mod text;

use std::ffi::OsString;
use std::process::ExitCode;

use tacet_ctl::{Device, Machine, Result};
use tacet_words::Tool;

use args::{Cli, Command};
use config::Config;

/// Only `tacet static run` says it, to make the proxies of a job.
const PROXY: &str = "iod-proxy";

const TOOL: Tool =
    Tool { name: "tacet", command: args::described, runners: &["run", "node run", "node cluster run", "static run"] };

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // before anything is opened: a proxy has the descriptors of its caller
    if words.first().is_some_and(|word| word == PROXY) {
        tacet_iod::proxy::main();
    }
    if let Some(failed) = commands::help(&words) {
        return ended(failed, false);
    }
    let cli = match TOOL.read::<Cli>() {
        Ok(cli) => cli,
        Err(error) => return TOOL.refuse(&error, commands::elsewhere(&error)),
    };
    match Config::read(cli.config.as_deref()) {
        Ok(config) => {
            let json = cli.json || config.json;
            ended(run(cli, config, json), json)
        }
        Err(error) => TOOL.fail(error.status(), &error, false),
    }
}

fn ended(result: Result<u8>, json: bool) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => TOOL.fail(error.status(), &error, json),
    }
}

fn run(cli: Cli, config: Config, json: bool) -> Result<u8> {
    let machine = cli.machine_root.map_or_else(Machine::default, Machine::at);
    match cli.command {
        Command::Up(args) => commands::up(&machine, args.or(config.up), json),
        Command::Down(args) => commands::down(&machine, args.or(config.down), json),
        Command::Grow(args) => commands::grow(&args, json),
        Command::Shrink(args) => commands::shrink(&args, json),
        Command::Job { command } => commands::job(&machine, command, config.job.keep, json),
        Command::Status => commands::status(json),
        Command::Run(args) => commands::run(args.or(config.run), json),
        Command::Decouple(args) => commands::decouple(args.or(config.decouple), json),
        Command::Recouple(args) => commands::recouple(args.or(config.recouple), json),
        Command::Ps => commands::ps(json),
        Command::Top(args) => commands::top(&args, json),
        Command::Pico => commands::pico(&machine, json),
        Command::Log(args) => commands::log(&machine, args.or(config.log), json),
        Command::Doctor { slurm: false } => commands::doctor(&machine, json),
        Command::Doctor { slurm: true } => commands::doctor_of_slurm(&machine, json),
        Command::Node { command, args } => commands::node(command, args.or(config.node), json),
        Command::Static { command } => commands::static_nodes(command, config.static_nodes, json),
        Command::Iod(args) => commands::iod(&args, json),
        Command::Noise { arguments } => commands::beside("tacet-noise", arguments.into_iter().chain(json_flag(json))),
        // The flag comes first: the arguments may end with the command line of a program.
        Command::Tune { arguments } => commands::beside("tacet-tune", json_flag(json).chain(arguments)),
        Command::Sched { arguments } => commands::beside("tacet-sched", json_flag(json).chain(arguments)),
        Command::Compare(args) => commands::compare(args, json),
        Command::Provoke { cpu, damage } => Device::open()?.test(cpu, damage as u32).map(|()| 0),
        Command::Man { directory } => commands::man(&directory),
        Command::Completions { shell } => commands::completions(shell),
        Command::Describe => commands::describe(),
    }
}

fn json_flag(json: bool) -> impl Iterator<Item = OsString> {
    json.then(|| OsString::from("--json")).into_iter()
}
