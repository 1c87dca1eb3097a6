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
const BUILD: [(&str, &str); 12] = [
    ("cc", "gcc"),
    ("chromium", "chromium"),
    ("clang", "clang"),
    ("gfortran", "gfortran"),
    ("go", "golang-go"),
    ("ip", "iproute2"),
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
/// For the test of GRUB on static nodes: its own files lie at these places on Debian.
const GRUB: [(&str, &str); 6] = [
    ("/usr/bin/grub-mkrescue", "grub-common"),
    ("/usr/lib/grub/i386-pc/kernel.img", "grub-pc-bin"),
    ("/usr/lib/grub/x86_64-efi/kernel.img", "grub-efi-amd64-bin"),
    ("/usr/bin/xorriso", "xorriso"),
    ("/usr/bin/mformat", "mtools"),
    ("/usr/share/OVMF/OVMF_CODE_4M.fd", "ovmf"),
];
/// For what static nodes run of Python's packages: a git clone and two packages' own tests.
const PACKAGES_OF_PYTHON: [(&str, &str); 5] = [
    ("/usr/lib/python3/dist-packages/dulwich", "python3-dulwich"),
    ("/usr/lib/python3/dist-packages/hypothesis", "python3-hypothesis"),
    ("/usr/lib/python3/dist-packages/numpy", "python3-numpy"),
    ("/usr/lib/python3/dist-packages/pytest", "python3-pytest"),
    ("/usr/lib/python3/dist-packages/scipy", "python3-scipy"),
];
/// Exists on Debian and distributions made from it.
const DEBIAN: &str = "/etc/debian_version";
/// The co-kernel's target.
pub const FREESTANDING: &str = "x86_64-unknown-none";
/// Of the programs in Rust that the tests run on static nodes.
const MUSL: &str = "x86_64-unknown-linux-musl";
/// Debian's Python, whose own tests run on static nodes.
const PYTHON: &str = "/usr/bin/python3";

pub fn setup(refresh: bool) -> Result<()> {
    host_packages()?;
    [FREESTANDING, MUSL].into_iter().try_for_each(rust_target)?;
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
fn missing_packages() -> Vec<String> {
    let mut packages: Vec<&str> = provision::missing().iter().map(|missing| missing.package).collect();
    let debian = Path::new(DEBIAN).exists();
    let named = BUILD.iter().chain(MPI.iter().filter(|_| debian));
    let files = HEADERS.iter().chain(SECURE_BOOT.iter().chain(&GRUB).chain(&PACKAGES_OF_PYTHON).filter(|_| debian));
    packages.extend(files.filter(|(path, _)| !Path::new(path).exists()).map(|(_, package)| *package));
    packages.extend(named.filter(|(name, _)| !on_path(name)).map(|(_, package)| *package));
    let mut packages: Vec<String> = packages.into_iter().map(str::to_owned).collect();
    packages.extend(missing_python_tests());
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

fn rust_target(target: &str) -> Result<()> {
    if target_is_there(target) {
        return Ok(());
    }
    if !on_path("rustup") {
        return Err(format!("rust: no target {target}; install rustup, then `rustup target add {target}`").into());
    }
    run(program("rustup").args(["target", "add", target]))
}

fn target_is_there(target: &str) -> bool {
    let sysroot = program("rustc").args(["--print", "target-libdir", "--target", target]).output();
    sysroot.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// The package of Python's own tests for its version, if they are not there.
fn missing_python_tests() -> Option<String> {
    let find = "import sys; print('libpython%d.%d-testsuite' % sys.version_info[:2]); import test.test_json";
    let output = program(PYTHON).args(["-c", find]).output().ok()?;
    let package = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!output.status.success() && !package.is_empty()).then_some(package)
}

pub fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}
