// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Installs what building and testing need: packages of the host where apt is installed, Rust's targets, and everything
//! for nodes.
//!
//! Never runs sudo: without root it prints the command to run.

use std::path::Path;

use tacet_node::{Cache, provision};

use crate::Result;
use crate::command::{program, run};

/// Programs of the host that the build and the tests call, with their packages. `tacet-node` knows those for nodes.
const BUILD: [(&str, &str); 9] = [
    ("cc", "gcc"),
    ("chromium", "chromium"),
    ("clang", "clang"),
    ("make", "make"),
    ("musl-gcc", "musl-tools"),
    ("objcopy", "binutils"),
    ("pkg-config", "pkgconf"),
    ("/usr/bin/python3", "python3"),
    ("sqlite3", "sqlite3"),
];
/// Headers that libbpf needs, with their packages.
const HEADERS: [(&str, &str); 2] = [("/usr/include/libelf.h", "libelf-dev"), ("/usr/include/zlib.h", "zlib1g-dev")];
/// For the tests of the laboratory's MPI program. Debian's names: plain `mpicc` may be either of the two.
const MPI: [(&str, &str); 4] = [
    ("mpicc.mpich", "libmpich-dev"),
    ("mpirun.mpich", "mpich"),
    ("mpicc.openmpi", "libopenmpi-dev"),
    ("mpirun.openmpi", "openmpi-bin"),
];
/// For the test of Secure Boot. The package `ovmf` has the firmware and its test keys at these places on Debian alone.
const SECURE_BOOT: [(&str, &str); 3] = [
    ("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd", "ovmf"),
    ("/usr/bin/sbsign", "sbsigntool"),
    ("/usr/bin/openssl", "openssl"),
];
/// For the test of GRUB on nodes without Linux: its own files lie at these places on Debian.
const GRUB: [(&str, &str); 6] = [
    ("/usr/bin/grub-mkrescue", "grub-common"),
    ("/usr/lib/grub/i386-pc/kernel.img", "grub-pc-bin"),
    ("/usr/lib/grub/x86_64-efi/kernel.img", "grub-efi-amd64-bin"),
    ("/usr/bin/xorriso", "xorriso"),
    ("/usr/bin/mformat", "mtools"),
    ("/usr/share/OVMF/OVMF_CODE_4M.fd", "ovmf"),
];
/// Exists on Debian and distributions made from it.
const DEBIAN: &str = "/etc/debian_version";
/// The co-kernel's target.
pub const FREESTANDING: &str = "x86_64-unknown-none";

pub fn setup(refresh: bool) -> Result<()> {
    host_packages()?;
    rust_target()?;
    let cache = Cache::open()?;
    if refresh {
        provision::refresh(&cache)?
    } else {
        provision::ensure(&cache)?
    }
    for kernel in provision::kernels(&cache)? {
        println!("kernel {}: {}", kernel.line, kernel.release);
    }
    Ok(())
}

/// The packages that are missing.
fn missing_packages() -> Vec<&'static str> {
    let mut packages: Vec<&str> = provision::missing().iter().map(|missing| missing.package).collect();
    let debian = Path::new(DEBIAN).exists();
    let named = BUILD.iter().chain(MPI.iter().filter(|_| debian));
    let files = HEADERS.iter().chain(SECURE_BOOT.iter().chain(&GRUB).filter(|_| debian));
    packages.extend(files.filter(|(path, _)| !Path::new(path).exists()).map(|(_, package)| *package));
    packages.extend(named.filter(|(name, _)| !on_path(name)).map(|(_, package)| *package));
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn host_packages() -> Result<()> {
    let packages = missing_packages();
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    if !Path::new(DEBIAN).exists() {
        return Err(
            format!("host: missing {list} (Debian's names); install them with this system's package manager").into()
        );
    }
    let id = program("id").arg("-u").output()?;
    if id.stdout != b"0\n" {
        return Err(format!("host: missing {list}; run `sudo apt-get install {list}` and repeat").into());
    }
    run(program("apt-get").args(["update", "-q"]))?;
    run(program("apt-get").args(["install", "-y", "-q", "--no-install-recommends"]).args(&packages))
}

fn rust_target() -> Result<()> {
    if target_is_there() {
        return Ok(());
    }
    if !on_path("rustup") {
        return Err(
            format!("rust: no target {FREESTANDING}; install rustup, then `rustup target add {FREESTANDING}`").into()
        );
    }
    run(program("rustup").args(["target", "add", FREESTANDING]))
}

fn target_is_there() -> bool {
    let sysroot = program("rustc").args(["--print", "target-libdir", "--target", FREESTANDING]).output();
    sysroot.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

pub fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}
