// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One running emulated node: the emulator's process and, with most links, the bridge.
//!
//! Owned by the keeper of a set. Dropping it ends both. The emulator dies with the keeper in any case (`tacet_node`).

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitStatus;

use tacet_ctl::status::MACHINE;
use tacet_ctl::{Error, Result};
use tacet_node::{Guarded, Qemu};

use super::arguments::{Files, arguments, settings};
use crate::bridge::{Bridge, Framing};
use crate::spec::{Link, Spec};

pub struct Emulated {
    process: Guarded,
    _bridge: Option<Bridge>,
}

impl Emulated {
    /// Starts one node whose kernel gets `words`.
    pub fn start(qemu: &Qemu, spec: &Spec, kvm: bool, files: &Files, words: &str) -> Result<Emulated> {
        write_private(&files.settings, &settings(words))?;
        // there from the beginning, so that a reader of the console can open it
        write_private(&files.console, "")?;
        // the emulator connects at its start
        let framing = match spec.link {
            Link::Net => None,
            Link::Bridge => Some(Framing::Cable),
            Link::Console | Link::Com2 => Some(Framing::Line),
        };
        let bridge = framing.map(|framing| Bridge::listen(&files.link, framing)).transpose()?;
        let mut command = qemu.command();
        command.args(arguments(spec, files, qemu.version, kvm));
        // a terminal's Ctrl-C is for the program
        command.process_group(0);
        let process = Guarded::start(command, &files.log, Some(&files.guard)).map_err(from_node)?;
        Ok(Emulated { process, _bridge: bridge })
    }

    /// Its status, if it has ended.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.process.status()
    }
}

/// The line that tells most about a node that ended: the emulator's complaint, else the kernel's last words.
pub fn last_words(files: &Files) -> String {
    let words = emulator_words(files).or_else(|| last_line(&files.console));
    words.unwrap_or_else(|| "it said nothing".to_owned())
}

/// The emulator's last line, if it said anything.
pub fn emulator_words(files: &Files) -> Option<String> {
    last_line(&files.log)
}

fn last_line(path: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

fn write_private(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|io| Error::io(path.display(), &io, "check free space and permissions"))
}

/// The same object, cause and remedy, as an error of the commands.
pub fn from_node(error: tacet_node::Error) -> Error {
    let text = error.to_string();
    let front = format!("{}: {}", error.object(), error.cause());
    let remedy = text.strip_prefix(&front).unwrap_or("").trim_start_matches("; ");
    Error::new(error.object(), error.cause(), remedy).with_status(MACHINE)
}
