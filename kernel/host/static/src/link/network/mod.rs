// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's way to its I/O node: packets to and from ports there, over a network or over a line of bytes.
//!
//! The exchange of packets above it (`tacet_wire`) bears that packets are lost, doubled or come in another order.
//! Nothing here repeats, and nothing waits for an answer. One CPU at a time uses it.

mod bridged;
mod datagrams;
mod frames;
mod places;

use crate::machine::{Machine, die};
use bridged::Bridged;
use datagrams::Datagrams;
use frames::Frames;
use places::Places;
use tacet_wire::packet::LARGE_PACKET_BYTES;

#[expect(clippy::large_enum_variant, reason = "there is one value, and no heap")]
enum Way {
    Bridged(Bridged),
    Datagrams(Datagrams),
    Frames(Frames),
}

/// The way.
pub struct Endpoint {
    way: Way,
}

impl Endpoint {
    /// Opens what `tacet.link` on the command line names (`net`, `bridge`, `console` or `com2`), or what the machine has,
    /// except for a bridge, which looks like any network. A machine that has none, or whose addresses are wrong, ends with
    /// one line.
    pub fn open(machine: &mut Machine) -> Self {
        let link = machine.option("tacet.link");
        let wanted = |name: &[u8]| link.is_none_or(|link| link == name);
        if link == Some(b"bridge")
            && let Some(bridged) = Bridged::open(machine)
        {
            return Self { way: Way::Bridged(bridged) };
        }
        let mtu = right(places::mtu(machine));
        if wanted(b"net")
            && let Some(network) = machine.network(datagrams::frame_bytes(mtu))
        {
            let places = right(Places::read(machine));
            return Self { way: Way::Datagrams(made(Datagrams::open(machine, network, &places, mtu))) };
        }
        if wanted(b"console")
            && let Some(console) = machine.console()
        {
            return Self { way: Way::Frames(made(Frames::open(machine, console))) };
        }
        if wanted(b"com2")
            && let Some(console) = machine.serial_link()
        {
            return Self { way: Way::Frames(made(Frames::open(machine, console))) };
        }
        match link {
            None => {
                die(format_args!("this machine has no link: no network card that is known, no virtio console, no COM2"))
            }
            Some(b"net") => die(format_args!(
                "tacet.link=net: this machine has no network card that is known (virtio, 82574, 82576)"
            )),
            Some(b"bridge") => die(format_args!("tacet.link=bridge: this machine has no virtio network")),
            Some(b"console") => die(format_args!("tacet.link=console: this machine has no virtio console")),
            Some(b"com2") => die(format_args!("tacet.link=com2: this machine has no second serial port")),
            Some(_) => die(format_args!("tacet.link: not net, bridge, console or com2")),
        }
    }

    /// Whether a packet may be sent now.
    pub fn has_room(&mut self) -> bool {
        match &mut self.way {
            Way::Bridged(bridged) => bridged.has_room(),
            Way::Datagrams(datagrams) => datagrams.has_room(),
            Way::Frames(frames) => frames.has_room(),
        }
    }

    /// Sends the packet that `fill` writes to a port of the I/O node. False: there is nothing to send. To be called only if
    /// there is room.
    pub fn send(&mut self, port: u16, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        match &mut self.way {
            Way::Bridged(bridged) => bridged.send(port, fill),
            Way::Datagrams(datagrams) => datagrams.send(port, fill).is_some(),
            Way::Frames(frames) => frames.send(port, fill).is_some(),
        }
    }

    /// Gives the next packet that came to `take`; `None`: there is none. To be called again and again while an answer is
    /// awaited: what the network itself asks is answered here.
    pub fn receive(&mut self, take: impl FnOnce(&[u8])) -> Option<()> {
        match &mut self.way {
            Way::Bridged(bridged) => bridged.receive(take),
            Way::Datagrams(datagrams) => datagrams.receive(take),
            Way::Frames(frames) => frames.receive(take),
        }
    }

    /// Wants an interrupt when something comes (`Cpu::listen_to_link`), or none, which is how it begins. True: nothing has
    /// come yet, and the interrupt will tell. False: look; or this link cannot interrupt.
    pub fn listen(&mut self, wanted: bool) -> bool {
        match &mut self.way {
            Way::Bridged(bridged) => bridged.listen(wanted),
            Way::Datagrams(datagrams) => datagrams.listen(wanted),
            Way::Frames(frames) => frames.listen(wanted),
        }
    }

    /// Whether what the network tells everybody (questions for an address, mostly) comes too, which is how it begins. A
    /// network card that can leaves it out, so that it interrupts nobody; questions of those who know this node come still.
    pub fn hear_broadcasts(&mut self, wanted: bool) {
        if let Way::Datagrams(datagrams) = &mut self.way {
            datagrams.hear_broadcasts(wanted);
        }
    }

    /// Whether it can interrupt at all.
    pub fn interrupts(&self) -> bool {
        match &self.way {
            Way::Bridged(bridged) => bridged.interrupts(),
            Way::Datagrams(datagrams) => datagrams.interrupts(),
            Way::Frames(frames) => frames.interrupts(),
        }
    }

    /// The longest packet that it takes.
    pub fn packet_bytes(&self) -> usize {
        match &self.way {
            Way::Datagrams(datagrams) => datagrams.packet_bytes(),
            Way::Bridged(_) | Way::Frames(_) => LARGE_PACKET_BYTES,
        }
    }
}

/// The value of a word of the command line; a wrong word ends the node.
fn right<T>(told: Result<T, &str>) -> T {
    match told {
        Ok(told) => told,
        Err(wrong) => die(format_args!("{wrong}")),
    }
}

fn made<T>(way: Option<T>) -> T {
    match way {
        Some(way) => way,
        None => die(format_args!("too little memory for the buffers of the link")),
    }
}
