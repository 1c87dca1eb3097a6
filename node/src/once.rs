// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node for one command, which it has from the start: the way to runs that repeat bit for bit.
//!
//! Owns the second initramfs, which holds nothing but that command. Nothing reaches the node from outside after its
//! emulator started, so the host's timing cannot show in it.

use std::fs;
use std::path::Path;

use crate::boot::Prepared;
use crate::cache::Cache;
use crate::command::{Command, Output};
use crate::error::{OnPath, Result};
use crate::job::Job;
use crate::node::Node;
use crate::spec::NodeSpec;
use crate::wire;

/// What a node of one command left.
#[derive(Debug, Clone)]
pub struct Once {
    /// What came of the command.
    pub output: Output,
    /// What its kernel said.
    pub console: String,
    /// What its plugins wrote.
    pub plugin_log: String,
}

impl Node {
    /// Boots a node, runs one command in it and powers it off. With [`NodeSpec::reproducible`] two runs execute the
    /// same instructions. The command has no input and no limit but the node's `boot_timeout` and `command_timeout`.
    pub fn run_once(cache: &Cache, spec: &NodeSpec, command: &Command) -> Result<Once> {
        let mut prepared = Prepared::new(cache, spec)?;
        let script = format!("{}cd \"$0\"; exec \"$@\"", prepared.mounts(spec));
        let mut argv = vec!["sh".to_owned(), "-c".to_owned(), script, command.directory.clone()];
        argv.extend(command.argv.iter().cloned());
        let payload = wire::start(None, "/", &command.environment, &argv);
        let path = prepared.run.path().join("initramfs");
        with_file(&prepared.wiring.initramfs, "first", &payload, &path)?;
        prepared.wiring.initramfs = path;

        let (node, events) = prepared.start(spec)?;
        let output = Job::first(&node.link, events, command, spec.command_timeout).wait()?;
        node.wait_for_end(spec.boot_timeout)?;
        let plugin_log = fs::read_to_string(node.plugin_log()).unwrap_or_default();
        Ok(Once { output, console: node.console(), plugin_log })
    }
}

/// An initramfs and one more file: the kernel unpacks archives that follow each other.
fn with_file(base: &Path, name: &str, content: &[u8], to: &Path) -> Result<()> {
    let mut archive = fs::read(base).on(base)?;
    member(&mut archive, name, 0o100_644, content);
    member(&mut archive, "TRAILER!!!", 0, &[]);
    fs::write(to, archive).on(to)
}

/// One member of a `newc` archive: thirteen numbers in hexadecimal, the name, the content, each padded to four bytes.
fn member(archive: &mut Vec<u8>, name: &str, mode: u32, content: &[u8]) {
    let (size, name_size) = (content.len() as u32, name.len() as u32 + 1);
    let [inode, links] = [1, 1];
    let numbers = [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
    pad(archive);
    archive.extend(b"070701");
    archive.extend(numbers.iter().flat_map(|n| format!("{n:08x}").into_bytes()));
    archive.extend(name.bytes().chain([0]));
    pad(archive);
    archive.extend(content);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_the_layout_of_newc() {
        let mut archive = b"odd".to_vec();
        member(&mut archive, "first", 0o100_644, b"abcde");
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive).into_owned();
        assert!(text.starts_with("odd\x00070701"), "{text}");
        // header 110 bytes + "first\0" = 116, already a multiple of four
        assert_eq!(archive.get(4 + 116..4 + 121), Some(&b"abcde"[..]));
        assert_eq!(archive.get(4 + 54..4 + 62), Some(&b"00000005"[..]));
    }
}
