// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ways in which a node boots: by GRUB from a disk, as on metal, with either kind of firmware; with the least memory
//! and with the most CPUs; and last words.
//!
//! GRUB's disks are made by `grub-mkrescue` (Debian: grub-common, grub-pc-bin, grub-efi-amd64-bin, xorriso, mtools), the
//! firmware is that of the package ovmf: `cargo xtask setup` installs them.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::Result;
use crate::case::Case;
use crate::nodes::{Nodes, tacet};
use crate::place::{program, top};
use crate::process::{self, Ended, until};

const FIRMWARE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
const VARIABLES: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";
const NETWORK: [&str; 4] = ["-netdev", "user,id=link,ipv6=off", "-device", "virtio-net-pci,netdev=link"];
/// The emulator's status for a kernel that died (70): 2 × 70 + 1.
const DIED: i32 = 141;

pub fn cases() -> Vec<Case> {
    vec![
        Case::own("boot by GRUB on a PC's firmware", || by_grub(&[])).more(),
        Case::own("boot by GRUB on UEFI's firmware", by_uefi).more(),
        Case::own("boot with 4 MiB", || small(&["--node-memory", "4M"])),
        Case::own("boot with 4 MiB on a q35", || small(&["--node-memory", "4M", "--machine", "q35"])).more(),
        Case::own("boot with 64 CPUs", || small(&["--cpus", "64", "--node-memory", "512M"])).more(),
        Case::own("boot with 64 CPUs on a q35", || {
            small(&["--cpus", "64", "--node-memory", "512M", "--machine", "q35"])
        })
        .more(),
        Case::own("last words of a kernel without a link", || last_words("tacet.link=nat", "tacet.link: not net,")),
        Case::own("last words of a kernel without a key", || last_words("tacet.key=0", "tacet.key: not 64")),
        Case::own("last words of a kernel that faults", || {
            last_words("tacet.test=fault", "exception 14 in the kernel, error 0x0, rip 0xffffffff8")
        }),
        Case::own("last words of a kernel that panics", || last_words("tacet.test=panic", ".rs:")),
    ]
}

fn small(flags: &[&str]) -> Result<()> {
    let nodes = Nodes::boot(1, flags)?;
    hello(&mut nodes.run(&[], &[program("hello-static")]))
}

fn hello(command: &mut Command) -> Result<()> {
    let ended = process::run(command, b"")?;
    match (ended.status, ended.text().as_str()) {
        (0, "hello\n") => Ok(()),
        (status, text) => Err(format!("status {status}: {text}{}", ended.error_text())),
    }
}

/// The kernel says why it ends, and the emulator ends with it.
fn last_words(line: &str, words: &str) -> Result<()> {
    let image = image()?;
    // of several words with one name the last counts
    let line = format!("tacet.key={} tacet.iod=10.0.2.2:4070 {line}", "0".repeat(64));
    let mut emulator = emulator(&["-kernel", &image, "-append", &line, "-serial", "stdio"])?;
    let ended = process::run(emulator.args(NETWORK), b"")?;
    let said = ended.text();
    let last = said.lines().last().unwrap_or_default().trim_end();
    if ended.status == DIED && last.starts_with("tacet: the kernel ends: ") && last.contains(words) {
        Ok(())
    } else {
        Err(format!("status {}, and it said {said:?}{}", ended.status, ended.error_text()))
    }
}

/// The emulator of our command, with a q35, and no kernel yet.
fn emulator(words: &[&str]) -> Result<Command> {
    let ended = process::run(&mut tacet(&["boot", "--dry-run", "--nodes", "1", "--machine", "q35"]), b"")?;
    let text = ended.text();
    let line = text.lines().find_map(|line| line.strip_prefix("node 0: ")?.split_once(" -kernel "));
    let (own, _) = line.ok_or_else(|| format!("no emulator: {text}{}", ended.error_text()))?;
    let mut own = own.split_whitespace();
    let mut command = Command::new(own.next().unwrap_or_default());
    command.args(own).args(words);
    Ok(command)
}

