// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets as datagrams of UDP, over Ethernet.
//!
//! One frame is taken from the interface at a time, when somebody asks for a packet: what the CPU has no time for waits
//! in the interface. A packet to an address that is not known yet waits here until the network answers, with a few
//! others; while they wait there is no room.

use super::places::Places;
use crate::machine::cycles;
use crate::machine::{Machine, Network};
use smoltcp::iface::{Config, Interface, PollIngressSingleResult, SocketHandle, SocketSet, SocketStorage};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr, IpEndpoint, Ipv4Address};

/// The port of all nodes: each has an address of its own.
const OWN_PORT: u16 = 4071;
/// Ethernet's head; those of IP and UDP.
const ETHERNET_BYTES: usize = 14;
const HEADS_BYTES: usize = 20 + 8;
/// Packets that wait for an address, and that have come and are not asked for yet.
const OUT: usize = 8;
const IN: usize = 2;

pub struct Datagrams {
    interface: Interface,
    wire: Wire,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    daemon: Ipv4Address,
    cycles_per_us: u64,
    /// A packet for which the library had no room, with its port.
    held: Option<(u16, usize)>,
    /// As long as the longest.
    packet: &'static mut [u8],
}

/// The longest frame, without its checksum, of a network with packets of `mtu` bytes.
pub fn frame_bytes(mtu: usize) -> usize {
    ETHERNET_BYTES + mtu
}

impl Datagrams {
    /// `mtu`: the longest packet of IP. `None`: too little memory.
    pub fn open(machine: &mut Machine, network: Network, places: &Places, mtu: usize) -> Option<Self> {
        let address = EthernetAddress(network.address());
        let frame_bytes = frame_bytes(mtu);
        let (incoming, outgoing) = (machine.keep_bytes(frame_bytes)?, machine.keep_bytes(frame_bytes)?);
        let packet_bytes = mtu - HEADS_BYTES;
        let packet = machine.keep_bytes(packet_bytes)?;
        let mut wire = Wire { network, incoming, outgoing };
        let mut config = Config::new(address.into());
        config.random_seed = machine
            .entropy()
            .map_or(1, |bytes| bytes.iter().fold(1, |seed, &byte| seed * 257 + u64::from(byte) % 65_521));
        let cycles_per_us = (machine.tsc_khz() / 1000).max(1);
        let mut interface = Interface::new(config, &mut wire, now(cycles_per_us));
        interface.update_ip_addrs(|addresses| {
            // An empty list has room.
            let _ = addresses.push(IpCidr::Ipv4(places.own));
        });
        if let Some(gateway) = places.gateway {
            interface.routes_mut().add_default_ipv4_route(gateway).ok()?;
        }
        let receive = udp::PacketBuffer::new(meta(machine, IN)?, machine.keep_bytes(IN * packet_bytes)?);
        let send = udp::PacketBuffer::new(meta(machine, OUT)?, machine.keep_bytes(OUT * packet_bytes)?);
        let mut socket = udp::Socket::new(receive, send);
        socket.bind(OWN_PORT).ok()?;
        let mut sockets = SocketSet::new(machine.keep(1, |_| SocketStorage::EMPTY)?);
        let socket = sockets.add(socket);
        Some(Self { interface, wire, sockets, socket, daemon: places.daemon, cycles_per_us, held: None, packet })
    }

    /// The longest packet that a frame takes.
    pub fn packet_bytes(&self) -> usize {
        self.packet.len()
    }

    pub fn has_room(&mut self) -> bool {
        self.push();
        self.held.is_none()
    }

    pub fn send(&mut self, port: u16, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<()> {
        self.held = Some((port, fill(self.packet)?));
        self.push();
        Some(())
    }

    pub fn receive(&mut self, take: impl FnOnce(&[u8])) -> Option<()> {
        loop {
            let socket = self.sockets.get_mut::<udp::Socket<'_>>(self.socket);
            if let Ok((packet, from)) = socket.recv() {
                if from.endpoint.addr == IpAddress::Ipv4(self.daemon) {
                    take(packet);
                    return Some(());
                }
                continue;
            }
            let time = now(self.cycles_per_us);
            match self.interface.poll_ingress_single(time, &mut self.wire, &mut self.sockets) {
                PollIngressSingleResult::None => {
                    self.push();
                    return None;
                }
                PollIngressSingleResult::PacketProcessed | PollIngressSingleResult::SocketStateChanged => {}
            }
        }
    }

    pub fn listen(&mut self, wanted: bool) -> bool {
        self.wire.network.listen(wanted) && !self.sockets.get_mut::<udp::Socket<'_>>(self.socket).can_recv()
    }

    pub fn hear_broadcasts(&mut self, wanted: bool) {
        self.wire.network.hear_broadcasts(wanted);
    }

    pub fn interrupts(&self) -> bool {
        self.wire.network.interrupts()
    }

    /// Sends what waits, if it can go now.
    fn push(&mut self) {
        if let Some((port, bytes)) = self.held {
            let to = IpEndpoint::new(IpAddress::Ipv4(self.daemon), port);
            let socket = self.sockets.get_mut::<udp::Socket<'_>>(self.socket);
            let packet = self.packet.get(..bytes).unwrap_or_default();
            if socket.send_slice(packet, to).is_ok() {
                self.held = None;
            }
        }
        if self.sockets.get_mut::<udp::Socket<'_>>(self.socket).send_queue() != 0 {
            self.interface.poll_egress(now(self.cycles_per_us), &mut self.wire, &mut self.sockets);
        }
    }
}

fn meta(machine: &mut Machine, packets: usize) -> Option<&'static mut [udp::PacketMetadata]> {
    machine.keep(packets, |_| udp::PacketMetadata::EMPTY)
}

fn now(cycles_per_us: u64) -> Instant {
    Instant::from_micros((cycles() / cycles_per_us) as i64)
}

/// The interface as the library wants it.
struct Wire {
    network: Network,
    incoming: &'static mut [u8],
    outgoing: &'static mut [u8],
}

struct Arrived<'a>(&'a [u8]);

struct Leaving<'a> {
    network: &'a mut Network,
    frame: &'a mut [u8],
}

impl RxToken for Arrived<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, work: F) -> R {
        work(self.0)
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, work: F) -> R {
        // The library keeps to the size that `capabilities` names.
        let frame = self.frame.get_mut(..bytes).unwrap_or(&mut []);
        let result = work(frame);
        self.network.send(frame);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived<'a>;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived<'_>, Leaving<'_>)> {
        let bytes = self.network.receive(self.incoming)?;
        let frame = self.incoming.get(..bytes)?;
        Some((Arrived(frame), Leaving { network: &mut self.network, frame: self.outgoing }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        self.network.has_room().then_some(Leaving { network: &mut self.network, frame: self.outgoing })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = self.outgoing.len();
        // Packets carry a tag, which says more than a sum.
        capabilities.checksum.udp = Checksum::None;
        capabilities
    }
}
