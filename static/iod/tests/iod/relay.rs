// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A bad network between one node and one receiver: loses, doubles and reorders packets, by a fixed sequence.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub struct Relay {
    pub address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Relay {
    pub fn new(to: SocketAddr) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        let address = socket.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        std::thread::spawn(move || relay(&socket, to, &until));
        Relay { address, over }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn relay(socket: &UdpSocket, to: SocketAddr, over: &AtomicBool) {
    let mut node = None;
    let mut late: Option<(Vec<u8>, SocketAddr)> = None;
    let mut dice = 1_u64;
    let mut datagram = [0; 9000];
    while !over.load(Ordering::Relaxed) {
        let Ok((bytes, from)) = socket.recv_from(&mut datagram) else { continue };
        let target = if from == to {
            node
        } else {
            node = Some(from);
            Some(to)
        };
        let Some(target) = target else { continue };
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let packet = &datagram[..bytes];
        let copies = match dice >> 61 {
            0 | 1 => 0,
            2 => 2,
            3 if late.is_none() => {
                late = Some((packet.to_vec(), target));
                0
            }
            _ => 1,
        };
        for _ in 0..copies {
            let _ = socket.send_to(packet, target);
        }
        if copies > 0
            && let Some((packet, target)) = late.take()
        {
            let _ = socket.send_to(&packet, target);
        }
    }
}