fn image() -> Result<String> {
    let image = top().join("build/lib/tacet/static.elf");
    if image.is_file() { Ok(image.display().to_string()) } else { Err(format!("{}: missing", image.display())) }
}

fn by_uefi() -> Result<()> {
    let directory = scratch()?;
    let variables = directory.path().join("variables.fd");
    fs::copy(VARIABLES, &variables).map_err(|error| format!("{VARIABLES}: {error}"))?;
    let firmware = format!("if=pflash,format=raw,readonly=on,file={FIRMWARE}");
    let variables = format!("if=pflash,format=raw,file={}", variables.display());
    by_grub(&["-drive", &firmware, "-drive", &variables])
}

fn scratch() -> Result<TempDir> {
    tempfile::tempdir().map_err(|error| error.to_string())
}

/// A node and its daemon; dropping it ends both.
struct Metal {
    children: Vec<Child>,
}

impl Drop for Metal {
    fn drop(&mut self) {
        for child in &mut self.children {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// A daemon in the foreground, and a node that GRUB boots from a disk by the entry that the command prints.
fn by_grub(flags: &[&str]) -> Result<()> {
    let directory = scratch()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let port = UdpSocket::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .map_err(|error| error.to_string())?
        .port();
    let (key, control) = (path("key"), path("control"));
    let iod = format!("10.0.2.2:{port}");
    let words = ["boot", "--metal", "--nodes", "1", "--address", "10.0.2.15/24", "--iod", &iod, "--key", &key];
    let entry = process::run(&mut tacet(&words), b"")?;
    if entry.status != 0 {
        return Err(format!("no entry for GRUB: {}", entry.error_text()));
    }
    let disk = path("disk.iso");
    make_disk(directory.path(), &entry, &disk)?;
    let mut metal = Metal { children: Vec::new() };
    let mut daemon = Command::new(crate::place::command());
    daemon.args([
        "--config",
        "/dev/null",
        "iod",
        "--listen",
        &format!("127.0.0.1:{port}"),
        "--key",
        &key,
        "--control",
        &control,
    ]);
    metal.children.push(process::start(&mut daemon)?);
    let log = path("serial.log");
    let mut emulator = emulator(&["-cdrom", &disk, "-serial", &format!("file:{log}")])?;
    metal.children.push(process::start(emulator.args(NETWORK).args(flags))?);
    until("the node is ready", || {
        let status = process::run(&mut tacet(&["status", "--json", "--control", &control]), b"");
        status.is_ok_and(|status| status.text().contains("\"ready\""))
    })
    .map_err(|why| format!("{why}; the serial line: {}", fs::read_to_string(&log).unwrap_or_default()))?;
    hello(tacet(&["run", "--control", &control, "--"]).arg(program("hello-static")))
}

/// A disk from which either firmware starts GRUB, which starts our image.
fn make_disk(directory: &Path, entry: &Ended, disk: &str) -> Result<()> {
    let tree = directory.join("tree");
    let write = || {
        fs::create_dir_all(tree.join("boot/tacet"))?;
        fs::create_dir_all(tree.join("boot/grub"))?;
        fs::copy(image().map_err(std::io::Error::other)?, tree.join("boot/tacet/static.elf"))?;
        let settings = "set timeout=0\nserial --unit=0 --speed=115200\nterminal_output serial\n";
        fs::write(tree.join("boot/grub/grub.cfg"), format!("{settings}{}", entry.text()))
    };
    write().map_err(|error| format!("{}: {error}", tree.display()))?;
    let mut make = Command::new("grub-mkrescue");
    let ended = process::run(make.arg("-o").arg(disk).arg(&tree), b"")?;
    if ended.status == 0 { Ok(()) } else { Err(format!("grub-mkrescue: {}", ended.error_text())) }
}
