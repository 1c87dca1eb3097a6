// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command's description as data: a program of the family prints its own, and `tacet` makes one command of all.
//!
//! `tacet` needs it for completions, for the nearest command to one that does not exist, and for the contract's test.
//! It must never contain a hidden command or flag.

use clap::{Arg, ArgAction, Command, ValueHint};
use serde::{Deserialize, Serialize};

/// The hidden command that prints the description of a program of the family.
pub const COMMAND: &str = "describe";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Described {
    pub name: String,
    pub about: String,
    pub after_help: String,
    pub flags: Vec<Flag>,
    pub commands: Vec<Described>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flag {
    pub id: String,
    pub long: Option<String>,
    pub short: Option<char>,
    pub help: String,
    /// Empty for a switch.
    pub value: Vec<String>,
    pub possible: Vec<String>,
    pub global: bool,
    pub required: bool,
    /// Takes the rest of the command line.
    pub trailing: bool,
    /// The value is a path.
    pub path: bool,
}

impl Described {
    /// `command` has not been built: what clap adds to it is not part of the description.
    pub fn of(command: &Command) -> Described {
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string).unwrap_or_default();
        Described {
            name: command.get_name().to_owned(),
            about: text(command.get_about()),
            after_help: text(command.get_after_long_help().or(command.get_after_help())),
            flags: command.get_arguments().filter(|flag| !flag.is_hide_set()).map(Flag::of).collect(),
            commands: commands.map(Described::of).collect(),
        }
    }

    /// A command of clap's with this description.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.name.clone()).about(self.about.clone());
        if !self.after_help.is_empty() {
            command = command.after_help(self.after_help.clone());
        }
        let command = command.args(self.flags.iter().map(Flag::arg));
        command.subcommands(self.commands.iter().map(Described::command))
    }

    /// Each command below this one, with the words that lead to it.
    pub fn leaves(&self, words: &[String]) -> Vec<(Vec<String>, &Described)> {
        if self.commands.is_empty() {
            return vec![(words.to_vec(), self)];
        }
        let below = |command: &Described| [words, std::slice::from_ref(&command.name)].concat();
        self.commands.iter().flat_map(|command| command.leaves(&below(command))).collect()
    }
}

impl Flag {
    fn of(arg: &Arg) -> Flag {
        let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        let names = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string);
        let value =
            if takes && names.len() == 0 { vec![arg.get_id().as_str().to_uppercase()] } else { names.collect() };
        let hint = arg.get_value_hint();
        let path = matches!(hint, ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath)
            || value.iter().any(|name| ["FILE", "DIR", "RECORD", "DIRECTORY"].contains(&name.as_str()));
        Flag {
            id: arg.get_id().to_string(),
            long: arg.get_long().map(str::to_owned),
            short: arg.get_short(),
            help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
            value: if takes { value } else { Vec::new() },
            possible: arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
            global: arg.is_global_set(),
            required: arg.is_required_set(),
            trailing: arg.is_trailing_var_arg_set(),
            path: path && takes,
        }
    }

    fn arg(&self) -> Arg {
        let mut arg = Arg::new(self.id.clone()).help(self.help.clone()).global(self.global).required(self.required);
        if let Some(long) = &self.long {
            arg = arg.long(long.clone());
        }
        if let Some(short) = self.short {
            arg = arg.short(short);
        }
        if self.value.is_empty() {
            return arg.action(ArgAction::SetTrue);
        }
        arg = arg.value_names(self.value.clone());
        if self.trailing {
            arg = arg.trailing_var_arg(true).num_args(1..);
        }
        if self.path {
            arg = arg.value_hint(ValueHint::AnyPath);
        }
        if self.possible.is_empty() {
            arg
        } else {
            arg.value_parser(clap::builder::PossibleValuesParser::new(self.possible.clone()))
        }
    }
}
