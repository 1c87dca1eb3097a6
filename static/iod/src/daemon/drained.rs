// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The nodes that get no jobs because somebody said so: a file beside the set's key keeps their numbers for the next daemon.
//!
//! The book owns it. It must never forget a node that it could not write down.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::numbers::keep;
use crate::error::{Error, Result};

#[derive(Debug, Default)]
pub struct Drained {
    nodes: BTreeSet<u32>,
    /// `None`: the nodes live no longer than this daemon.
    file: Option<PathBuf>,
}

impl Drained {
    /// Those that the file names.
    pub fn new(file: Option<PathBuf>) -> Result<Self> {
        let Some(path) = &file else { return Ok(Drained::default()) };
        let remedy = "write the numbers of drained nodes, or remove the file";
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::new(path.display(), error, remedy)),
        };
        let nodes = text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>();
        let nodes = nodes.map_err(|_| Error::new(path.display(), "it does not name nodes", remedy))?;
        Ok(Drained { nodes, file })
    }

    pub fn has(&self, node: u32) -> bool {
        self.nodes.contains(&node)
    }

    pub fn set(&mut self, node: u32, drained: bool) -> Result<()> {
        let mut nodes = self.nodes.clone();
        let changed = if drained { nodes.insert(node) } else { nodes.remove(&node) };
        if let (Some(file), true) = (&self.file, changed) {
            let text: Vec<String> = nodes.iter().map(u32::to_string).collect();
            let failed =
                |error| Error::new(file.display(), error, "the daemon keeps drained nodes there: let it write");
            keep(file, &text.join(" ")).map_err(failed)?;
        }
        self.nodes = nodes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_daemon_knows_them() {
        let scratch = tempfile::tempdir().unwrap();
        let file = || Some(scratch.path().join("key.drained"));
        let mut drained = Drained::new(file()).unwrap();
        for (node, wanted) in [(7, true), (3, true), (7, true), (9, false), (3, false), (12, true)] {
            drained.set(node, wanted).unwrap();
        }
        let drained = Drained::new(file()).unwrap();
        let has: Vec<u32> = (0..20).filter(|node| drained.has(*node)).collect();
        assert_eq!(has, [7, 12]);
        std::fs::write(file().unwrap(), "7 x").unwrap();
        assert!(Drained::new(file()).unwrap_err().to_string().contains("it does not name nodes"));
    }

    #[test]
    fn what_cannot_be_written_is_not_done() {
        let mut drained = Drained::new(Some("/nowhere/key.drained".into())).unwrap();
        assert!(drained.set(1, true).is_err());
        assert!(!drained.has(1));
    }
}
