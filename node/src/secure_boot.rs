// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Secure Boot in a node: firmware that enforces it, and the key that this firmware trusts.
//!
//! The firmware, its variables and the key are those that the package `ovmf` has for tests: the private key is public.
//! `boot.rs` signs the node's kernel with it; a test that needs a signed module calls [`sign_module`]. Linux takes the firmware's
//! keys for its own keyrings, and so accepts what the key has signed. Must never change the installed files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::Cache;
use crate::error::{Error, OnPath, Result};
use crate::kernel::Kernel;
use crate::provision;

const CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd";
const VARIABLES: &str = "/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd";
const KEY: &str = "/usr/share/ovmf/PkKek-1-snakeoil.key";
const CERTIFICATE: &str = "/usr/share/ovmf/PkKek-1-snakeoil.pem";
const PASSWORD: &str = "snakeoil";

/// What a node with Secure Boot boots from.
#[derive(Debug)]
pub(crate) struct Secure {
    pub code: &'static Path,
    pub variables: PathBuf,
    /// The kernel, signed.
    pub image: PathBuf,
}

/// Signs the kernel and copies the firmware's variables, into `directory`.
pub(crate) fn prepare(kernel: &Kernel, directory: &Path) -> Result<Secure> {
    let (variables, image) = (directory.join("variables.fd"), directory.join("vmlinuz"));
    fs::copy(VARIABLES, &variables).on(Path::new(VARIABLES))?;
    let key = key(directory)?;
    let mut sign = Command::new("sbsign");
    sign.arg("--key").arg(&key).args(["--cert", CERTIFICATE, "--output"]).arg(&image).arg(kernel.image());
    run(sign)?;
    Ok(Secure { code: Path::new(CODE), variables, image })
}

/// Signs the kernel module at `module` as the firmware's owner would.
pub fn sign_module(cache: &Cache, kernel: &Kernel, module: &Path) -> Result<()> {
    let (directory, name) = (module.parent().unwrap_or(Path::new("/")), module.file_name().unwrap_or_default());
    let key = key(directory)?;
    let certificate = directory.join("certificate");
    fs::copy(CERTIFICATE, &certificate).on(&certificate)?;
    let sign = format!("/lib/modules/{}/build/scripts/sign-file", kernel.release);
    let inside = format!("/mnt/signed/{}", name.to_string_lossy());
    let words = [sign.as_str(), "sha256", "/mnt/signed/key", "/mnt/signed/certificate", &inside];
    let signed = provision::run_in_tree(cache, &[(directory, "signed")], &words);
    fs::remove_file(&key).on(&key)?;
    fs::remove_file(&certificate).on(&certificate)?;
    signed
}

/// The private key without its password, in `directory`.
fn key(directory: &Path) -> Result<PathBuf> {
    let key = directory.join("key");
    let mut decrypt = Command::new("openssl");
    decrypt.args(["rsa", "-in", KEY, "-passin", &format!("pass:{PASSWORD}"), "-out"]).arg(&key);
    run(decrypt)?;
    Ok(key)
}

fn run(mut command: Command) -> Result<()> {
    let object = command.get_program().to_string_lossy().into_owned();
    let failed = |cause: String| Error::new(&object, cause, "run `cargo xtask setup`");
    let output = command.output().map_err(|e| failed(e.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}
