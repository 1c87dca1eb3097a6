// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Further options of `tacet node run`: more shares, a plugin in the emulator, a run that can be reproduced.
//!
//! Called by `node.rs`.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Result};
use tacet_node::{Cache, Command, Emulator, Node, NodeSpec, Plugin, Share, ShareKind, provision};

use super::node_error::from_node;
use crate::args::NodeRun;

/// The emulator runs one CPU after the other and counts each instruction: booting takes a minute, more on a busy host.
const REPRODUCIBLE_BOOT: Duration = Duration::from_secs(600);

/// Adds what the flags ask for, and checks that such a node can be booted.
pub fn equip(mut spec: NodeSpec, run: &NodeRun) -> Result<NodeSpec> {
    let wrong = |error: Error| error.with_status(USAGE);
    let kind = if run.reproducible.is_some() { ShareKind::Copy } else { ShareKind::Live };
    for path in &run.share {
        let absolute = path.canonicalize().and_then(|path| path.read_dir().map(|_| path));
        let path = absolute.map_err(|io| wrong(Error::io(path.display(), &io, "share a directory")))?;
        spec.shares.push(Share { path, kind });
    }
    if let Some(plugin) = &run.plugin {
        let object = plugin.canonicalize();
        let object = object.map_err(|io| wrong(Error::io(plugin.display(), &io, "name a plugin of the emulator")))?;
        spec.plugins.push(Plugin { object, arguments: Vec::new() });
    }
    if run.reproducible.is_some() {
        (spec.reproducible, spec.emulator, spec.boot_timeout) =
            (run.reproducible, Emulator::Counting, REPRODUCIBLE_BOOT);
        let current = std::env::current_dir().map_err(|io| Error::io("the current directory", &io, ""))?;
        spec.shares.push(Share { path: current, kind });
    }
    spec.check().map_err(from_node).map_err(wrong)?;
    Ok(spec)
}

/// Boots a node that runs this command at its start, and prints the command's output after it has ended.
pub fn once(spec: NodeSpec, run: &NodeRun) -> Result<u8> {
    let cache = Cache::open().map_err(from_node)?;
    provision::ensure(&cache).map_err(from_node)?;
    let current = std::env::current_dir().map_err(|io| Error::io("the current directory", &io, ""))?;
    let once = Node::run_once(&cache, &spec, &Command::new(&run.command).directory(current)).map_err(from_node)?;
    let written =
        io::stdout().write_all(&once.output.stdout).and_then(|()| io::stderr().write_all(&once.output.stderr));
    written.map_err(|io| Error::io("the command's output", &io, ""))?;
    keep(run.plugin_log.as_deref(), &once.plugin_log)?;
    Ok(once.output.status.shell_code())
}

/// Writes the plugin's output to `path`, if the user named one.
pub fn keep(path: Option<&Path>, said: &str) -> Result<()> {
    path.map_or(Ok(()), |path| std::fs::write(path, said).map_err(|io| Error::io(path.display(), &io, "")))
}
