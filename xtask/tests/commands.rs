// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every `tacet …` that a document shows, in a block or within a sentence: its words are commands, and each of its flags is one
//! that the command's help names. Nothing is executed but `--help`.

mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// Shows wrong commands on purpose.
const EXCEPT: &str = "command-line.md";

#[test]
fn documents_show_commands_that_exist() {
    let mut helps = Helps { programs: programs::folder(), texts: BTreeMap::new() };
    let mut checked = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for command in commands(&text) {
            checked += 1;
            wrong.extend(helps.wrong(&command).map(|cause| format!("{}: `{command}`: {cause}", page.display())));
        }
    }
    assert!(checked > 100, "{checked} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn pages() -> Vec<PathBuf> {
    let top = programs::top();
    let mut pages: Vec<PathBuf> = ["README.md", "CAVEATS.md", "SPECIFICATION.md"].map(|name| top.join(name)).into();
    for folder in ["docs", "docs/caveats"] {
        let entries = fs::read_dir(top.join(folder)).expect("documents").map(|entry| entry.expect("a file").path());
        pages.extend(
            entries.filter(|path| path.extension().is_some_and(|ending| ending == "md") && !path.ends_with(EXCEPT)),
        );
    }
    pages
}

/// The commands of a page, without what follows them.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block = false;
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => block = true,
            Event::End(TagEnd::CodeBlock) => block = false,
            Event::Text(text) if block => found.extend(text.lines().filter_map(command)),
            Event::Code(text) => found.extend(command(&text)),
            _ => {}
        }
    }
    found
}

fn command(line: &str) -> Option<String> {
    let line = line.trim_start_matches(['$', '#']).trim_start();
    let ended = ["  #", " # ", " | ", ";", " && ", " || ", " >", " &"];
    let line = ended.iter().fold(line, |line, end| line.split_once(end).map_or(line, |(before, _)| before));
    line.strip_prefix("tacet ").map(|words| words.trim().to_owned())
}

/// The texts of `--help`, by command.
struct Helps {
    programs: PathBuf,
    texts: BTreeMap<Vec<String>, String>,
}

impl Helps {
    fn text(&mut self, path: &[String]) -> &str {
        let mut tacet = Command::new(self.programs.join("tacet"));
        self.texts.entry(path.to_vec()).or_insert_with(|| {
            let output = tacet.args(path).arg("--help").output().expect("tacet");
            assert!(output.status.success(), "tacet {path:?} --help: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    }

    /// The reason why this command is wrong.
    fn wrong(&mut self, command: &str) -> Option<String> {
        let mut path: Vec<String> = Vec::new();
        for word in command.split_whitespace().take_while(|word| *word != "--") {
            let help = self.text(&path);
            if let Some(flag) = word.strip_prefix("--") {
                let flag = flag.split(['=', ',', '.']).next().unwrap_or_default();
                if !names_flag(help, flag) {
                    return Some(format!("no flag --{flag}"));
                }
            } else if names_command(help, word) {
                path.push(word.to_owned());
            } else if path.is_empty() && word.starts_with(|letter: char| letter.is_ascii_lowercase()) {
                return Some(format!("no command {word}"));
            }
        }
        None
    }
}

fn names_flag(help: &str, flag: &str) -> bool {
    let flag = format!("--{flag}");
    help.split([' ', '\n', ',', '[', '`', '=']).any(|word| word == flag)
}

/// Commands stand below `Commands:`, two columns from the left.
fn names_command(help: &str, word: &str) -> bool {
    let list = help.split_once("Commands:\n").map_or("", |(_, list)| list);
    let list = list.split_once("\n\n").map_or(list, |(list, _)| list);
    list.lines().any(|line| line.strip_prefix("  ").and_then(|line| line.split(' ').next()) == Some(word))
}

#[test]
fn flags_and_words_are_found() {
    let page = "Say `tacet up --cpus 2`.\n\n```\n$ tacet run --bind x -- ./a --b   # it\nmpirun tacet\n```\n";
    assert_eq!(commands(page), ["up --cpus 2", "run --bind x -- ./a --b"]);
    let help = "Usage\n\nCommands:\n  up    Take\n        more\n  down  Stop\n\nOptions:\n      --cpus <LIST>  CPUs\n";
    assert!(names_command(help, "up") && !names_command(help, "more") && !names_command(help, "Options:"));
    assert!(names_flag(help, "cpus") && !names_flag(help, "cpu"));
}
