// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The addresses of the network and the size of its packets, from the command line: `tacet.address`, `tacet.gateway`,
//! `tacet.iod`, `tacet.mtu`.

use crate::base::settings::number;
use crate::machine::Machine;
use core::net::{Ipv4Addr, SocketAddrV4};
use core::str::FromStr;
use smoltcp::wire::Ipv4Cidr;

/// The longest IP packet of an Ethernet whose operator says nothing, and the longest that all cards here take, in bytes.
const MTU: usize = 1500;
const MOST_MTU: usize = 9000;

pub struct Places {
    /// The node's own, and how many of its bits are the network's.
    pub own: Ipv4Cidr,
    pub gateway: Option<Ipv4Addr>,
    pub daemon: Ipv4Addr,
}

impl Places {
    /// `Err`: one line about the word that is wrong.
    pub fn read(machine: &Machine) -> Result<Self, &'static str> {
        let own = word(machine, "tacet.address").ok_or("tacet.address: missing; ADDRESS/BITS, as 10.0.2.15/24")?;
        let own = cidr(own).ok_or("tacet.address: not ADDRESS/BITS, as 10.0.2.15/24")?;
        let gateway = match word(machine, "tacet.gateway") {
            Some(text) => Some(Ipv4Addr::from_str(text).map_err(|_| "tacet.gateway: not an address, as 10.0.2.2")?),
            None => None,
        };
        let daemon = word(machine, "tacet.iod").and_then(|text| SocketAddrV4::from_str(text).ok());
        let daemon = *daemon.ok_or("tacet.iod: missing, or not ADDRESS:PORT, as 10.0.2.2:4070")?.ip();
        if gateway.is_none() && !own.contains_addr(&daemon) {
            return Err("tacet.iod: not in the network of tacet.address, and there is no tacet.gateway");
        }
        Ok(Self { own, gateway, daemon })
    }
}

/// The longest IP packet that each network on the way to the daemon takes, in bytes. `Err`: one line about the word.
pub fn mtu(machine: &Machine) -> Result<usize, &'static str> {
    let mtu = machine.option("tacet.mtu").map_or(Some(MTU as u64), number);
    let mtu = mtu.and_then(|mtu| usize::try_from(mtu).ok()).filter(|mtu| (MTU..=MOST_MTU).contains(mtu));
    mtu.ok_or("tacet.mtu: not a number from 1500 to 9000")
}

fn word(machine: &Machine, name: &str) -> Option<&'static str> {
    core::str::from_utf8(machine.option(name)?).ok()
}

fn cidr(text: &str) -> Option<Ipv4Cidr> {
    let (address, bits) = text.split_once('/')?;
    let bits = bits.parse().ok().filter(|bits| (1..=30).contains(bits))?;
    Some(Ipv4Cidr::new(Ipv4Addr::from_str(address).ok()?, bits))
}
