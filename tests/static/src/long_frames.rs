// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames that are longer than Ethernet's: a node, its daemon and `tacet static run` in a network namespace of this case,
//! whose cable takes IP packets of 9,000 bytes.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::boot::{Metal, emulator, image, scratch, until_ready};
use crate::case::Case;
use crate::nodes::tacet;
use crate::place::{command, program};
use crate::process::{self, Ended, until};
use crate::unplug::expect;

const HOST: &str = "10.9.0.1";
const NODE: &str = "10.9.0.2/24";
const MTU: &str = "9000";
/// Bytes of one shipped read and write, and how many of them.
const PIECE: usize = 64 << 10;
const PIECES: usize = 64;
/// What a frame of Ethernet's usual size has of a message.
const FRAGMENT: usize = 1472 - 64;

pub fn cases() -> Vec<Case> {
    if !has_namespaces() {
        return vec![
            Case::own("long frames: LEFT OUT, needs root, network namespaces and /dev/net/tun", || Ok(())).more(),
        ];
    }
    vec![
        Case::own("long frames with a virtio card", || copies("virtio-net-pci")).more(),
        Case::own("long frames with an e1000e", || copies("e1000e")).more(),
        Case::own("long frames with an igb", || copies("igb")).more(),
    ]
}

fn has_namespaces() -> bool {
    let made = Command::new("unshare").args(["--net", "true"]).stderr(Stdio::null()).status();
    Path::new("/dev/net/tun").exists() && made.is_ok_and(|status| status.success())
}

/// A network namespace with a cable; it exists as long as this process of it.
struct Network(Child);

impl Network {
    fn make() -> Result<Self> {
        let script = format!(
            "ip link set lo up && ip tuntap add mode tap name cable && ip address add {HOST}/24 dev cable && \
             ip link set cable mtu {MTU} up && exec sleep 1000"
        );
        let network = Self(process::start(Command::new("unshare").args(["--net", "sh", "-c", &script]))?);
        until("the cable is there", || network.run(&mut Command::new("ip"), &["link", "show", "cable"]).is_ok())?;
        Ok(network)
    }

    /// This command there.
    fn inside(&self, of: &Command) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.0.id().to_string(), "--net", "--"]);
        command.arg(of.get_program()).args(of.get_args());
        command
    }

    fn run(&self, program: &mut Command, words: &[&str]) -> Result<Ended> {
        let ended = process::run(&mut self.inside(program.args(words)), b"")?;
        expect(&ended, 0).map(|()| ended)
    }

    /// Frames that went over the cable: to the node, and from it.
    fn frames(&self) -> Result<(u64, u64)> {
        let said = self.run(&mut Command::new("ip"), &["-json", "-stats", "link", "show", "cable"])?;
        let said: Value = serde_json::from_slice(&said.stdout).map_err(|error| error.to_string())?;
        let count = |way: &str| said[0]["stats64"][way]["packets"].as_u64().ok_or("no count of frames");
        Ok((count("tx")?, count("rx")?))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Reads and writes of 64 KiB, which take fewer frames than they could with frames of the usual size.
fn copies(card: &str) -> Result<()> {
    let directory = scratch()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (key, control, log) = (path("key"), path("control"), path("serial.log"));
    let iod = format!("{HOST}:4070");
    let words = ["boot", "--metal", "--json", "--nodes", "1", "--address", NODE, "--iod", &iod, "--key", &key];
    let entry = process::run(tacet(&words).args(["--mtu", MTU]), b"")?;
    let entry: Value = serde_json::from_slice(&entry.stdout).map_err(|error| error.to_string())?;
    let line = entry["nodes"][0]["kernel_arguments"].as_str().ok_or("no command line for the node")?;
    let network = Network::make()?;
    let mut metal = Metal { children: Vec::new() };
    let mut daemon = Command::new(command());
    daemon.args(["--config", "/dev/null", "iod", "--listen", &iod, "--key", &key, "--control", &control]);
    daemon.args(["--name", &format!("test-long-{}", std::process::id())]);
    metal.children.push(process::start(&mut network.inside(&daemon))?);
    let serial = format!("file:{log}");
    let mut emulator = emulator(&["-kernel", &image()?, "-append", line, "-serial", &serial])?;
    emulator.args(["-netdev", "tap,id=link,ifname=cable,script=no,downscript=no"]);
    emulator.args(["-device", &format!("{card},netdev=link,romfile=")]);
    metal.children.push(process::start(&mut network.inside(&emulator))?);
    until_ready(&control, &log)?;
    let run = |words: &[&str], input: &[u8]| {
        let mut run = tacet(&["run", "--control", &control, "--"]);
        process::run(&mut network.inside(run.args(words)), input)
    };
    let hello = run(&[&program("hello-static")], b"")?;
    expect(&hello, 0)?;
    let before = network.frames()?;
    let input: Vec<u8> = (0..PIECE * PIECES).map(|place| ((place * 31) >> 3) as u8).collect();
    let copied = run(&["/usr/bin/dd", &format!("bs={PIECE}"), "iflag=fullblock", "status=none"], &input)?;
    expect(&copied, 0)?;
    if copied.stdout != input {
        return Err(format!("{} bytes came back, or others", copied.stdout.len()));
    }
    let after = network.frames()?;
    let (to_node, from_node) = (after.0 - before.0, after.1 - before.1);
    let usual = (input.len() / FRAGMENT) as u64;
    if to_node < usual && from_node < usual {
        return Ok(());
    }
    Err(format!("{to_node} frames to the node and {from_node} from it; the usual size needs {usual} each"))
}
