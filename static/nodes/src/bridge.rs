// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Passes the packets of a node that has no network of its own on as UDP, and back, so that daemon and proxies know only UDP.
//!
//! A frame has a head with a port, and a packet. A node's packet goes to this port of 127.0.0.1; a packet from a port of
//! 127.0.0.1 becomes a frame with that port. Owned by one emulated node. Must never send anywhere else, and never
//! interprets a packet. While the node takes nothing, packets wait here; while a port takes nothing, they are lost.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce};
use tacet_ctl::{Error, Result};
use tacet_wire::packet::LARGE_PACKET_BYTES;

/// A longer packet is the kernel's mistake: the stream has lost its place.
const LONGEST: usize = LARGE_PACKET_BYTES;
/// Read at once, if so much is there.
const ROOM_BYTES: usize = 4 * LONGEST;
/// For packets that many proxies send at once.
const WAITING_BYTES: usize = 4 << 20;
/// The time until the threads notice that the node is gone.
const GLANCE: Duration = Duration::from_millis(200);

/// The heads of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// On a line of bytes: port and length, two little-endian bytes each (`kernel/host/static/src/link/network/frames.rs`).
    Line,
    /// On a cable: the emulator's length, four big-endian bytes, of what follows: two Ethernet addresses, a type, and the
    /// port (`bridged.rs`, beside the other).
    Cable,
}

const LENGTH_BYTES: usize = 4;
const CABLE_BYTES: usize = LENGTH_BYTES + 16;
const TYPE: [u8; 2] = [0x88, 0xb5];

impl Framing {
    fn head_bytes(self) -> usize {
        match self {
            Framing::Line => 4,
            Framing::Cable => CABLE_BYTES,
        }
    }

    /// Port and length in a head. None: it is none.
    fn read(self, head: &[u8]) -> Option<(u16, usize)> {
        let (port, length) = match (self, head) {
            (Framing::Line, &[p0, p1, l0, l1]) => ([p0, p1], usize::from(u16::from_le_bytes([l0, l1]))),
            (Framing::Cable, &[l0, l1, l2, l3, .., p0, p1]) => {
                let frame = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).ok()?;
                ([p0, p1], frame.checked_sub(CABLE_BYTES - LENGTH_BYTES)?)
            }
            _ => return None,
        };
        (length <= LONGEST).then_some((u16::from_le_bytes(port), length))
    }

    fn write(self, port: u16, length: usize, head: &mut [u8]) -> Option<()> {
        let [p0, p1] = port.to_le_bytes();
        match self {
            Framing::Line => {
                let [l0, l1] = u16::try_from(length).ok()?.to_le_bytes();
                head.copy_from_slice(&[p0, p1, l0, l1]);
            }
            Framing::Cable => {
                let ([t0, t1], frame) = (TYPE, u32::try_from(CABLE_BYTES - LENGTH_BYTES + length).ok()?);
                let (start, rest) = head.split_at_mut_checked(LENGTH_BYTES)?;
                start.copy_from_slice(&frame.to_be_bytes());
                rest.copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, t0, t1, p0, p1]);
            }
        }
        Some(())
    }
}

/// Two threads between a socket that the emulator connects to and UDP.
pub struct Bridge {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Waits in a thread for the emulator to connect.
    pub fn listen(path: &Path, framing: Framing) -> Result<Bridge> {
        let fail = |io: io::Error| Error::io(path.display(), &io, "choose a shorter --name, or check permissions");
        let listener = UnixListener::bind(path).map_err(fail)?;
        // so that a bridge without an emulator can end
        listener.set_nonblocking(true).map_err(fail)?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(fail)?;
        udp.set_read_timeout(Some(GLANCE)).map_err(fail)?;
        if setsockopt(&udp, RcvBufForce, &WAITING_BYTES).is_err() {
            setsockopt(&udp, RcvBuf, &WAITING_BYTES).ok();
        }
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            if let Some(stream) = accept(&listener, &flag) {
                pass(framing, &stream, &udp, &flag);
            }
        });
        Ok(Bridge { ended, thread: Some(thread) })
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn accept(listener: &UnixListener, ended: &AtomicBool) -> Option<UnixStream> {
    while !ended.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).ok()?;
                stream.set_read_timeout(Some(GLANCE)).ok()?;
                return Some(stream);
            }
            Err(_) => thread::sleep(GLANCE / 20),
        }
    }
    None
}

fn pass(framing: Framing, stream: &UnixStream, udp: &UdpSocket, ended: &AtomicBool) {
    thread::scope(|scope| {
        scope.spawn(|| {
            to_node(framing, udp, stream, ended);
            ended.store(true, Ordering::Relaxed);
        });
        from_node(framing, stream, udp, ended);
        ended.store(true, Ordering::Relaxed);
    });
}

