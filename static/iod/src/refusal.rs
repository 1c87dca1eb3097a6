// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A packet that says no: with the header of the packet that it answers, so that the node knows which exchange, and with
//! its tag, so that the node knows it is no old one.
//!
//! The daemon uses it for nodes of an earlier daemon, `submit` for proxies that have died.

use tacet_wire::ask::Refusal;
use tacet_wire::key::Key;
use tacet_wire::packet::{HEADER_BYTES, Header, Kind, Packet, seal};

/// A refusal's length.
pub const REFUSAL_BYTES: usize = HEADER_BYTES + Refusal::BYTES;

/// The refusal of a packet, as it goes to the sender; `None` does not happen.
pub fn refuse(packet: &Packet<'_>, refusal: Refusal, key: &Key) -> Option<[u8; REFUSAL_BYTES]> {
    let payload = refusal.encode(packet.tag());
    let bytes = u32::try_from(payload.len()).ok()?;
    let header = Header { kind: Kind::Refusal, index: 0, count: 1, flags: 0, bytes, have: 0, ..packet.header };
    let mut datagram = [0; REFUSAL_BYTES];
    seal(&header, &payload, key, &mut datagram).map(|_| datagram)
}
