// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program of the family: how it reads its arguments, and how it ends with an error.
//!
//! Called by each program's `main`. With an error there is one line on standard error, and with `--json` one object on
//! standard output.

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, Parser};
use serde::Serialize;

use crate::json;
use crate::{config, plain, status, usage};

/// A program of the family.
pub struct Tool {
    /// What a person types: `tacet noise`.
    pub name: &'static str,
    /// The description of its arguments.
    pub command: fn() -> Command,
    /// Its commands that end with the status of another program, as `env` and `timeout` do.
    pub runners: &'static [&'static str],
}

/// An error with an exit status of its own, for programs whose errors are boxes.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    text: String,
}

impl Failure {
    pub fn new(status: u8, text: impl fmt::Display) -> Failure {
        Failure { status, text: text.to_string() }
    }

    /// The machine, its kernel or the user's rights do not allow it.
    pub fn machine(text: impl fmt::Display) -> Failure {
        Failure::new(status::MACHINE, text)
    }

    /// A program could not be executed: the statuses of a shell.
    pub fn not_executed(program: impl fmt::Display, error: &std::io::Error) -> Failure {
        let status = match error.kind() {
            std::io::ErrorKind::NotFound => status::NOT_FOUND,
            _ => status::NOT_EXECUTABLE,
        };
        Failure::new(status, format!("{program}: {error}; name a program that can be executed"))
    }

    /// The status of any error: its own, or that of wrong arguments.
    pub fn status_of(error: &(dyn std::error::Error + 'static)) -> u8 {
        error.downcast_ref::<Failure>().map_or(status::USAGE, |failure| failure.status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

#[derive(Serialize)]
struct Outer<'a> {
    error: Inner<'a>,
}

#[derive(Serialize)]
struct Inner<'a> {
    command: &'a str,
    status: u8,
    message: &'a str,
}

impl Tool {
    /// The arguments, with what a configuration file saves; otherwise help, version or an error was printed, and the program ends with the status.
    pub fn parse<P: Parser>(&self) -> Result<P, ExitCode> {
        let table = self.name.rsplit(' ').next().unwrap_or(self.name);
        let command = config::apply((self.command)(), table, &config::files());
        let command = command.map_err(|told| self.fail(status::USAGE, told, false))?;
        self.read_by(command).map_err(|error| self.refuse(&error, None))
    }

    /// The arguments, or clap's error; help ends with the examples. To describe these costs more than all else of a
    /// start, so they are left out until something is to be shown.
    pub fn read<P: Parser>(&self) -> Result<P, clap::Error> {
        self.read_by(P::command()).or_else(|_| self.read_by((self.command)()))
    }

    fn read_by<P: Parser>(&self, mut command: Command) -> Result<P, clap::Error> {
        let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
        P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }

    /// Ends after clap's `error`. `instead` is a better line about it.
    pub fn refuse(&self, error: &clap::Error, instead: Option<String>) -> ExitCode {
        if let ErrorKind::DisplayHelp | ErrorKind::DisplayVersion = error.kind() {
            // A reader that goes away early is no error.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        let place = self.place();
        let line = instead.unwrap_or_else(|| usage::line(error, &self.named(&place)));
        self.end(&place, status::USAGE, &line, false)
    }

    /// Ends with an error. With `json` also without the flag: a configuration file may say so.
    pub fn fail(&self, status: u8, message: impl fmt::Display, json: bool) -> ExitCode {
        self.end(&self.place(), status, &plain::line(&message.to_string()), json)
    }

    fn end(&self, place: &Place, status: u8, line: &str, json: bool) -> ExitCode {
        let runs = self.runners.contains(&place.path.join(" ").as_str());
        let status = if runs && status < status::RUNNER { status::RUNNER } else { status };
        if json || place.json {
            let error = Inner { command: &self.named(place), status, message: line };
            let text = json::line(&Outer { error }).unwrap_or_default();
            let _ = write!(std::io::stdout(), "{text}");
        }
        let _ = writeln!(std::io::stderr(), "{}: {line}", self.name);
        ExitCode::from(status)
    }

    fn named(&self, place: &Place) -> String {
        [&[self.name.to_owned()], &place.path[..]].concat().join(" ")
    }

    fn place(&self) -> Place {
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let mut command = (self.command)();
        command.build();
        Place::find(&command, &words)
    }
}

/// The command that a command line names, and whether it asks for JSON; also of one that is wrong.
#[derive(Debug, Default, PartialEq)]
struct Place {
    path: Vec<String>,
    json: bool,
}

impl Place {
    fn find(mut command: &Command, words: &[OsString]) -> Place {
        let (mut place, mut words) = (Place::default(), words.iter());
        while let Some(word) = words.next() {
            let word = word.to_string_lossy();
            let flag = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
            match flag {
                Some("") => break,
                Some(flag) => {
                    place.json |= word == "--json";
                    if !flag.contains('=') && takes_value(command, flag) {
                        words.next();
                    }
                }
                None => match command.find_subcommand(&*word) {
                    Some(below) => {
                        command = below;
                        place.path.push(below.get_name().to_owned());
                    }
                    None if command.get_arguments().any(Arg::is_trailing_var_arg_set) => break,
                    None => (),
                },
            }
        }
        place
    }
}

fn takes_value(command: &Command, flag: &str) -> bool {
    let named = |arg: &&Arg| {
        let short = arg.get_short().is_some_and(|short| flag == short.to_string());
        short || arg.get_long() == Some(flag) || arg.get_all_aliases().is_some_and(|all| all.contains(&flag))
    };
    let found = command.get_arguments().find(named);
    found.is_some_and(|arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: &str) -> Place {
        let run = Command::new("run")
            .arg(Arg::new("cpus").long("cpus"))
            .arg(Arg::new("command").num_args(1..).trailing_var_arg(true));
        let json = Arg::new("json").long("json").action(ArgAction::SetTrue).global(true);
        let mut command = Command::new("t").arg(json).subcommand(run);
        command.build();
        Place::find(&command, &line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_of_a_wrong_line_is_found() {
        let run = |json| Place { path: vec!["run".to_owned()], json };
        assert_eq!(place("run --cpus run --json --nonsense"), run(true));
        assert_eq!(place("--json run a.out"), run(true));
        assert_eq!(place("run a.out --json"), run(false), "the program's own flag");
        assert_eq!(place("run -- --json"), run(false));
        assert_eq!(place("nonsense --json"), Place { path: vec![], json: true });
    }
}
