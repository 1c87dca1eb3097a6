// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Adds files to an initramfs: the kernel unpacks several `newc` archives one after the other.
//!
//! Owns the encoding, in memory. The same input gives the same bytes: no times, no owners, names in order.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{OnPath, Result};

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_777;

pub(crate) struct Archive(Vec<u8>);

impl Archive {
    /// Starts with an existing initramfs; added files follow it.
    pub fn after(base: &Path) -> Result<Archive> {
        let mut archive = Archive(fs::read(base).on(base)?);
        archive.pad();
        Ok(archive)
    }

    /// Adds one file at the root.
    pub fn file(&mut self, name: &str, content: &[u8]) {
        self.member(name, FILE | 0o644, content);
    }

    /// Adds a directory of the host with its whole content, at the same path.
    pub fn directory(&mut self, path: &Path) -> Result<()> {
        let above: Vec<_> = path.ancestors().collect();
        for directory in above.iter().rev().skip(1) {
            self.member(&name(directory), DIRECTORY, &[]);
        }
        self.content(path)
    }

    /// Closes the archive and writes it to a file.
    pub fn write(mut self, to: &Path) -> Result<()> {
        self.member("TRAILER!!!", 0, &[]);
        fs::write(to, self.0).on(to)
    }

    fn content(&mut self, directory: &Path) -> Result<()> {
        let mut entries: Vec<PathBuf> = fs::read_dir(directory).on(directory)?.flatten().map(|e| e.path()).collect();
        entries.sort();
        for path in entries {
            let metadata = path.symlink_metadata().on(&path)?;
            if metadata.is_symlink() {
                let target = fs::read_link(&path).on(&path)?;
                self.member(&name(&path), LINK, target.as_os_str().as_encoded_bytes());
            } else if metadata.is_dir() {
                self.member(&name(&path), DIRECTORY, &[]);
                self.content(&path)?;
            } else if metadata.is_file() {
                let mode = FILE | metadata.permissions().mode() & 0o777;
                self.member(&name(&path), mode, &fs::read(&path).on(&path)?);
            }
        }
        Ok(())
    }

    /// Thirteen numbers in hexadecimal, the name, the content, each padded to four bytes.
    fn member(&mut self, name: &str, mode: u32, content: &[u8]) {
        let (size, name_size) = (content.len() as u32, name.len() as u32 + 1);
        let [inode, links] = [1, 1];
        let numbers = [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
        self.0.extend(b"070701");
        self.0.extend(numbers.iter().flat_map(|n| format!("{n:08x}").into_bytes()));
        self.0.extend(name.bytes().chain([0]));
        self.pad();
        self.0.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

/// Names in an archive are relative to its root.
fn name(path: &Path) -> String {
    path.strip_prefix("/").unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_the_layout_of_newc() {
        let mut archive = Archive(Vec::new());
        archive.file("first", b"abcde");
        let bytes = archive.0;
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.starts_with(b"07070100000001000081a4"));
        assert_eq!(bytes.get(54..62), Some(&b"00000005"[..]));
        // header 110 bytes + "first\0" = 116, already a multiple of four
        assert_eq!(bytes.get(116..121), Some(&b"abcde"[..]));
    }

    #[test]
    fn a_directory_comes_with_its_parents_and_modes() {
        let scratch = tempfile::tempdir().expect("scratch");
        fs::write(scratch.path().join("program"), "x").expect("file");
        fs::set_permissions(scratch.path().join("program"), fs::Permissions::from_mode(0o755)).expect("mode");
        let mut archive = Archive(Vec::new());
        archive.directory(scratch.path()).expect("packs");
        let text = String::from_utf8_lossy(&archive.0).into_owned();
        let parent = name(scratch.path().parent().expect("a parent"));
        assert!(text.contains(&format!("{parent}\0")) && text.contains("000081ed"), "{text}");
    }
}
