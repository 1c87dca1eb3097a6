// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is said through a cluster's door: one line of JSON as the question, then frames, the last of which says the end.
//!
//! Both ends are one build of this command; a frame that makes no sense ends the connection.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// No frame is longer; the agent of a node sends less at once.
const LONGEST: usize = 1 << 20;

#[derive(Serialize, Deserialize, Debug, PartialEq)]
#[serde(rename_all = "lowercase", tag = "verb")]
pub enum Question {
    Run { on: String, user: Option<String>, directory: String, words: Vec<String> },
    Status,
    Kill { node: String },
    Boot { node: String },
    Down,
}

#[derive(Debug, PartialEq)]
pub enum Frame {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// The command has ended with this status; or the question has been done.
    Ended(u8),
    /// Object, cause, remedy.
    Failed([String; 3]),
    /// JSON for the asker.
    Told(Vec<u8>),
}

impl Frame {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (kind, payload) = match self {
            Frame::Stdout(bytes) => (0, bytes.clone()),
            Frame::Stderr(bytes) => (1, bytes.clone()),
            Frame::Ended(status) => (2, vec![*status]),
            Frame::Failed(parts) => (3, parts.join("\0").into_bytes()),
            Frame::Told(bytes) => (4, bytes.clone()),
        };
        let mut bytes = vec![kind];
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        to.write_all(&bytes)
    }

    pub fn read(from: &mut impl Read) -> io::Result<Frame> {
        let mut head = [0; 5];
        from.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = u32::from_le_bytes(length) as usize;
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "not a frame");
        if length > LONGEST {
            return Err(wrong());
        }
        let mut payload = vec![0; length];
        from.read_exact(&mut payload)?;
        Ok(match kind {
            0 => Frame::Stdout(payload),
            1 => Frame::Stderr(payload),
            2 => Frame::Ended(*payload.first().ok_or_else(wrong)?),
            3 => {
                let text = String::from_utf8_lossy(&payload).into_owned();
                let mut parts = text.splitn(3, '\0').map(str::to_owned);
                Frame::Failed(std::array::from_fn(|_| parts.next().unwrap_or_default()))
            }
            4 => Frame::Told(payload),
            _ => return Err(wrong()),
        })
    }
}

/// Passes on what a command writes, as frames.
pub struct Output<'a> {
    pub to: &'a Mutex<UnixStream>,
    pub frame: fn(Vec<u8>) -> Frame,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..LONGEST).unwrap_or(bytes);
        (self.frame)(piece.to_vec()).write(&mut *self.to.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_the_way() {
        let failed = ["node n2", "it is off", ""].map(str::to_owned);
        for frame in [
            Frame::Stdout(b"a\0b".to_vec()),
            Frame::Stderr(Vec::new()),
            Frame::Ended(137),
            Frame::Failed(failed),
            Frame::Told(b"{}".to_vec()),
        ] {
            let mut bytes = Vec::new();
            frame.write(&mut bytes).unwrap();
            assert_eq!(Frame::read(&mut &bytes[..]).unwrap(), frame);
            assert!(Frame::read(&mut &bytes[..bytes.len() - 1]).is_err());
        }
        assert!(Frame::read(&mut &[9, 0, 0, 0, 0][..]).is_err());
        assert!(Frame::read(&mut &[0, 255, 255, 255, 255][..]).is_err());
    }
}
