// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Man pages and shell completions, from the description of the arguments.

use std::path::Path;

use tacet_ctl::{Error, Result};
use tacet_words::describe::Described;
use tacet_words::pages;

use super::family::whole;
use crate::args::described;
use crate::output;

pub fn man(directory: &Path) -> Result<u8> {
    let fail = |io: std::io::Error| Error::io(directory.display(), &io, "name a directory that can be written");
    pages::write(described(), directory).map_err(fail)?;
    Ok(0)
}

pub fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut text = Vec::new();
    // without what is hidden: clap would offer that, too
    clap_complete::generate(shell, &mut Described::of(&whole()).command(), "tacet", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
