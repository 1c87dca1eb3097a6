// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Passes the frames of a console link on as UDP packets, and back, so that daemon and proxies know only UDP.
//!
//! A frame is a port and a length, two little-endian bytes each, and then a packet. A node's frame goes to this port of
//! 127.0.0.1; a packet from a port of 127.0.0.1 becomes a frame with that port. Owned by one emulated node. Must never
//! send anywhere else, and never interprets a packet.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tacet_ctl::{Error, Result};

/// A longer frame is the kernel's mistake: the stream has lost its place.
const LONGEST: usize = 9000;
/// The time until the threads notice that the node is gone.
const GLANCE: Duration = Duration::from_millis(200);

/// Two threads between a socket that the emulator connects to and UDP.
pub struct Bridge {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Waits in a thread for the emulator to connect.
    pub fn listen(path: &Path) -> Result<Bridge> {
        let fail = |io: io::Error| Error::io(path.display(), &io, "choose a shorter --name, or check permissions");
        let listener = UnixListener::bind(path).map_err(fail)?;
        // so that a bridge without an emulator can end
        listener.set_nonblocking(true).map_err(fail)?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(fail)?;
        udp.set_read_timeout(Some(GLANCE)).map_err(fail)?;
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            if let Some(stream) = accept(&listener, &flag) {
                pass(&stream, &udp, &flag);
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

fn pass(stream: &UnixStream, udp: &UdpSocket, ended: &AtomicBool) {
    thread::scope(|scope| {
        scope.spawn(|| {
            to_node(udp, stream, ended);
            ended.store(true, Ordering::Relaxed);
        });
        from_node(stream, udp, ended);
        ended.store(true, Ordering::Relaxed);
    });
}

fn from_node(mut stream: &UnixStream, udp: &UdpSocket, ended: &AtomicBool) -> Option<()> {
    let mut packet = [0; LONGEST];
    loop {
        let mut head = [0; 4];
        fill(&mut stream, &mut head, ended)?;
        let [p0, p1, l0, l1] = head;
        let length = usize::from(u16::from_le_bytes([l0, l1]));
        let packet = packet.get_mut(..length)?;
        fill(&mut stream, packet, ended)?;
        // a port without a socket is a lost packet, as on a network
        udp.send_to(packet, (Ipv4Addr::LOCALHOST, u16::from_le_bytes([p0, p1]))).ok();
    }
}

fn to_node(udp: &UdpSocket, mut stream: &UnixStream, ended: &AtomicBool) -> Option<()> {
    let mut frame = [0; 4 + LONGEST];
    while !ended.load(Ordering::Relaxed) {
        let (head, packet) = frame.split_at_mut(4);
        let Ok((length, from)) = udp.recv_from(packet) else {
            // nothing came for a while, or a port was closed
            continue;
        };
        let SocketAddr::V4(from) = from else { continue };
        let [p0, p1] = from.port().to_le_bytes();
        let [l0, l1] = u16::try_from(length).ok()?.to_le_bytes();
        head.copy_from_slice(&[p0, p1, l0, l1]);
        stream.write_all(frame.get(..4 + length)?).ok()?;
    }
    None
}

/// Reads all of `bytes`; none after the end.
fn fill(stream: &mut &UnixStream, bytes: &mut [u8], ended: &AtomicBool) -> Option<()> {
    let mut done = 0;
    while done < bytes.len() {
        match stream.read(bytes.get_mut(done..)?) {
            Ok(0) => return None,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if ended.load(Ordering::Relaxed) {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_become_packets_and_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("link");
        let bridge = Bridge::listen(&path).unwrap();
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = server.local_addr().unwrap().port();
        let mut node = UnixStream::connect(&path).unwrap();

        let [p0, p1] = port.to_le_bytes();
        // two frames in one write, the second one torn
        node.write_all(&[p0, p1, 3, 0, b'a', b'b', b'c', p0, p1, 2, 0, b'd']).unwrap();
        let mut bytes = [0; 16];
        let (length, bridge_address) = server.recv_from(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"abc");
        node.write_all(b"e").unwrap();
        let (length, _) = server.recv_from(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"de");

        server.send_to(b"reply", bridge_address).unwrap();
        let mut frame = [0; 9];
        node.read_exact(&mut frame).unwrap();
        assert_eq!(frame, [p0, p1, 5, 0, b'r', b'e', b'p', b'l', b'y']);
        drop(bridge);
        assert_eq!(node.read(&mut frame).unwrap(), 0, "the bridge closes its side");
    }

    #[test]
    fn a_frame_that_is_too_long_ends_the_link() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("link");
        let _bridge = Bridge::listen(&path).unwrap();
        let mut node = UnixStream::connect(&path).unwrap();
        node.write_all(&[1, 0, 0xff, 0xff]).unwrap();
        assert_eq!(node.read(&mut [0; 4]).unwrap(), 0);
    }
}
