// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of sets of nodes: 32 random bytes, written in hex. Each node's own is derived from its set's.
//!
//! A set of emulated nodes gets a new one at each boot; one of metal has it in a file that only its owner can read. Must
//! never print a set's key, nor give it to a node.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Result};
use tacet_wire::key::Key;

const BYTES: usize = 32;

/// A new key.
pub fn random() -> Result<String> {
    let mut bytes = [0; BYTES];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|io| Error::io("/dev/urandom", &io, ""))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The key of one node of the set with this key: it serves no other node. As the kernel's command line has it.
pub fn of_node(set: &str, node: u32) -> Result<String> {
    Ok(parse(set)?.node_secret(node).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The key of a set, from its digits.
pub fn parse(set: &str) -> Result<Key> {
    Key::from_hex(set.as_bytes())
        .ok_or_else(|| Error::new("key", "it is not 64 hexadecimal digits", "").with_status(USAGE))
}

/// The key in a file; a new one if the file does not exist.
pub fn in_file(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => check(path, text.trim()),
        Err(io) if io.kind() == io::ErrorKind::NotFound => make(path),
        Err(io) => Err(Error::io(path.display(), &io, "name a file with 64 hexadecimal digits with --key")),
    }
}

fn check(path: &Path, text: &str) -> Result<String> {
    let fail = |cause: &str, remedy: &str| Err(Error::new(path.display(), cause, remedy).with_status(USAGE));
    let mode = fs::metadata(path).map_or(0, |data| data.permissions().mode());
    if mode & 0o077 != 0 {
        return fail("others may read this key", "forbid it: chmod 600, and make a new key if they could");
    }
    if text.len() != 2 * BYTES || !text.bytes().all(|c| c.is_ascii_hexdigit()) {
        return fail("it is no key", "a key is 64 hexadecimal digits; name a file that does not exist to get one");
    }
    Ok(text.to_ascii_lowercase())
}

fn make(path: &Path) -> Result<String> {
    let key = random()?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| writeln!(file, "{key}"));
    written.map_err(|io| Error::io(path.display(), &io, "name a file in a directory of yours with --key"))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_for_its_owner() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("key");
        let key = in_file(&path).unwrap();
        assert_eq!((key.len(), in_file(&path).unwrap()), (64, key.clone()));
        assert_ne!(key, random().unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(in_file(&path).unwrap_err().to_string().contains("others may read"));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("key");
        for text in ["", "ab", &"g".repeat(64), &"a".repeat(65)] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            assert!(in_file(&path).unwrap_err().to_string().contains("it is no key"), "{text}");
        }
    }
}
