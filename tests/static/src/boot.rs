// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ways in which a node boots: by GRUB from a disk or from the network, as on metal, with either kind of firmware; with the least memory
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
pub const NETWORK: [&str; 4] = ["-netdev", "user,id=link,ipv6=off", "-device", "virtio-net-pci,netdev=link"];
/// GRUB's modules for a PC's firmware and for UEFI's, and what the network's server calls the part that is loaded first.
const GRUB: (&str, &str) = ("/usr/lib/grub/i386-pc", "grub/i386-pc/core.0");
const GRUB_OF_UEFI: (&str, &str) = ("/usr/lib/grub/x86_64-efi", "grub/x86_64-efi/core.efi");
/// The emulator's status for a kernel that died (70): 2 × 70 + 1.
const DIED: i32 = 141;

pub fn cases() -> Vec<Case> {
    vec![
        Case::own("boot by GRUB on a PC's firmware", || by_grub(&[])).more(),
        Case::own("boot by GRUB on UEFI's firmware", || {
            let directory = scratch()?;
            by_grub(&uefi(directory.path())?)
        })
        .more(),
        Case::own("boot by the network (PXE) with an e1000e", || by_network("e1000e,netdev=link", GRUB, &[])).more(),
        Case::own("boot by the network (PXE) with virtio's card", || {
            by_network("virtio-net-pci,netdev=link", GRUB, &[])
        })
        .more(),
        Case::own("boot by the network (PXE) on UEFI's firmware", || {
            let directory = scratch()?;
            by_network("virtio-net-pci,netdev=link", GRUB_OF_UEFI, &uefi(directory.path())?)
        })
        .more(),
        Case::own("boot with 4 MiB", || small(&["--node-memory", "4M"])),
        Case::own("boot with 4 MiB on a q35", || small(&["--node-memory", "4M", "--machine", "q35"])).more(),
        Case::own("boot with 64 CPUs", || small(&["--cpus", "64", "--node-memory", "512M"])).more(),
        Case::own("boot with 64 CPUs on a q35", || {
            small(&["--cpus", "64", "--node-memory", "512M", "--machine", "q35"])
        })
        .more(),
        Case::own("a service CPU has no program", service_cpu),
        Case::own("corrected errors are counted", corrected),
        Case::own("nodes are drained, returned, reset and powered off", governed),
        Case::own("a node of metal boots again and turns itself off", metal_governed),
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

/// The emulator's monitor puts an error into a bank of each CPU, as the hardware does.
fn corrected() -> Result<()> {
    let directory = scratch()?;
    let socket = directory.path().join("monitor").display().to_string();
    let monitor = format!("--emulator-arguments=-monitor unix:{socket},server=on,wait=off");
    let nodes = Nodes::boot(1, &["--node-cpus", "2", &monitor])?;
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).map_err(|error| format!("{socket}: {error}"))?;
    // valid, enabled, corrected
    let words = [0, 1].map(|cpu| format!("mce {cpu} 3 0x9000000000000135 0 0x1000 0\n")).concat();
    std::io::Write::write_all(&mut stream, words.as_bytes()).map_err(|error| error.to_string())?;
    // the monitor takes the lines one by one, and answers the last one after the others
    let told = || nodes.status().is_ok_and(|status| status["nodes"][0]["corrected_errors"] == 2);
    until("the errors are counted", || hello(&mut nodes.run(&[], &[program("hello-static")])).is_ok() && told())
}

fn govern(words: &[&str]) -> Result<()> {
    let ended = process::run(&mut tacet(words), b"")?;
    if ended.status == 0 { Ok(()) } else { Err(format!("{words:?}: status {}: {}", ended.status, ended.error_text())) }
}

fn until_state(nodes: &Nodes, state: &str) -> Result<()> {
    let is = || nodes.status().is_ok_and(|status| status["nodes"][0]["state"] == state);
    until(&format!("node 0 is {state}"), is)
}

fn governed() -> Result<()> {
    let nodes = Nodes::boot(1, &[])?;
    let order = |order: &str| govern(&[order, "--name", &nodes.name, "0"]);
    order("drain")?;
    until_state(&nodes, "drained")?;
    let waiting = process::start(&mut nodes.run(&[], &[program("hello-static")]))?;
    order("reset")?;
    until_state(&nodes, "drained")?;
    order("return")?;
    let ended = process::finish(waiting)?;
    if (ended.status, ended.text().as_str()) != (0, "hello\n") {
        return Err(format!("the job that waited: status {}: {}{}", ended.status, ended.text(), ended.error_text()));
    }
    until_state(&nodes, "ready")?;
    order("power-off")?;
    until_state(&nodes, "off")?;
    until("its emulator is gone", || crate::unplug::emulators(&nodes).is_empty())?;
    order("reset")?;
    until_state(&nodes, "ready")?;
    hello(&mut nodes.run(&[], &[program("hello-static")]))
}

/// By its own registers, as the firmware's tables name them.
fn metal_governed() -> Result<()> {
    let directory = scratch()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (key, control, log, port) = (path("key"), path("control"), path("serial.log"), free_port()?);
    let iod = format!("10.0.2.2:{port}");
    let words =
        ["boot", "--metal", "--json", "--nodes", "1", "--address", "10.0.2.15/24", "--iod", &iod, "--key", &key];
    let entry = process::run(&mut tacet(&words), b"")?;
    let entry: serde_json::Value = serde_json::from_slice(&entry.stdout).map_err(|error| error.to_string())?;
    let line = entry["nodes"][0]["kernel_arguments"].as_str().ok_or("no command line for the node")?;
    let mut metal = Metal { children: Vec::new() };
    let mut daemon = Command::new(crate::place::command());
    let listen = format!("127.0.0.1:{port}");
    daemon.args(["--config", "/dev/null", "iod", "--listen", &listen, "--key", &key, "--control", &control]);
    daemon.args(["--name", &format!("test-metal-{}", std::process::id())]);
    metal.children.push(process::start(&mut daemon)?);
    let serial = format!("file:{log}");
    let own = emulator(&["-kernel", &image()?, "-append", line, "-serial", &serial])?;
    let mut emulator = Command::new(own.get_program());
    // A machine that is reset boots again here.
    emulator.args(own.get_args().filter(|word| *word != "-no-reboot")).args(NETWORK);
    metal.children.push(process::start(&mut emulator)?);
    until_ready(&control, &log)?;
    govern(&["reset", "--control", &control, "0"])?;
    until_ready(&control, &log)?;
    hello(tacet(&["run", "--control", &control, "--"]).arg(program("hello-static")))?;
    until_ready(&control, &log)?;
    govern(&["power-off", "--control", &control, "0"])?;
    let machine = metal.children.last_mut().ok_or("no machine")?;
    until("the machine is off", || machine.try_wait().is_ok_and(|status| status.is_some()))
}

/// The first CPU of three is not the programs'.
fn service_cpu() -> Result<()> {
    let nodes = Nodes::boot(1, &["--node-cpus", "2", "--service-cpu"])?;
    let words = [&["nproc"][..], &["cat", "/sys/devices/system/cpu/online"]];
    for (words, said) in words.into_iter().zip(["2\n", "1-2\n"]) {
        let ended = process::run(&mut nodes.run(&["--processes", "1"], words), b"")?;
        if (ended.status, ended.text().as_str()) != (0, said) {
            return Err(format!("{words:?}: status {}: {}{}", ended.status, ended.text(), ended.error_text()));
        }
    }
    let two = process::run(&mut nodes.run(&["--processes", "2"], &["nproc"]), b"")?;
    if two.text() == "1\n1\n" { Ok(()) } else { Err(format!("{}{}", two.text(), two.error_text())) }
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
pub fn emulator(words: &[&str]) -> Result<Command> {
    let ended = process::run(&mut tacet(&["boot", "--dry-run", "--nodes", "1", "--machine", "q35"]), b"")?;
    let text = ended.text();
    let line = text.lines().find_map(|line| line.strip_prefix("node 0: ")?.split_once(" -kernel "));
    let (own, _) = line.ok_or_else(|| format!("no emulator: {text}{}", ended.error_text()))?;
    let mut own = own.split_whitespace();
    let mut command = Command::new(own.next().unwrap_or_default());
    command.args(own).args(words);
    Ok(command)
}

pub fn image() -> Result<String> {
    let image = top().join("build/lib/tacet/static.elf");
    if image.is_file() { Ok(image.display().to_string()) } else { Err(format!("{}: missing", image.display())) }
}

/// Words of the emulator for UEFI's firmware, whose variables are in this directory.
fn uefi(directory: &Path) -> Result<[String; 4]> {
    let variables = directory.join("variables.fd");
    fs::copy(VARIABLES, &variables).map_err(|error| format!("{VARIABLES}: {error}"))?;
    let firmware = format!("if=pflash,format=raw,readonly=on,file={FIRMWARE}");
    let variables = format!("if=pflash,format=raw,file={}", variables.display());
    Ok(["-drive".to_owned(), firmware, "-drive".to_owned(), variables])
}

pub fn scratch() -> Result<TempDir> {
    tempfile::tempdir().map_err(|error| error.to_string())
}

/// A node and its daemon; dropping it ends both.
pub struct Metal {
    pub children: Vec<Child>,
}

impl Drop for Metal {
    fn drop(&mut self) {
        for child in &mut self.children {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// A node that GRUB boots from a disk by the entry that the command prints.
fn by_grub(flags: &[String]) -> Result<()> {
    let directory = scratch()?;
    let disk = directory.path().join("disk.iso").display().to_string();
    boots(directory.path(), &[], |entry| {
        make_disk(directory.path(), entry, &disk)?;
        let words = ["-cdrom", &disk].into_iter().chain(NETWORK).map(str::to_owned);
        Ok(words.chain(flags.iter().cloned()).collect())
    })
}

/// A node that the network boots: the card's firmware (PXE) loads GRUB by TFTP, GRUB the image. The node's words, and so its
/// key, are on its own disk.
fn by_network(card: &str, (modules, first): (&str, &str), flags: &[String]) -> Result<()> {
    let directory = scratch()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    boots(directory.path(), &["--pxe", &place("boot")], |_| {
        let (server, own) = (place("boot/tftp"), place("boot/own/0"));
        let mut make = Command::new("grub-mknetdir");
        let made = process::run(make.args(["--net-directory", &server, "--subdir", "grub", "-d", modules]), b"")?;
        if made.status != 0 {
            return Err(format!("grub-mknetdir: {}", made.error_text()));
        }
        fs::copy(image()?, place("boot/tftp/grub/static.elf")).map_err(|error| error.to_string())?;
        let file = place("boot/own/0/tacet/node.cfg");
        no_key_in(Path::new(&server), &fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?)?;
        let network = format!("user,id=link,ipv6=off,tftp={server},bootfile={first}");
        let disk = format!("if=none,id=own,format=raw,snapshot=on,file=fat:{own}");
        let words =
            ["-netdev", &network, "-device", card, "-boot", "n", "-drive", &disk, "-device", "ide-hd,drive=own"];
        Ok(words.map(str::to_owned).into_iter().chain(flags.iter().cloned()).collect())
    })
}

/// A daemon in the foreground, and a node that boots from what `prepare` makes of the output of `boot --metal`: further words
/// of the emulator.
fn boots(directory: &Path, flags: &[&str], prepare: impl FnOnce(&Ended) -> Result<Vec<String>>) -> Result<()> {
    let path = |name: &str| directory.join(name).display().to_string();
    let port = free_port()?;
    let (key, control) = (path("key"), path("control"));
    let iod = format!("10.0.2.2:{port}");
    let words = ["boot", "--metal", "--nodes", "1", "--address", "10.0.2.15/24", "--iod", &iod, "--key", &key];
    let entry = process::run(tacet(&words).args(flags), b"")?;
    if entry.status != 0 {
        return Err(format!("no entry for GRUB: {}", entry.error_text()));
    }
    let words = prepare(&entry)?;
    let mut metal = Metal { children: Vec::new() };
    let mut daemon = Command::new(crate::place::command());
    let listen = format!("127.0.0.1:{port}");
    daemon.args(["--config", "/dev/null", "iod", "--listen", &listen, "--key", &key, "--control", &control]);
    metal.children.push(process::start(&mut daemon)?);
    let log = path("serial.log");
    let mut emulator = emulator(&["-serial", &format!("file:{log}")])?;
    metal.children.push(process::start(emulator.args(words))?);
    until_ready(&control, &log)?;
    hello(tacet(&["run", "--control", &control, "--"]).arg(program("hello-static")))
}

/// No file that the server gives away has the key that is in `own`.
fn no_key_in(directory: &Path, own: &str) -> Result<()> {
    let key =
        own.split_once("tacet.key=").and_then(|(_, rest)| rest.get(..64)).ok_or("the node's own file has no key")?;
    for entry in fs::read_dir(directory).map_err(|error| error.to_string())?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            no_key_in(&path, own)?;
        } else if fs::read(&path).unwrap_or_default().windows(key.len()).any(|bytes| bytes == key.as_bytes()) {
            return Err(format!("{} has the key", path.display()));
        }
    }
    Ok(())
}

pub fn free_port() -> Result<u16> {
    let address = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    Ok(address.map_err(|error| error.to_string())?.port())
}

/// A node waits for a job of the daemon behind `control`. `log`: of the node's serial line.
pub fn until_ready(control: &str, log: &str) -> Result<()> {
    until("the node is ready", || {
        let status = process::run(&mut tacet(&["status", "--json", "--control", control]), b"");
        status.is_ok_and(|status| status.text().contains("\"ready\""))
    })
    .map_err(|why| format!("{why}; the serial line: {}", fs::read_to_string(log).unwrap_or_default()))
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
