// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The family: `tacet` and the programs beside it. One description of all commands, for completions, for help, and for a
//! command that was looked for in the wrong program.
//!
//! It knows the other programs only by what they print about themselves. Without them it does without.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tacet_ctl::Result;
use tacet_words::describe::{COMMAND, Described};
use tacet_words::nearest;

use super::beside::{beside, program};
use crate::args::described as own;
use crate::output;

/// Our words for the programs beside this one, and their files.
const BESIDE: [(&str, &str); 3] = [("noise", "tacet-noise"), ("sched", "tacet-sched"), ("tune", "tacet-tune")];

/// The whole family as one command.
pub fn whole() -> clap::Command {
    let described = BESIDE.iter().filter_map(|(word, file)| Some((*word, described(file)?)));
    described.fold(own(), |whole, (word, tool)| {
        whole.mut_subcommand(word, |stub| {
            let about = stub.get_about().cloned().unwrap_or_default();
            tool.command().name(word).about(about)
        })
    })
}

/// Prints the description of the whole family, for the contract's test.
pub fn describe() -> Result<u8> {
    output::json_line(&Described::of(&whole()))?;
    Ok(0)
}

fn described(file: &str) -> Option<Described> {
    let said = Command::new(program(file)).arg(COMMAND).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    serde_json::from_slice(&said.stdout).ok()
}

/// `tacet help noise …` is the laboratory's own help; returns only if there is an error, or nothing to do.
pub fn help(words: &[OsString]) -> Option<Result<u8>> {
    let [help, word, rest @ ..] = words else { return None };
    let (_, file) = BESIDE.iter().find(|(ours, _)| help == "help" && word == ours)?;
    Some(beside(file, std::iter::once(help).chain(rest).cloned()))
}

/// A better line about a command that does not exist here: `tacet measure` is `tacet noise measure`.
pub fn elsewhere(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let top = own();
    let ours: Vec<&str> = top.get_subcommands().map(clap::Command::get_name).collect();
    // below a command of ours clap's own suggestion is right
    let first = std::env::args_os().skip(1).find(|word| !word.to_string_lossy().starts_with('-'))?;
    if error.kind() != ErrorKind::InvalidSubcommand || first != wrong.as_str() {
        return None;
    }
    let all = BESIDE.iter().filter_map(|(word, file)| Some((*word, described(file)?)));
    let named = all.flat_map(|(word, tool)| tool.commands.into_iter().map(move |command| (word, command.name)));
    let named: Vec<(&str, String)> = named.collect();
    let near = nearest(wrong, named.iter().map(|(_, name)| name.as_str()))?.to_owned();
    if near != *wrong && nearest(wrong, ours).is_some() {
        return None;
    }
    let full: Vec<String> =
        named.iter().filter(|(_, name)| *name == near).map(|(word, name)| format!("`tacet {word} {name}`")).collect();
    Some(format!("`{wrong}`: there is no such command; did you mean {}? see `tacet --help`", full.join(" or ")))
}
