// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node for one command, which is in its initramfs: the way to runs that repeat bit for bit.
//!
//! Owns the files added to the initramfs: the command and, for a node without a disk, the copied shares. After the
//! emulator has started, nothing reaches the node from outside, so the host's timing cannot influence it.

use std::fs;

use crate::archive::Archive;
use crate::boot::Prepared;
use crate::cache::Cache;
use crate::command::{Command, Output};
use crate::error::Result;
use crate::job::Job;
use crate::node::Node;
use crate::spec::NodeSpec;
use crate::wire;

/// The result of a node for one command.
#[derive(Debug, Clone)]
pub struct Once {
    /// The command's result.
    pub output: Output,
    /// The console output of its kernel.
    pub console: String,
    /// The output of its plugins.
    pub plugin_log: String,
}

impl Node {
    /// Boots a node, runs one command in it and powers it off. With [`NodeSpec::reproducible`] two runs execute the
    /// same instructions. The command has no input; only the node's `boot_timeout` and `command_timeout` limit it.
    pub fn run_once(cache: &Cache, spec: &NodeSpec, command: &Command) -> Result<Once> {
        let mut prepared = Prepared::new(cache, spec)?;
        let script = format!("{}cd \"$0\"; exec \"$@\"", prepared.mounts(spec));
        let mut argv = vec!["sh".to_owned(), "-c".to_owned(), script, command.directory.clone()];
        argv.extend(command.argv.iter().cloned());
        let payload = wire::start(None, "/", &command.environment, &argv);
        let path = prepared.run.path().join("initramfs");
        let mut archive = Archive::after(&prepared.wiring.initramfs)?;
        archive.file("first", &payload);
        if spec.reproducible.is_some() {
            archive.file("no-disk", &[]);
            for share in &spec.shares {
                archive.directory(&share.path)?;
            }
        }
        archive.write(&path)?;
        prepared.wiring.initramfs = path;

        let (node, events) = prepared.start(spec)?;
        let output = Job::first(&node.link, events, command, spec.command_timeout).wait()?;
        node.wait_for_end(spec.boot_timeout)?;
        let plugin_log = fs::read_to_string(node.plugin_log()).unwrap_or_default();
        Ok(Once { output, console: node.console(), plugin_log })
    }
}
