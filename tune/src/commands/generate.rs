// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Man pages and shell completions, from the description of the flags; `packaging/install.sh` generates them.

use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use tacet_words::describe::Described;
use tacet_words::pages;

use super::{print, print_json};
use crate::error::{Error, Result};
use crate::examples::described;

/// The command under the program's name, which is also the name of its man pages.
fn command() -> Command {
    described().name("tacet-tune").bin_name("tacet-tune")
}

pub fn man(directory: &Path) -> Result<ExitCode> {
    let failed = |error| Error::io(directory.display(), &error, "name a directory that can be written");
    pages::write(command(), directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "tacet-tune", &mut text);
    print(&String::from_utf8_lossy(&text)).map(|()| ExitCode::SUCCESS)
}

/// Prints the description for `tacet`, which completes our words too.
pub fn describe() -> Result<ExitCode> {
    print_json(&Described::of(&described())).map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a folder");
        man(folder.path()).expect("pages");
        for page in ["tacet-tune.1", "tacet-tune-plan.1", "tacet-tune-apply.1", "tacet-tune-job-begin.1"] {
            let text = fs::read_to_string(folder.path().join(page)).expect(page);
            assert!([".SH NAME", ".SH OPTIONS", ".SH EXAMPLES\n.TP"].iter().all(|part| text.contains(part)), "{page}");
        }
        assert!(!folder.path().join("tacet-tune-man.1").exists(), "hidden commands have no page");
    }
}
