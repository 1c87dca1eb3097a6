// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file of the co-kernel image: finds it and checks its header.
//!
//! Called by `tacet up`. The module checks the image again and does not rely on these checks; they are here for a
//! message that names the file.

use std::path::{Path, PathBuf};

use tacet_abi::{TACET_ABI_REVISION, TACET_IMAGE_LIMIT_BYTES, TACET_IMAGE_MAGIC};
use tacet_words::status::{MACHINE, USAGE};

use crate::machine::installation;
use crate::{Error, Result};

const SYSTEM_IMAGE: &str = "/usr/lib/tacet/kernel.bin";
const REINSTALL: &str = "install image, module and command of one version, or see --image";

#[derive(Debug)]
pub struct Image {
    bytes: Vec<u8>,
}

impl Image {
    pub fn read(path: &Path) -> Result<Image> {
        let object = path.display();
        let bytes =
            std::fs::read(path).map_err(|io| Error::io(object, &io, "name another with --image").with_status(USAGE))?;
        check(&bytes).map_err(|cause| Error::new(path.display(), cause, REINSTALL).with_status(USAGE))?;
        Ok(Image { bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The image of the command's own installation; if there is none, the system's.
pub fn find_image() -> Result<PathBuf> {
    find_near(&installation())
}

fn find_near(prefix: &Path) -> Result<PathBuf> {
    let near = prefix.join("lib/tacet/kernel.bin");
    let found = [near.as_path(), Path::new(SYSTEM_IMAGE)].into_iter().find(|path| path.is_file());
    let found = found.ok_or_else(|| {
        let cause = format!("neither {} nor {SYSTEM_IMAGE} exists", near.display());
        Error::new("co-kernel image", cause, "install it with `make install`, or name one with --image")
            .with_status(MACHINE)
    })?;
    Ok(found.to_path_buf())
}

/// The header is little-endian: magic, revision, its size, and six lengths and addresses.
fn check(bytes: &[u8]) -> std::result::Result<(), String> {
    let magic: Option<[u8; 8]> = bytes.get(..8).and_then(|field| field.try_into().ok());
    if magic.map(u64::from_le_bytes) != Some(TACET_IMAGE_MAGIC) {
        return Err("it is not a co-kernel image".into());
    }
    let revision: Option<[u8; 4]> = bytes.get(8..12).and_then(|field| field.try_into().ok());
    let revision = revision.map(u32::from_le_bytes).unwrap_or(0);
    if revision != TACET_ABI_REVISION {
        return Err(format!("it has revision {revision} of the border, this command has {TACET_ABI_REVISION}"));
    }
    if bytes.len() > TACET_IMAGE_LIMIT_BYTES as usize {
        return Err(format!("{} bytes are more than the limit, {TACET_IMAGE_LIMIT_BYTES}", bytes.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(magic: u64, revision: u32) -> Vec<u8> {
        [magic.to_le_bytes().as_slice(), &revision.to_le_bytes(), &[0; 44]].concat()
    }

    #[test]
    fn tells_images_from_other_files() {
        assert_eq!(check(&header(TACET_IMAGE_MAGIC, TACET_ABI_REVISION)), Ok(()));
        assert!(check(b"\x7fELF").unwrap_err().contains("not a co-kernel image"));
        assert!(check(&[]).is_err());
        assert!(check(&header(TACET_IMAGE_MAGIC, TACET_ABI_REVISION + 1)).unwrap_err().contains("revision"));
        let long = [header(TACET_IMAGE_MAGIC, TACET_ABI_REVISION), vec![0; TACET_IMAGE_LIMIT_BYTES as usize]].concat();
        assert!(check(&long).unwrap_err().contains("limit"));
    }

    #[test]
    fn prefers_the_image_of_its_own_installation() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("lib/tacet")).unwrap();
        std::fs::write(dir.path().join("lib/tacet/kernel.bin"), header(TACET_IMAGE_MAGIC, 1)).unwrap();
        assert!(find_near(dir.path()).unwrap().starts_with(dir.path()));
    }
}