fn from_node(framing: Framing, stream: &UnixStream, udp: &UdpSocket, ended: &AtomicBool) -> Option<()> {
    let mut room = vec![0; ROOM_BYTES];
    let (mut start, mut end) = (0, 0);
    loop {
        while let Some((head, rest)) = room.get(start..end)?.split_at_checked(framing.head_bytes()) {
            let (port, length) = framing.read(head)?;
            let Some(packet) = rest.get(..length) else { break };
            // a port without a socket is a lost packet, as on a network
            udp.send_to(packet, (Ipv4Addr::LOCALHOST, port)).ok();
            start += framing.head_bytes() + length;
        }
        room.copy_within(start..end, 0);
        (start, end) = (0, end - start);
        end += read_some(stream, room.get_mut(end..)?, ended)?;
    }
}

fn to_node(framing: Framing, udp: &UdpSocket, mut stream: &UnixStream, ended: &AtomicBool) -> Option<()> {
    let mut frame = vec![0; framing.head_bytes() + LONGEST];
    while !ended.load(Ordering::Relaxed) {
        let (head, packet) = frame.split_at_mut(framing.head_bytes());
        let Ok((length, from)) = udp.recv_from(packet) else {
            // nothing came for a while, or a port was closed
            continue;
        };
        let SocketAddr::V4(from) = from else { continue };
        framing.write(from.port(), length, head)?;
        stream.write_all(frame.get(..framing.head_bytes() + length)?).ok()?;
    }
    None
}

/// Reads what is there, one byte at least; none after the end.
fn read_some(mut stream: &UnixStream, bytes: &mut [u8], ended: &AtomicBool) -> Option<usize> {
    loop {
        match stream.read(bytes) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if ended.load(Ordering::Relaxed) {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(framing: Framing, port: u16, packet: &[u8]) -> Vec<u8> {
        let mut head = vec![0; framing.head_bytes()];
        framing.write(port, packet.len(), &mut head).unwrap();
        [&head, packet].concat()
    }

    #[test]
    fn heads_are_as_kernel_and_emulator_have_them() {
        assert_eq!(frame(Framing::Line, 0x1234, b"abc"), [0x34, 0x12, 3, 0, b'a', b'b', b'c']);
        let cable = frame(Framing::Cable, 0x1234, b"abc");
        assert_eq!(cable[..4], [0, 0, 0, 19]);
        assert_eq!(cable[4..], [&[0; 12][..], &[0x88, 0xb5, 0x34, 0x12], b"abc"].concat());
    }

    #[test]
    fn frames_become_packets_and_back() {
        for framing in [Framing::Line, Framing::Cable] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("link");
            let bridge = Bridge::listen(&path, framing).unwrap();
            let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = server.local_addr().unwrap().port();
            let mut node = UnixStream::connect(&path).unwrap();

            // two frames in one write, the second one torn
            let (first, second) = (frame(framing, port, b"abc"), frame(framing, port, &[7; LONGEST]));
            let (torn, rest) = second.split_at(second.len() - 1);
            node.write_all(&[&first, torn].concat()).unwrap();
            let mut bytes = vec![0; LONGEST + 1];
            let (length, bridge_address) = server.recv_from(&mut bytes).unwrap();
            assert_eq!(&bytes[..length], b"abc");
            node.write_all(rest).unwrap();
            let (length, _) = server.recv_from(&mut bytes).unwrap();
            assert_eq!(bytes[..length], [7; LONGEST]);

            server.send_to(b"reply", bridge_address).unwrap();
            let mut received = vec![0; framing.head_bytes() + 5];
            node.read_exact(&mut received).unwrap();
            assert_eq!(received, frame(framing, port, b"reply"));
            drop(bridge);
            assert_eq!(node.read(&mut received).unwrap(), 0, "the bridge closes its side");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_or_too_short_ends_the_link() {
        let long = u32::try_from(CABLE_BYTES - LENGTH_BYTES + LONGEST + 1).unwrap().to_be_bytes();
        let cable = |length: [u8; 4]| [&length[..], &[0; CABLE_BYTES]].concat();
        for (framing, bytes) in [
            (Framing::Line, vec![1, 0, 0xff, 0xff]),
            (Framing::Cable, cable(long)),
            (Framing::Cable, cable([0, 0, 0, 15])),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("link");
            let _bridge = Bridge::listen(&path, framing).unwrap();
            let mut node = UnixStream::connect(&path).unwrap();
            node.write_all(&bytes).unwrap();
            // what was not read may be told as a reset
            assert!(matches!(node.read(&mut [0; 4]), Ok(0) | Err(_)));
        }
    }
}
