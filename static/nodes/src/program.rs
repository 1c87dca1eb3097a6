// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds a program as a shell does, and refuses one that a static node cannot load, before a node is asked.
//!
//! Called by `run` and `map`. The node checks again what it loads; the checks here can name the file and the remedy.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tacet_ctl::{Error, Result};
use tacet_logic::elf::{self, Program};

/// The statuses of a shell for a program that is not found, and for one that cannot be executed.
pub const NOT_FOUND: u8 = 127;
pub const NOT_EXECUTABLE: u8 = 126;
/// The number of x86-64 in ELF; nodes are of this kind.
const MACHINE: u16 = 62;

/// The file of a program, with its headers.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    pub program: Program,
    /// The dynamic linker that it names, with its headers.
    pub interpreter: Option<(PathBuf, Program)>,
}

/// The program that a shell would execute for this word.
pub fn find(word: &OsStr, search: &OsStr) -> Result<Found> {
    let path = locate(word, search)?;
    let (program, mut file) = read(&path)?;
    let Some(part) = program.interpreter else {
        return Ok(Found { path, program, interpreter: None });
    };
    let fail = |io: &io::Error| Error::io(path.display(), io, "").with_status(NOT_EXECUTABLE);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(part.offset)).map_err(|io| fail(&io))?;
    file.take(part.bytes).read_to_end(&mut bytes).map_err(|io| fail(&io))?;
    let text = elf::interpreter_path(&bytes).unwrap_or_default();
    let interpreter = PathBuf::from(OsStr::from_bytes(text));
    if !interpreter.is_file() {
        let cause = format!("its interpreter {} does not exist", interpreter.display());
        let remedy = "install the C library that it was linked with, or link it statically";
        return Err(Error::new(path.display(), cause, remedy).with_status(NOT_EXECUTABLE));
    }
    let (linker, _) = read(&interpreter)?;
    Ok(Found { path, program, interpreter: Some((interpreter, linker)) })
}

fn locate(word: &OsStr, search: &OsStr) -> Result<PathBuf> {
    if word.as_bytes().contains(&b'/') {
        let path = PathBuf::from(word);
        return if path.exists() { executable(path) } else { Err(not_found(word, "no such file")) };
    }
    let candidates = std::env::split_paths(search).map(|directory| directory.join(word));
    let mut files = candidates.filter(|path| path.is_file()).peekable();
    let first = files.peek().cloned();
    match files.find(|path| is_executable(path)).or(first) {
        Some(path) => executable(path),
        None => Err(not_found(word, "it is not found along PATH")),
    }
}

fn not_found(word: &OsStr, cause: &str) -> Error {
    Error::new(word.display(), cause, "name a program").with_status(NOT_FOUND)
}

fn executable(path: PathBuf) -> Result<PathBuf> {
    let refused =
        |cause: &str, remedy: &str| Err(Error::new(path.display(), cause, remedy).with_status(NOT_EXECUTABLE));
    if path.is_dir() {
        return refused("it is a directory", "name a program");
    }
    if !is_executable(&path) {
        return refused("it is not executable", "allow it: chmod +x");
    }
    Ok(path)
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn read(path: &Path) -> Result<(Program, File)> {
    let fail = |io: io::Error| Error::io(path.display(), &io, "").with_status(NOT_EXECUTABLE);
    let mut file = File::open(path).map_err(fail)?;
    let bytes = file.metadata().map_err(fail)?.len();
    let mut head = Vec::new();
    file.by_ref().take(elf::HEAD_BYTES as u64).read_to_end(&mut head).map_err(fail)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let first = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let remedy = format!("name its interpreter: {} {}", String::from_utf8_lossy(first).trim(), path.display());
        return Err(Error::new(path.display(), "it is a script", remedy).with_status(NOT_EXECUTABLE));
    }
    match Program::parse(&head, bytes, MACHINE) {
        Ok(program) => Ok((program, file)),
        Err(invalid) => {
            let remedy = "build it for x86-64 Linux";
            Err(Error::new(path.display(), invalid, remedy).with_status(NOT_EXECUTABLE))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(path: &Path, status: u8, words: &str) {
        let error = find(path.as_os_str(), OsStr::new("/bin")).unwrap_err();
        assert_eq!(error.status(), status, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }

    #[test]
    fn this_program_is_one() {
        let own = std::env::current_exe().unwrap();
        let found = find(own.as_os_str(), OsStr::new("")).unwrap();
        assert_eq!(found.path, own);
        assert!(found.interpreter.is_some() == found.program.interpreter.is_some());
        assert!(find(OsStr::new("sh"), OsStr::new("/nowhere:/bin")).is_ok());
    }

    #[test]
    fn what_cannot_be_loaded_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8], mode| {
            let path = scratch.path().join(name);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        fails(Path::new("/nowhere/at/all"), NOT_FOUND, "no such file");
        fails(Path::new("surely-no-program"), NOT_FOUND, "not found along PATH");
        fails(scratch.path(), NOT_EXECUTABLE, "it is a directory");
        fails(&write("plain", b"x", 0o644), NOT_EXECUTABLE, "it is not executable");
        fails(&write("script", b"#!/bin/sh -e\n", 0o755), NOT_EXECUTABLE, "name its interpreter: /bin/sh -e");
        fails(&write("text", b"hello", 0o755), NOT_EXECUTABLE, "ELF");
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut other = own.clone();
        other[18] = 183; // AArch64
        fails(&write("arm", &other, 0o755), NOT_EXECUTABLE, "");
        let name = b"/lib64/ld-linux-x86-64.so.2";
        if let Some(place) = own.windows(name.len()).position(|bytes| bytes == name) {
            let mut lost = own;
            lost[place + 1] = b'X';
            fails(&write("lost", &lost, 0o755), NOT_EXECUTABLE, "its interpreter /Xib64/");
        }
    }
}
