// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Generates man pages and shell completions from the description of the flags; called by `packaging/install.sh`.

use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use tacet_words::describe::Described;
use tacet_words::pages;

use super::print;
use crate::Result;
use crate::examples::described;

/// The description of the flags, under the name of the program and of its man pages.
fn command() -> Command {
    described().name("tacet-noise").bin_name("tacet-noise")
}

pub fn man(directory: &Path) -> Result<ExitCode> {
    let failed = |error| format!("{}: {error}: name a writable directory", directory.display());
    pages::write(command(), directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "tacet-noise", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Prints the description for `tacet`, which completes our words too.
pub fn describe() -> Result<ExitCode> {
    print(&(serde_json::to_string(&Described::of(&described()))? + "\n"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a folder");
        man(folder.path()).expect("pages");
        for page in ["tacet-noise.1", "tacet-noise-measure.1", "tacet-noise-trace.1", "tacet-noise-report.1"] {
            let text = fs::read_to_string(folder.path().join(page)).expect(page);
            assert!([".SH NAME", ".SH OPTIONS", ".SH EXAMPLES\n.TP"].iter().all(|part| text.contains(part)), "{page}");
        }
        assert!(!folder.path().join("tacet-noise-man.1").exists(), "hidden commands have no page");
    }
}
