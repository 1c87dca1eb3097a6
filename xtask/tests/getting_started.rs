// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Executes docs/getting-started.md: the commands of its `console` blocks, in their order, in one folder. What a reader sees
//! must have the lines that the page shows.
//!
//! A line of the page with a digit is an example of one machine and is not compared; every other one must come, but for the
//! width of columns. `…` stands for lines that are left out. Blocks that need a node are named `console,node`, and are left
//! out. Must not assert what a machine measures.

mod programs;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PAGE: &str = "docs/getting-started.md";

/// A command, and the lines that the page shows below it.
#[derive(Debug, PartialEq)]
struct Step<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

#[test]
fn the_page_is_true() {
    let page = fs::read_to_string(programs::top().join(PAGE)).expect(PAGE);
    let steps = steps(&page);
    assert!(steps.len() > 6, "{PAGE} has {} commands", steps.len());
    let programs = programs::folder();
    let folder = tempfile::tempdir().expect("a folder");
    for step in steps {
        let output = execute(step.command, &programs, folder.path());
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let ended = output.status.code();
        // a verdict is the machine's
        let verdict = step.command.contains(" check ") || step.command.contains(" compare ") && ended == Some(2);
        let fine = ended == Some(0) || verdict && ended.is_some_and(|status| status < 3);
        assert!(fine, "{PAGE}: `{}`: {}\n{text}", step.command, output.status);
        let missing = missing(&step.shown, &text);
        assert_eq!(missing, None, "{PAGE}: `{}` does not print this line, but\n{text}", step.command);
    }
}

fn execute(command: &str, programs: &Path, folder: &Path) -> Output {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PATH", path).current_dir(folder).output().expect("sh")
}

fn steps(page: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(kind) => inside = kind == "console",
            None if !inside => {}
            None => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { command, shown: Vec::new() }),
                (None, Some(step)) => step.shown.push(line),
                (None, None) => panic!("{PAGE}: a block begins with output: {line}"),
            },
        }
    }
    steps
}

/// The first line without a digit that the text does not have.
fn missing<'a>(shown: &[&'a str], text: &str) -> Option<&'a str> {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(squeezed).collect();
    let fixed = |line: &&&str| !line.contains(|letter: char| letter.is_ascii_digit() || letter == '…');
    shown.iter().filter(fixed).find(|line| !lines.contains(&squeezed(line))).copied()
}

#[test]
fn what_the_page_shows_is_compared() {
    let page = "```\n$ no\n```\n```console,node\n$ no\n```\n```console\n$ tacet ps\n PID  NAME\n 4711  sleep\n…\n```\n";
    let steps = steps(page);
    assert_eq!(steps, [Step { command: "tacet ps", shown: vec![" PID  NAME", " 4711  sleep", "…"] }]);
    assert_eq!(missing(&steps[0].shown, "PID NAME\n1 x\n"), None);
    assert_eq!(missing(&steps[0].shown, "TID NAME\n"), Some(" PID  NAME"));
}
