// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's way to its I/O node: packets to and from ports there, over a network or over a line of bytes.
//!
//! The exchange of packets above it (`tacet_shipping`) bears that packets are lost, doubled or come in another order.
//! Nothing here repeats, and nothing waits for an answer. One CPU at a time uses it.

mod datagrams;
mod frames;
mod places;

use datagrams::Datagrams;
use frames::Frames;
use places::Places;
use tacet_arch::native::alone::{Machine, die};

#[expect(clippy::large_enum_variant, reason = "there is one value, and no heap")]
enum Way {
    Datagrams(Datagrams),
    Frames(Frames),
}

/// The way.
pub struct Endpoint {
    way: Way,
}

impl Endpoint {
    /// Opens what `tacet.link` on the command line names (`net`, `console` or `com2`), or what the machine has. A
    /// machine that has none, or whose addresses are wrong, ends with one line.
    pub fn open(machine: &mut Machine) -> Self {
        let link = machine.option("tacet.link");
        let wanted = |name: &[u8]| link.is_none_or(|link| link == name);
        if wanted(b"net")
            && let Some(network) = machine.network()
        {
            let places = match Places::read(machine) {
                Ok(places) => places,
                Err(wrong) => die(format_args!("{wrong}")),
            };
            return Self { way: Way::Datagrams(made(Datagrams::open(machine, network, &places))) };
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
            None => die(format_args!("this machine has no link: no virtio network, no virtio console, no COM2")),
            Some(b"net") => die(format_args!("tacet.link=net: this machine has no virtio network")),
            Some(b"console") => die(format_args!("tacet.link=console: this machine has no virtio console")),
            Some(b"com2") => die(format_args!("tacet.link=com2: this machine has no second serial port")),
            Some(_) => die(format_args!("tacet.link: not net, console or com2")),
        }
    }

    /// Sends a packet to a port of the I/O node. False: it is lost, because there is no room or no way yet.
    pub fn send(&mut self, port: u16, packet: &[u8]) -> bool {
        match &mut self.way {
            Way::Datagrams(datagrams) => datagrams.send(port, packet),
            Way::Frames(frames) => frames.send(port, packet),
        }
    }

    /// The next packet that came, if there is one: from which port, and how many bytes. A longer one than `to` is
    /// dropped. To be called again and again while an answer is awaited: what the network itself asks is answered here.
    pub fn receive(&mut self, to: &mut [u8]) -> Option<(u16, usize)> {
        match &mut self.way {
            Way::Datagrams(datagrams) => datagrams.receive(to),
            Way::Frames(frames) => frames.receive(to),
        }
    }

    /// Wants an interrupt when something comes (`Cpu::listen_to_link`), or none, which is how it begins. True: nothing has
    /// come yet, and the interrupt will tell. False: look; or this link cannot interrupt.
    pub fn listen(&mut self, wanted: bool) -> bool {
        match &mut self.way {
            Way::Datagrams(datagrams) => datagrams.listen(wanted),
            Way::Frames(frames) => frames.listen(wanted),
        }
    }

    /// Whether it can interrupt at all.
    pub fn interrupts(&self) -> bool {
        match &self.way {
            Way::Datagrams(datagrams) => datagrams.interrupts(),
            Way::Frames(frames) => frames.interrupts(),
        }
    }

    /// Packets may be larger than a datagram of Ethernet.
    pub fn takes_large_packets(&self) -> bool {
        matches!(self.way, Way::Frames(_))
    }
}

fn made<T>(way: Option<T>) -> T {
    match way {
        Some(way) => way,
        None => die(format_args!("too little memory for the buffers of the link")),
    }
}
