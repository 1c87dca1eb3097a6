// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of a program's commands: they end each command's help and its man page.
//!
//! Each program has its table. `add` puts it into the description of the arguments, `written` reads it back from there,
//! and `wrong` parses each example, so that none outlives a change of the flags. Nothing here executes an example.

use std::ffi::OsString;

use clap::Command;

/// A command line as a person types it, and what it is for.
pub type Example = (&'static str, &'static str);

/// The examples of each command, by the words after the program's name.
pub type Examples = [(&'static str, &'static [Example])];

const HEADING: &str = "Examples:\n";

/// `command` with the examples at the end of its help. A command that has none of its own has the first of each
/// command below it.
pub fn add(command: Command, examples: &Examples) -> Command {
    below(command, &[], examples)
}

fn below(mut command: Command, words: &[String], examples: &Examples) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in &names {
        let words = [words, std::slice::from_ref(name)].concat();
        command = command.mut_subcommand(name, |command| below(command, &words, examples));
    }
    let path = words.join(" ");
    let mut shown: Vec<&Example> =
        examples.iter().filter(|(of, _)| *of == path).flat_map(|(_, all)| all.iter()).collect();
    if shown.is_empty() {
        let beneath = |of: &str| path.is_empty() || of.starts_with(&format!("{path} "));
        shown = examples.iter().filter(|(of, _)| beneath(of)).filter_map(|(_, all)| all.first()).collect();
    }
    if shown.is_empty() {
        return command;
    }
    let text: String = shown.iter().map(|(line, purpose)| format!("  {line}\n      {purpose}\n")).collect();
    let text = format!("{HEADING}{}", text.trim_end());
    match command.get_after_long_help().map(ToString::to_string) {
        Some(more) => command.after_help(text.clone()).after_long_help(format!("{text}\n\n{more}")),
        None => command.after_help(text),
    }
}

/// The examples in the text after a command's help, and the rest of that text.
pub fn written(after_help: &str) -> (Vec<(String, String)>, String) {
    let Some(text) = after_help.strip_prefix(HEADING) else { return (Vec::new(), after_help.to_owned()) };
    let (text, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let pairs = lines.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
    (pairs.collect(), rest.to_owned())
}

/// One line for each command of the program `named` without an example, and for each example that does not parse.
pub fn wrong(command: &Command, named: &str) -> Vec<String> {
    let after = command.get_after_long_help().or(command.get_after_help());
    let (examples, _) = written(&after.map(ToString::to_string).unwrap_or_default());
    wrong_below(command, command, named, named, &examples)
}

fn wrong_below(
    whole: &Command,
    command: &Command,
    program: &str,
    named: &str,
    examples: &[(String, String)],
) -> Vec<String> {
    let mut wrong: Vec<String> =
        examples.iter().filter_map(|(line, _)| unparsed(whole, program, named, line).err()).collect();
    if examples.is_empty() {
        wrong.push(format!("{named}: it has no example"));
    }
    // a stub for a program beside this one has the help of that program
    let subcommands =
        command.get_subcommands().filter(|below| !below.is_hide_set() && !below.is_disable_help_flag_set());
    for below in subcommands {
        let (examples, _) = written(&below.get_after_help().map(ToString::to_string).unwrap_or_default());
        wrong.extend(wrong_below(whole, below, program, &format!("{named} {}", below.get_name()), &examples));
    }
    wrong
}

fn unparsed(whole: &Command, program: &str, named: &str, line: &str) -> Result<(), String> {
    let words = shlex::split(line).ok_or_else(|| format!("{line}: its quotes do not close"))?;
    let words = words.strip_prefix(&["sudo".to_owned()]).unwrap_or(&words);
    if !words.join(" ").starts_with(named) {
        return Err(format!("{line}: it is an example of `{named}`"));
    }
    let own = words.iter().skip(program.split(' ').count());
    let words = std::iter::once(OsString::from(program)).chain(own.map(OsString::from));
    whole.clone().try_get_matches_from(words).map(drop).map_err(|error| format!("{line}: {error}"))
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction};

    use super::*;

    const EXAMPLES: &Examples = &[("run", &[("sudo t run --fast 'a b'", "run it fast"), ("t run a", "run it")])];

    fn program() -> Command {
        let fast = Arg::new("fast").long("fast").action(ArgAction::SetTrue);
        Command::new("t").subcommand(Command::new("run").arg(fast).arg(Arg::new("program").required(true)))
    }

    #[test]
    fn examples_end_the_help() {
        let mut command = add(program(), EXAMPLES);
        assert_eq!(wrong(&command, "t"), Vec::<String>::new());
        let help = command.find_subcommand_mut("run").expect("run").render_help().to_string();
        assert!(
            help.ends_with("Examples:\n  sudo t run --fast 'a b'\n      run it fast\n  t run a\n      run it\n"),
            "{help}"
        );
        let (of_all, _) = written(&command.get_after_help().expect("help").to_string());
        assert_eq!(of_all, [("sudo t run --fast 'a b'".to_owned(), "run it fast".to_owned())]);
    }

    #[test]
    fn an_example_that_rots_is_named() {
        assert_eq!(wrong(&program(), "t").len(), 2, "neither has an example");
        for line in ["t run", "t run --slow a", "t walk a", "t run 'a"] {
            let examples = [("run", Box::leak(Box::new([(line, "no")])) as &'static [Example])];
            let wrong = wrong(&add(program(), &examples), "t");
            assert!(!wrong.is_empty() && wrong.iter().all(|wrong| wrong.starts_with(line)), "{wrong:?}");
        }
    }
}
