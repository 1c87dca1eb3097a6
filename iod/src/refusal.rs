// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The header of a packet that says no: the same as the packet that it answers, so that the node knows which.
//!
//! The daemon uses it for nodes of an earlier daemon, `submit` for proxies that have died.

use tacet_shipping::packet::{Header, Kind};

pub fn refusal_of(header: &Header, payload: usize) -> Header {
    Header {
        kind: Kind::Refusal,
        index: 0,
        count: 1,
        flags: 0,
        bytes: u32::try_from(payload).unwrap_or_default(),
        have: 0,
        ..*header
    }
}
