// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Man pages, from the description of the arguments. Each page has its examples in a section EXAMPLES.
//!
//! Called by the hidden command `man` of each program of the family, for `packaging/install.sh`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::examples;

/// Writes a page for `command` and for each command below it into `directory`, which is made if it is missing.
pub fn write(command: Command, directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    below(&command, directory)
}

fn below(command: &Command, directory: &Path) -> io::Result<()> {
    // a stub for a program beside this one has the page of that program
    for command in command.get_subcommands().filter(|below| !below.is_hide_set() && !below.is_disable_help_flag_set()) {
        below(command, directory)?;
    }
    let man = Man::new(command.clone());
    let mut page = File::create(directory.join(man.get_filename()))?;
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    let (examples, rest) = examples::written(&after.map(ToString::to_string).unwrap_or_default());
    let mut roff = Roff::new();
    if !rest.is_empty() {
        roff.control("SH", ["NOTES"]).control("nf", []).text([roman(rest)]).control("fi", []);
    }
    roff.control("SH", ["EXAMPLES"]);
    for (line, purpose) in examples {
        roff.control("TP", []).text([bold(line)]).text([roman(purpose)]);
    }
    roff.to_writer(&mut page)?;
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    page.flush()
}
