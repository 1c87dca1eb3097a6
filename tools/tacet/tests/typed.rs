// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the pages show is typed into the interactive shell of a node, on a terminal.
//!
//! Boots nodes: `cargo xtask build`, then `cargo test -p tacet-cli --test typed -- --ignored`.

use std::path::{Path, PathBuf};
use std::process::Command;

use rexpect::session::{PtySession, spawn_command};

/// For each command; nodes are emulated.
const PATIENCE_MS: u64 = 300_000;
/// Whoever types sees it after each command, with the status.
const PROMPT: &str = "typed=$?> ";
const PROMPT_BEGINS: &str = "typed=";

/// What a page has in place of a program, a process and a script of the reader's; MPI is not in a node.
const REPLACED: [(&str, &str); 4] = [
    ("python3 app.py", "python3 -c 'print(6 * 7)'"),
    ("./a.out", "/usr/bin/true"),
    ("tacet decouple 4711", "sleep 1000 & tacet decouple $! && tacet recouple $! && kill $!"),
    ("mpirun -n 2 ", ""),
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(path: &str) -> String {
    std::fs::read_to_string(top().join(path)).expect(path)
}

/// The commands behind `mark` in a page's first block after `heading`, without comments.
fn commands(page: &str, heading: &str, mark: &str) -> Vec<String> {
    let section = &page[page.find(heading).expect(heading)..];
    let block = |text: &str| text.split("```").nth(1).map(str::to_owned);
    let blocks = section.split("\n## ").next().and_then(block).expect("a block");
    let line = |line: &str| {
        let command = line.strip_prefix(mark)?.split("  #").next()?.split("; `").next()?.trim().to_owned();
        Some(REPLACED.iter().fold(command, |command, (shown, typed)| command.replace(shown, typed)))
    };
    blocks.lines().filter_map(line).collect()
}

/// A terminal with the shell of a node.
fn shell(kernel: &str) -> PtySession {
    let mut command = Command::new(top().join("build/bin/tacet"));
    command.args(["node", "--kernel", kernel, "shell"]);
    let mut session = spawn_command(command, Some(PATIENCE_MS)).expect("a terminal");
    session.exp_string("# ").expect("a prompt");
    session.send_line(&format!("bind 'set enable-bracketed-paste off'; PS1='{PROMPT}'")).expect("typing");
    // what is typed is echoed: the prompt follows it
    session.exp_string(&format!("{PROMPT}'")).expect("its echo");
    session.exp_string(PROMPT_BEGINS).expect("the new prompt");
    session.exp_string("> ").expect("the new prompt");
    session
}

/// Types each command; each must end with 0. Returns what was on the screen.
fn type_all(kernel: &str, commands: &[String]) -> String {
    let mut session = shell(kernel);
    let mut screen = String::new();
    for command in commands {
        session.send_line(command).expect("typing");
        let said = session.exp_string(PROMPT_BEGINS).unwrap_or_else(|e| panic!("{kernel}: {command}: {e}"));
        let status = session.exp_string("> ").expect("a status");
        assert_eq!(status, "0", "{kernel}: {command}\n{said}");
        screen.push_str(&said);
    }
    session.send_line("exit").expect("typing");
    session.exp_eof().expect("the end of the node");
    screen
}

#[test]
#[ignore = "boots a node"]
fn getting_started_on_its_kernel() {
    let page = page("docs/getting-started.md");
    let typed = commands(&page, "## A program on a core", "# ");
    assert!(typed.len() >= 4 && page.contains("build/bin/tacet node --kernel 7 shell"), "{typed:?}");
    let screen = type_all("7", &typed);
    for said in ["up: CPUs 2-3, 256 MiB", "499999500000", "forwarded-call", "sleep", "down: CPUs 2-3 back"] {
        assert!(screen.contains(said), "`{said}` is not in\n{screen}");
    }
}

#[test]
#[ignore = "boots a node"]
fn the_third_step_of_the_readme() {
    let typed = commands(&page("README.md"), "## 3. Cores without", "$ ");
    assert!(typed.len() >= 10, "{typed:?}");
    let screen = type_all("6.12", &typed);
    for said in ["up: CPUs 2-3, 1 GiB", "42", "PID", "down: CPUs 2-3 back"] {
        assert!(screen.contains(said), "`{said}` is not in\n{screen}");
    }
}

#[test]
fn commands_of_a_page_are_found() {
    let page =
        "# A\n## B\n```\n$ tacet up --cpus 2   # a word\n$ tacet decouple 4711   # moves; `tacet recouple 4711`\n```\n";
    assert_eq!(commands(page, "## B", "$ "), ["tacet up --cpus 2", REPLACED[2].1]);
}
