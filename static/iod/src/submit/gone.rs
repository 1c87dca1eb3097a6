// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers in place of a dead proxy: its process has ended, and the node need not wait.
//!
//! The thread that listened to the proxy does this until the job is over: one that began now might not be given by Linux,
//! and a status that is known would be lost. It performs nothing, and answers only holders of the job's key.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tacet_wire::ask::Refusal;
use tacet_wire::key::Key;
use tacet_wire::packet::{Kind, LARGE_PACKET_BYTES, Packet};

use crate::refusal::{REFUSAL_BYTES, refuse};

const GLANCE: Duration = Duration::from_millis(50);

/// The proxy's place, once it is empty.
#[derive(Debug)]
pub struct Place {
    pub socket: UdpSocket,
    pub key: Key,
    /// The job is.
    pub over: Arc<AtomicBool>,
}

impl Place {
    pub fn answer(&self) {
        let _ = self.socket.set_read_timeout(Some(GLANCE));
        let mut datagram = [0; LARGE_PACKET_BYTES];
        while !self.over.load(Ordering::Relaxed) {
            if let Ok((bytes, from)) = self.socket.recv_from(&mut datagram)
                && let Some(answer) = datagram.get(..bytes).and_then(|call| refusal(call, &self.key))
            {
                let _ = self.socket.send_to(&answer, from);
            }
        }
    }
}

/// The refusal of a genuine call.
fn refusal(datagram: &[u8], key: &Key) -> Option<[u8; REFUSAL_BYTES]> {
    let packet = Packet::parse(datagram).ok()?;
    let is_call = packet.header.kind == Kind::Call && packet.is_genuine(key);
    is_call.then(|| refuse(&packet, Refusal::NoJob, key)).flatten()
}
