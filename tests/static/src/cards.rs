// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network cards of real machines, as the emulator has them: the same programs as on virtio's. `TACET_TEST_CARD` has every
//! other case's nodes use one of them too.

use std::fs;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::net::{Shutdown, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::Result;
use crate::boot::{Metal, emulator, free_port, image, scratch, until_ready};
use crate::case::Case;
use crate::left::nothing_of;
use crate::nodes::{Nodes, tacet};
use crate::place::{command, program};
use crate::process::{self, until};
use crate::unplug::{begin, expect, hello, send};

/// Bytes of one shipped write, and how many of them.
const PIECE: usize = 64 << 10;
const PIECES: usize = 8;

pub fn cases() -> Vec<Case> {
    let more = ["files-static", "pipes-static", "threads-static", "signals-static", "mappings-static", "edges-static"];
    vec![
        Case::own("programs on a node with an e1000e", || programs("e1000e", &[])),
        Case::own("programs on a node with an igb", || programs("igb", &[])),
        Case::own("more programs on a node with an e1000e", move || programs("e1000e", &more)).more(),
        Case::own("more programs on a node with an igb", move || programs("igb", &more)).more(),
        Case::own("broadcasts do not interrupt a node with an e1000e", || broadcasts("e1000e", INTEL)).more(),
        Case::own("broadcasts do not interrupt a node with an igb", || broadcasts("igb", INTEL)).more(),
        Case::own("broadcasts do not interrupt a node with a virtio card", || broadcasts("virtio-net-pci", VIRTIO))
            .more(),
        Case::own("a card of a machine that ended has no memory", stopped),
        Case::own("an e1000e on a node of 4 MiB", || small("e1000e")).more(),
        Case::own("an igb on a node of 4 MiB", || small("igb")).more(),
    ]
}

fn flags(card: &str) -> [&str; 6] {
    ["--machine", "q35", "--link", "net", "--card", card]
}

/// What fits into a packet, what fills the card's rings, and an order to a CPU that computes, by the card's interrupt.
fn programs(card: &str, more: &[&str]) -> Result<()> {
    // for an order to one that computes; of several, another one would look for it
    let cpus = if more.is_empty() { "1" } else { "4" };
    let nodes = Nodes::boot(1, &[&flags(card)[..], &["--node-cpus", cpus]].concat())?;
    hello(&nodes)?;
    copies(&nodes)?;
    if more.is_empty() {
        killed(&nodes)?;
    }
    for name in more {
        let words = [program(name), "one".into(), "and two".into(), String::new()];
        let native = process::run(Command::new(&words[0]).args(&words[1..]), b"some\ninput\n")?;
        let ended = process::run(&mut nodes.run(&[], &words), b"some\ninput\n")?;
        if (&ended.stdout, ended.status) != (&native.stdout, native.status) {
            return Err(format!("{name}: status {}, {}{}", ended.status, ended.text(), ended.error_text()));
        }
    }
    expect(&nodes.down()?, 0)?;
    nothing_of(&nodes)
}

/// Nobody looks at the link when the order comes: a node that looks asks the daemon again within this time.
const SILENT_MS: u64 = 1_500;

fn killed(nodes: &Nodes) -> Result<()> {
    let job = begin(nodes, &[], "spin")?;
    until_silent(nodes)?;
    let number = job.number.to_string();
    let words = ["kill", "--name", &nodes.name, "--signal", "KILL", &number];
    expect(&process::run(&mut tacet(&words), b"")?, 0)?;
    expect(&process::finish(job.child)?, 137)?;
    hello(nodes)
}

fn until_silent(nodes: &Nodes) -> Result<()> {
    let is_silent = |status: Value| status["nodes"][0]["silent_ms"].as_u64().is_some_and(|ms| ms > SILENT_MS);
    until("the node says nothing", || nodes.status().is_ok_and(is_silent))
}

/// Reads and writes of 64 KiB.
fn copies(nodes: &Nodes) -> Result<()> {
    let input: Vec<u8> = (0..PIECE * PIECES).map(|place| ((place * 31) >> 3) as u8).collect();
    let words = ["/usr/bin/dd".into(), format!("bs={PIECE}"), "iflag=fullblock".into(), "status=none".into()];
    let ended = process::run(&mut nodes.run(&[], &words), &input)?;
    expect(&ended, 0)?;
    if ended.stdout == input { Ok(()) } else { Err(format!("{} bytes came back, or others", ended.stdout.len())) }
}

fn small(card: &str) -> Result<()> {
    let nodes = Nodes::boot(1, &[&flags(card)[..], &["--node-memory", "4M"]].concat())?;
    hello(&nodes)
}

/// Frames to everybody that are sent while the node's CPU computes, and how many of them must reach the card.
const BROADCASTS: usize = 50;
const ARRIVED: usize = 10;

/// The emulator's word for an interrupt by a card.
const INTEL: &str = "e1000e_irq_msi_notify";
const VIRTIO: &str = "virtio_notify ";

/// A packet for an address that nobody has makes the emulator's network ask everybody for it. The emulator writes down the
/// frames on the wire, and each interrupt by its card.
fn broadcasts(card: &str, interrupt: &str) -> Result<()> {
    let directory = scratch()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (key, control, port, door) = (path("key"), path("control"), free_port()?, free_port()?);
    let nodes = ManuallyDrop::new(Nodes { name: format!("test-cards-{}", std::process::id()) });
    let iod = format!("10.0.2.2:{port}");
    let words =
        ["boot", "--metal", "--json", "--nodes", "1", "--address", "10.0.2.15/24", "--iod", &iod, "--key", &key];
    let entry = process::run(&mut tacet(&words), b"")?;
    let entry: Value =
        serde_json::from_slice(&entry.stdout).map_err(|error| format!("{error}: {}", entry.error_text()))?;
    let line = entry["nodes"][0]["kernel_arguments"].as_str().ok_or("no command line for the node")?;
    let mut metal = Metal { children: Vec::new() };
    let mut daemon = Command::new(command());
    let listen = format!("127.0.0.1:{port}");
    daemon.args(["--config", "/dev/null", "iod", "--listen", &listen, "--key", &key, "--control", &control]);
    metal.children.push(process::start(daemon.args(["--name", &nodes.name]))?);
    let (log, serial, wire) = (path("card.log"), path("serial.log"), path("wire.pcap"));
    let network = format!("user,id=link,ipv6=off,hostfwd=udp:127.0.0.1:{door}-10.0.2.99:9");
    let mut emulator = emulator(&["-kernel", &image()?, "-append", line, "-serial", &format!("file:{serial}")])?;
    emulator.args(["-netdev", &network, "-device", &format!("{card},netdev=link,romfile=")]);
    emulator.args(["-object", &format!("filter-dump,id=wire,netdev=link,file={wire}")]);
    metal.children.push(process::start(emulator.args(["-D", &log, "-trace", interrupt.trim_end()]))?);
    until_ready(&control, &serial)?;
    let job = begin(&nodes, &[], "spin")?;
    until_silent(&nodes)?;
    let interrupted = || fs::read_to_string(&log).unwrap_or_default().matches(interrupt).count();
    let sent = || fs::read(&wire).unwrap_or_default().windows(6).filter(|bytes| *bytes == [0xff; 6]).count();
    let (before, interrupts) = (sent(), interrupted());
    if interrupts == 0 {
        return Err(format!("the emulator tells of no {interrupt}"));
    }
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    for _ in 0..BROADCASTS {
        socket.send_to(b"to nobody", ("127.0.0.1", door)).map_err(|error| error.to_string())?;
        thread::sleep(Duration::from_millis(5));
    }
    until("broadcasts reach the card", || sent() >= before + ARRIVED || interrupted() != interrupts)?;
    let more = interrupted() - interrupts;
    send("KILL", job.child.id())?;
    process::finish(job.child)?;
    if more == 0 { Ok(()) } else { Err(format!("{more} interrupts")) }
}

/// The kernel dies when the card is open, since it has no address. The machine is held after its end, and a monitor reads
/// the card's command register.
fn stopped() -> Result<()> {
    /// Of the first device behind the host bridge, where SeaBIOS has the registers of a q35's PCI.
    const COMMAND: &str = "xp /1xw 0xb0008004\n";
    const MEMORY_IS_ITS: u32 = 1 << 2;
    let directory = scratch()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (monitor, serial) = (path("monitor"), path("serial.log"));
    let line = format!("tacet.key={} tacet.iod=10.0.2.2:4070", "0".repeat(64));
    let own = emulator(&["-kernel", &image()?, "-append", &line, "-serial", &format!("file:{serial}")])?;
    // without the device that ends the emulator at once
    let words: Vec<_> = own.get_args().collect();
    let exit = words.iter().position(|word| word.to_string_lossy().starts_with("isa-debug-exit")).ok_or("no exit")?;
    let mut held = Command::new(own.get_program());
    held.args(words.get(..exit - 1).unwrap_or_default()).args(words.get(exit + 1..).unwrap_or_default());
    held.args(["-no-shutdown", "-monitor", &format!("unix:{monitor},server=on,wait=off")]);
    held.args(["-netdev", "user,id=link,ipv6=off", "-device", "e1000e,netdev=link,romfile=,addr=01.0"]);
    let mut metal = Metal { children: Vec::new() };
    metal.children.push(process::start(&mut held)?);
    let said = || fs::read_to_string(&serial).unwrap_or_default();
    until("the kernel ends", || said().contains("tacet.address: missing"))?;
    let ask = |words: &str| -> Result<String> {
        let mut stream = UnixStream::connect(&monitor).map_err(|error| format!("{monitor}: {error}"))?;
        stream.write_all(words.as_bytes()).map_err(|error| error.to_string())?;
        let mut text = Vec::new();
        stream
            .shutdown(Shutdown::Write)
            .and_then(|()| stream.read_to_end(&mut text))
            .map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    until("the machine is off", || ask("info status\n").is_ok_and(|text| text.contains("shutdown")))?;
    let answer = ask(COMMAND)?;
    let command = answer.split_once("b0008004: 0x").and_then(|(_, rest)| u32::from_str_radix(rest.get(..8)?, 16).ok());
    match command {
        Some(command) if command & 2 != 0 && command & MEMORY_IS_ITS == 0 => Ok(()),
        _ => Err(format!("the command register: {answer}")),
    }
}
