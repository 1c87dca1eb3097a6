// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The nodes' emulator with a plugin, and jobs on static nodes by the command that users have.
//!
//! A plugin comes into the nodes by a script that stands for the emulator (`--qemu`). Must never leave a process behind:
//! the nodes of a job end with its command.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tacet_node::Qemu;

use super::Bench;
use crate::Result;

/// Variables that the command needs.
const KEPT: [&str; 6] = ["PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "TACET_CACHE", "TACET_QEMU"];

/// The emulator that the commands use.
pub struct Emulator {
    pub qemu: Qemu,
    pub version: (u32, u32),
}

/// A job's outcome.
pub struct Ran {
    pub text: String,
    /// Of the plugin, one for each node, in no order.
    pub logs: Vec<String>,
}

/// A way to run jobs.
#[derive(Default)]
pub struct Shape<'a> {
    pub flags: &'a [&'a str],
    /// With its arguments.
    pub plugin: Option<String>,
}

impl Emulator {
    pub fn find() -> Result<Emulator> {
        let qemu = Qemu::installed(None)?;
        let version = qemu.version;
        Ok(Emulator { qemu, version })
    }

    /// A script that starts the emulator with a plugin; each process has a log of its own in `logs`.
    fn script(&self, directory: &Path, plugin: &str, logs: &Path) -> Result<PathBuf> {
        let command = self.qemu.command();
        let mut text = String::from("#!/bin/sh\n");
        for (name, value) in command.get_envs() {
            let value = value.unwrap_or_default().display();
            text += &format!("export {}='{value}'\n", name.display());
        }
        let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
        let words = words.iter().map(|word| format!("'{}'", word.display())).collect::<Vec<_>>().join(" ");
        text += &format!("exec {words} \"$@\" -plugin '{plugin}' -d plugin -D '{}'/$$.log\n", logs.display());
        let path = directory.join("emulator.sh");
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }
}

impl Bench<'_> {
    /// Runs a program on nodes of its own, to its end with status 0.
    pub fn job(&self, shape: &Shape, program: &[&str]) -> Result<Ran> {
        let (child, logs) = self.start(shape, program)?;
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("`{}`: {}: {}{}", program.join(" "), output.status, said.trim(), text.trim()).into());
        }
        let logs = fs::read_dir(&logs)?.map(|entry| Ok(fs::read_to_string(entry?.path())?));
        Ok(Ran { text, logs: logs.collect::<Result<_>>()? })
    }

    /// Starts such a job; returns it and the directory of the plugin's logs.
    pub fn start(&self, shape: &Shape, program: &[&str]) -> Result<(Child, PathBuf)> {
        let directory = tempfile::tempdir_in(&self.scratch)?.keep();
        let logs = directory.join("logs");
        fs::create_dir(&logs)?;
        let mut command = Command::new(self.programs.tacet());
        // A program gets the environment: the figures must not depend on the caller's.
        let kept = KEPT.map(|name| (name, std::env::var_os(name)));
        command.env_clear().envs(kept.into_iter().filter_map(|(name, value)| Some((name, value?))));
        command.args(["--config", "/dev/null", "static", "run", "--own-nodes", "--accel", "tcg"]);
        command.arg("--image").arg(self.programs.image()).args(shape.flags);
        if let Some(plugin) = &shape.plugin {
            command.arg("--qemu").arg(self.emulator.script(&directory, plugin, &logs)?);
        }
        command.arg("--").args(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok((command.spawn()?, logs))
    }
}
