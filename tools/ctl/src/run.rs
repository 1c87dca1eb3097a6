// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replaces this process by another program, as a shell's `exec` does.
//!
//! Called by `tacet run` after `Device::host_self`. It must never change what
//! the program inherits: environment, descriptors, signals, limits, terminal.

use std::convert::Infallible;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::{Error, raw};

/// Exit statuses as in shells: found but not executable, and not found.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Replaces this process by `command[0]`, looked up in PATH; returns only if that fails, with the reason.
pub fn execute(command: &[OsString]) -> Error {
    let Some(program) = command.first() else {
        return Error::new("run", "no program is given", "write `tacet run PROGRAM ARGS…`").with_status(2);
    };
    let words: Result<Vec<CString>, _> = command.iter().map(|word| CString::new(word.clone().into_vec())).collect();
    let Ok(words) = words else {
        return Error::new(program.display(), "an argument holds a zero byte", "").with_status(NOT_EXECUTABLE);
    };
    raw::restore_inheritance();
    let result: nix::Result<Infallible> = nix::unistd::execvp(&words[0], &words);
    raw::ignore_broken_pipes();
    match result {
        Ok(never) => match never {},
        Err(errno) => explain(program, errno),
    }
}

fn explain(program: &OsStr, errno: Errno) -> Error {
    let found = find(program);
    let (cause, remedy, status) = match (errno, &found) {
        (Errno::ENOENT, Some(_)) => (
            "its interpreter does not exist".to_string(),
            "see its first line (#!), or `file` for its dynamic loader",
            NOT_FOUND,
        ),
        (Errno::ENOENT | Errno::ENOTDIR, None) => ("not found".to_string(), "check the name and PATH", NOT_FOUND),
        (Errno::EACCES, _) => ("permission denied".to_string(), "it must be an executable file", NOT_EXECUTABLE),
        (Errno::ENOEXEC, _) => {
            ("not a program of this machine".to_string(), "see `file` for what it is", NOT_EXECUTABLE)
        }
        (other, _) => (crate::error::lower_first(other.desc()), "", NOT_EXECUTABLE),
    };
    Error::new(program.display(), cause, remedy).with_status(status)
}

/// The file that a shell would take; only for the message.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        let path = Path::new(program);
        return path.exists().then(|| path.to_path_buf());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut files = std::env::split_paths(&path).map(|dir| dir.join(program));
    files.find(|file| file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0))
}
