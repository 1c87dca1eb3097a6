// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's image for static nodes: an ELF file that QEMU and GRUB load.
//!
//! Called by the commands that start nodes, or print how. The emulator checks the file again.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tacet_ctl::status::{MACHINE, USAGE};
use tacet_ctl::{Error, Result, installation};

const SYSTEM_IMAGE: &str = "/usr/lib/tacet/static.elf";

/// The image of the command's own installation; if there is none, the system's.
pub fn find() -> Result<PathBuf> {
    find_near(&installation())
}

/// Refuses a file that is no image.
pub fn check(path: &Path) -> Result<()> {
    let remedy = "install it with `make install`, or name it with --image";
    let mut head = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.map_err(|io| Error::io(path.display(), &io, remedy).with_status(USAGE))?;
    if head != *b"\x7fELF" {
        Err(Error::new(path.display(), "it is no kernel for static nodes", remedy).with_status(USAGE))
    } else {
        Ok(())
    }
}

fn find_near(prefix: &Path) -> Result<PathBuf> {
    let near = prefix.join("lib/tacet/static.elf");
    let found = [near.as_path(), Path::new(SYSTEM_IMAGE)].into_iter().find(|path| path.is_file());
    found.map(Path::to_path_buf).ok_or_else(|| {
        let cause = format!("neither {} nor {SYSTEM_IMAGE} exists", near.display());
        Error::new("image for static nodes", cause, "install it with `make install`, or name one with --image")
            .with_status(MACHINE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_an_elf_file() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("lib/tacet/static.elf");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, b"\x7fELF...").unwrap();
        assert_eq!(find_near(scratch.path()).unwrap(), path);
        assert!(check(&path).is_ok());
        std::fs::write(&path, b"#!/bin/sh").unwrap();
        assert!(check(&path).unwrap_err().to_string().contains("it is no kernel"));
        assert!(check(Path::new("/nowhere")).unwrap_err().to_string().starts_with("/nowhere: no such file"));
    }
}
