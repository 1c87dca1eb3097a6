// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Debian's kernel packages, through apt with lists and caches of its own: the host's sources stay as they are.
//!
//! Called by the program that prints the table. Needs the network, and a host with apt and dpkg.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Result, Types};

/// Where the three lines of kernels are published.
const SUITES: [(&str, &str); 6] = [
    ("debian", "bookworm"),
    ("debian-security", "bookworm-security"),
    ("debian", "trixie"),
    ("debian-security", "trixie-security"),
    ("debian", "trixie-backports"),
    ("debian", "sid"),
];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// One kernel.
pub struct Package {
    release: String,
    /// The packages with its image and its modules.
    parts: Vec<String>,
    state: PathBuf,
}

/// Every signed kernel of the three lines that Debian serves today, oldest first; the module builds for none with
/// PREEMPT_RT.
pub fn packages(directory: &Path) -> Result<Vec<Package>> {
    let state = directory.join("apt");
    for part in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(state.join(part))?;
    }
    let sources: String = SUITES
        .iter()
        .map(|(archive, suite)| format!("deb [signed-by={KEYRING}] http://deb.debian.org/{archive} {suite} main\n"))
        .collect();
    fs::write(state.join("sources.list"), sources)?;
    run(apt(&state, "apt-get").args(["-q", "update"]))?;
    let pattern = "^linux-(image|binary|binary-unsigned|modules)-[0-9.]+[-+].*amd64$";
    let names = run(apt(&state, "apt-cache").args(["search", "--names-only", pattern]))?;
    let names: HashSet<&str> = names.lines().filter_map(|line| line.split(' ').next()).collect();
    let mut releases: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("linux-image-")).collect();
    releases.retain(|release| is_line(release));
    releases.sort_by_key(|release| numbers(release));
    let package = |release: &str| {
        Some(Package { release: release.to_owned(), parts: parts(release, &names)?, state: state.clone() })
    };
    Ok(releases.into_iter().filter_map(package).collect())
}

/// Since 7 the image and the modules are packages of their own. `None`: Debian serves them no more; `linux-image` of an
/// older release stays as a name without a kernel in it.
fn parts(release: &str, names: &HashSet<&str>) -> Option<Vec<String>> {
    if !release.starts_with("7.") {
        return Some(vec![format!("linux-image-{release}")]);
    }
    let served = |kind: &str| Some(format!("linux-{kind}-{release}")).filter(|name| names.contains(name.as_str()));
    Some(vec![served("binary").or_else(|| served("binary-unsigned"))?, served("modules")?])
}

impl Package {
    /// `uname -r`.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Fetches it, takes the types out of it and removes it again: together they would fill a disk.
    pub fn types(&self, directory: &Path) -> Result<Types> {
        let scratch = tempfile::tempdir_in(directory)?;
        let (debs, tree) = (scratch.path().join("debs"), scratch.path().join("tree"));
        fs::create_dir(&debs)?;
        run(apt(&self.state, "apt-get").args(["-q", "download"]).args(&self.parts).current_dir(&debs))?;
        for package in fs::read_dir(&debs)? {
            unpack(&package?.path(), &tree)?;
        }
        let release = self.release();
        // merged /usr came between the lines
        let place = |names: [String; 2]| names.map(|name| tree.join(name)).into_iter().find(|path| path.exists());
        let modules = ["usr/lib", "lib"].map(|lib| format!("{lib}/modules/{release}"));
        let image = [format!("boot/vmlinuz-{release}"), format!("usr/lib/modules/{release}/vmlinuz")];
        let image = place(image).ok_or_else(|| format!("{release}: it has no image"))?;
        let modules = place(modules).unwrap_or_default().join("kernel");
        Types::of(release, &image, &modules, directory)
    }
}

/// The image and the NVMe drivers alone: everything together takes ten times as long.
fn unpack(package: &Path, tree: &Path) -> Result<()> {
    fs::create_dir_all(tree)?;
    let mut whole = Command::new("dpkg-deb").arg("--fsys-tarfile").arg(package).stdout(Stdio::piped()).spawn()?;
    let archive = whole.stdout.take().ok_or("dpkg-deb: no output")?;
    let wanted = ["./boot", "./lib", "./usr/lib"];
    let mut tar = Command::new("tar");
    tar.args(["-x", "--wildcards", "--no-anchored", "vmlinuz*", "drivers/nvme/host/*.ko*"]);
    tar.stdin(archive).current_dir(tree);
    let unpacked = tar.stderr(Stdio::null()).status()?;
    if !whole.wait()?.success() {
        return Err(format!("dpkg-deb: {}: it cannot be unpacked", package.display()).into());
    }
    // tar's status tells of a pattern that matched nothing: a package has the image, the drivers or both
    match (unpacked.code(), wanted.iter().any(|part| tree.join(part).exists())) {
        (Some(0 | 2), true) => Ok(()),
        _ => Err(format!("{}: neither an image nor NVMe drivers in it", package.display()).into()),
    }
}

fn is_line(release: &str) -> bool {
    let left_out = release.contains("-unsigned") || release.contains("-rt-");
    ["6.1.", "6.12.", "7."].iter().any(|line| release.starts_with(line)) && !left_out
}

/// The numbers of a release in their order, for sorting.
fn numbers(name: &str) -> (Vec<u32>, String) {
    let digits = name.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
    (digits.take(4).collect(), name.to_owned())
}

/// apt with the state in `state` alone.
fn apt(state: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    let at = |option: &str, path: &str| format!("-o{option}={}", state.join(path).display());
    command.args([
        at("Dir::Etc::SourceList", "sources.list"),
        "-oDir::Etc::SourceParts=/nonexistent".to_owned(),
        at("Dir::State::Lists", "lists"),
        at("Dir::Cache", ""),
        at("Dir::Cache::Archives", "archives"),
        // images for containers switch these off, and each call would read all lists again
        at("Dir::Cache::pkgcache", "packages.bin"),
        at("Dir::Cache::srcpkgcache", "sources.bin"),
        "-oAPT::Sandbox::User=root".to_owned(),
        "-oAcquire::Languages=none".to_owned(),
    ]);
    command
}

fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{program}: {e}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program}: {}", text.lines().last().unwrap_or("it failed")).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
