// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flags that a configuration file saves: a table for each program of the family, in it one for each command.
//!
//! Called by [`Tool`](crate::Tool) before it reads the command line. A key is a flag's name; its value becomes that flag's
//! default, so the command line wins. `/etc/tacet.toml` comes first, then the user's own file.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use toml::{Table, Value};

const SYSTEM: &str = "/etc/tacet.toml";

/// The files that may be there, the weaker first.
pub fn files() -> Vec<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    [Some(PathBuf::from(SYSTEM)), own.map(|directory| directory.join("tacet.toml"))].into_iter().flatten().collect()
}

/// The command with the defaults of table `name` of these files, as far as they are there. The error is one line.
pub fn apply(mut command: Command, name: &str, files: &[PathBuf]) -> Result<Command, String> {
    for path in files {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        command = apply_text(command, name, path, &text)?;
    }
    Ok(command)
}

fn apply_text(command: Command, name: &str, path: &Path, text: &str) -> Result<Command, String> {
    let mut file: Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
        format!("{} line {}: {}", path.display(), before.matches('\n').count() + 1, error.message())
    })?;
    match file.remove(name) {
        None => Ok(command),
        Some(Value::Table(table)) => {
            defaults(command, table).map_err(|error| format!("{}: [{name}]: {error}", path.display()))
        }
        Some(_) => Err(format!("{}: `{name}` is no table; write [{name}]", path.display())),
    }
}

/// Tables are commands, everything else is a flag.
fn defaults(mut command: Command, table: Table) -> Result<Command, String> {
    for (key, value) in table {
        command = match value {
            Value::Table(below) => {
                let found =
                    command.find_subcommand(&key).filter(|found| found.get_name() == key && !found.is_hide_set());
                if found.is_none() {
                    return Err(format!("no such command: {key}"));
                }
                let mut error = None;
                let command = command.mut_subcommand(&key, |old| match defaults(old.clone(), below) {
                    Ok(new) => new,
                    Err(told) => {
                        error = Some(format!("{key}: {told}"));
                        old
                    }
                });
                error.map_or(Ok(command), Err)?
            }
            value => {
                let flag = command.get_arguments().find(|arg| arg.get_long() == Some(&key) && !arg.is_hide_set());
                let flag = flag.ok_or_else(|| format!("no such flag: {key}"))?;
                let (id, words) = (
                    flag.get_id().clone(),
                    words(flag, &value).ok_or_else(|| format!("{key}: the flag takes no such value"))?,
                );
                command.mut_arg(id, |arg| arg.required(false).default_values(words))
            }
        };
    }
    Ok(command)
}

/// What a person would have typed behind the flag.
fn words(flag: &Arg, value: &Value) -> Option<Vec<String>> {
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    match (flag.get_action(), value) {
        (ArgAction::SetTrue | ArgAction::SetFalse, Value::Boolean(set)) => Some(vec![set.to_string()]),
        (ArgAction::SetTrue | ArgAction::SetFalse, _) => None,
        (ArgAction::Append, Value::Array(values)) => values.iter().map(word).collect(),
        (_, value) => Some(vec![word(value)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let flag = |name: &'static str| Arg::new(name).long(name);
        let measure = Command::new("measure")
            .arg(flag("cpus").required(true))
            .arg(flag("quantum").default_value("1ms"))
            .arg(flag("quiet").action(ArgAction::SetTrue))
            .arg(flag("with").action(ArgAction::Append));
        Command::new("tacet noise").subcommand(measure)
    }

    fn with(text: &str) -> Result<Command, String> {
        apply_text(command(), "noise", Path::new("/etc/tacet.toml"), text)
    }

    #[test]
    fn a_saved_flag_is_a_default_and_the_command_line_wins() {
        let text =
            "[up]\ncpus = '1'\n[noise.measure]\ncpus = '2-3'\nquantum = '6ms'\nquiet = true\nwith = ['a', 'b']\n";
        let read = |words: &[&str]| {
            let matches = with(text).unwrap().try_get_matches_from(words).unwrap();
            let (_, found) = matches.subcommand().unwrap();
            let one = |name: &str| found.get_one::<String>(name).unwrap().clone();
            let with: Vec<String> = found.get_many::<String>("with").unwrap().cloned().collect();
            (one("cpus"), one("quantum"), found.get_flag("quiet"), with.join(" "))
        };
        let saved = ("2-3".to_owned(), "6ms".to_owned(), true, "a b".to_owned());
        assert_eq!(read(&["x", "measure"]), saved);
        let typed = ("5".to_owned(), "6ms".to_owned(), true, "c".to_owned());
        assert_eq!(read(&["x", "measure", "--cpus", "5", "--with", "c"]), typed);
    }

    #[test]
    fn mistakes_name_the_file_and_what_is_wrong() {
        for (text, told) in [
            ("[noise.measur]\ncpus = '1'\n", "/etc/tacet.toml: [noise]: no such command: measur"),
            ("[noise.measure]\ncpu = '1'\n", "/etc/tacet.toml: [noise]: measure: no such flag: cpu"),
            (
                "[noise.measure]\nquiet = 'yes'\n",
                "/etc/tacet.toml: [noise]: measure: quiet: the flag takes no such value",
            ),
            ("noise = 1\n", "/etc/tacet.toml: `noise` is no table; write [noise]"),
        ] {
            assert_eq!(with(text).unwrap_err(), told);
        }
        assert!(with("\n[noise").unwrap_err().starts_with("/etc/tacet.toml line 2: "));
        assert!(with("[up]\nanything = 1\n").is_ok(), "another program's");
    }
}
