// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frames between the host and a node's agent (`guest/agent.c`): eight bytes of header, then the payload.
//!
//! Owns their encoding; `link.rs` owns their order. The C side declares the same header and numbers. Must never trust
//! a length before checking it.

use std::io::{self, Read, Write};

/// The kind of a frame. Numbers below 16 come from the guest, the others go to the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Ready = 1,
    Stdout,
    Stderr,
    Exit,
    Failed,
    Run = 16,
    Stdin,
    StdinEnd,
    Signal,
    Window,
    PowerOff,
}

const GUEST_KINDS: [Kind; 5] = [Kind::Ready, Kind::Stdout, Kind::Stderr, Kind::Exit, Kind::Failed];

/// The only version of this protocol; the agent is built from the same source tree.
const VERSION: u8 = 1;
/// The longest frame, in either direction.
pub(crate) const LARGEST: usize = 1 << 20;

/// One message from the agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub job: u16,
    pub kind: Kind,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn read(from: &mut impl Read) -> io::Result<Frame> {
        let mut header = [0; 8];
        from.read_exact(&mut header)?;
        let [l0, l1, l2, l3, j0, j1, kind, version] = header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let kind = GUEST_KINDS.into_iter().find(|k| *k as u8 == kind);
        let (Some(kind), VERSION, ..=LARGEST) = (kind, version, length) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("no agent frame: {header:?}")));
        };
        let mut payload = vec![0; length];
        from.read_exact(&mut payload)?;
        Ok(Frame { job: u16::from_le_bytes([j0, j1]), kind, payload })
    }
}

/// Writes one message to the agent.
pub(crate) fn send(to: &mut impl Write, job: u16, kind: Kind, payload: &[u8]) -> io::Result<()> {
    if payload.len() > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "command line and environment exceed 1 MiB"));
    }
    let mut frame = Vec::with_capacity(8 + payload.len());
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(job.to_le_bytes());
    frame.extend([kind as u8, VERSION]);
    frame.extend(payload);
    to.write_all(&frame)
}

/// The payload of [`Kind::Run`]. `window` (rows, columns) asks for a terminal.
pub(crate) fn start(window: Option<(u16, u16)>, directory: &str, environment: &[String], argv: &[String]) -> Vec<u8> {
    let (rows, columns) = window.unwrap_or_default();
    let numbers = [window.is_some() as u16, rows, columns, environment.len() as u16, argv.len() as u16];
    let mut payload: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    for text in std::iter::once(directory).chain(environment.iter().chain(argv).map(String::as_str)) {
        payload.extend(text.as_bytes());
        payload.push(0);
    }
    payload
}

/// The payload of [`Kind::Window`].
pub(crate) fn window((rows, columns): (u16, u16)) -> Vec<u8> {
    [rows.to_le_bytes(), columns.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_frame_of_the_agent() {
        let bytes = [3, 0, 0, 0, 5, 1, Kind::Stdout as u8, VERSION, b'a', b'b', b'c'];
        let frame = Frame::read(&mut &bytes[..]).expect("a whole frame");
        assert_eq!(frame, Frame { job: 0x105, kind: Kind::Stdout, payload: b"abc".to_vec() });
    }

    #[test]
    fn refuses_what_no_agent_sends() {
        for bad in
            [[0, 0, 0, 255, 0, 0, 2, 1], [0, 0, 0, 0, 0, 0, 99, 1], [0, 0, 0, 0, 0, 0, 16, 1], [0, 0, 0, 0, 0, 0, 2, 9]]
        {
            assert!(Frame::read(&mut &bad[..]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_start_keeps_empty_arguments() {
        let payload = start(None, "/", &["A=1".into()], &["echo".into(), "".into()]);
        assert_eq!(payload, [&[0, 0, 0, 0, 0, 0, 1, 0, 2, 0][..], b"/\0A=1\0echo\0\0"].concat());
    }

    #[test]
    fn refuses_to_send_too_much() {
        assert!(send(&mut Vec::new(), 0, Kind::Stdin, &vec![0; LARGEST + 1]).is_err());
    }
}
