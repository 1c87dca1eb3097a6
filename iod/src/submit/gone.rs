// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers in place of a dead proxy: its process has ended, and the node need not wait.
//!
//! A thread for each dead proxy, until the job is over. It performs nothing, and answers only holders of the job's key.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tacet_shipping::ask::Refusal;
use tacet_shipping::key::Key;
use tacet_shipping::packet::{Kind, LARGE_PACKET_BYTES, Packet};

use super::events::spawn;
use crate::error::Result;
use crate::refusal::{REFUSAL_BYTES, refuse};

const GLANCE: Duration = Duration::from_millis(50);

pub fn answer(socket: UdpSocket, key: Key, over: Arc<AtomicBool>) -> Result<()> {
    spawn("gone", move || {
        let _ = socket.set_read_timeout(Some(GLANCE));
        let mut datagram = [0; LARGE_PACKET_BYTES];
        while !over.load(Ordering::Relaxed) {
            if let Ok((bytes, from)) = socket.recv_from(&mut datagram)
                && let Some(answer) = datagram.get(..bytes).and_then(|call| refusal(call, &key))
            {
                let _ = socket.send_to(&answer, from);
            }
        }
    })
}

/// The refusal of a genuine call.
fn refusal(datagram: &[u8], key: &Key) -> Option<[u8; REFUSAL_BYTES]> {
    let packet = Packet::parse(datagram).ok()?;
    let is_call = packet.header.kind == Kind::Call && packet.is_genuine(key);
    is_call.then(|| refuse(&packet, Refusal::NoJob, key)).flatten()
}
