// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A proxy thread's store: the buffers of a call that do not fit into its message.
//!
//! `perform.rs` asks it first. It is filled before its call, and empty again when another call comes.

use tacet_wire::errno::Errno;
use tacet_wire::stored::{Request, STORE_BYTES, request};

#[derive(Debug, Default)]
pub struct Store(Vec<u8>);

impl Store {
    /// Serves a message that is about the store: the part that it asks for. `None`: it is a call.
    pub fn serve(&mut self, message: &[u8]) -> Option<Result<&[u8], Errno>> {
        Some(match request(message) {
            Ok(Request::Call { stored }) => {
                if !stored {
                    self.0 = Vec::new();
                }
                return None;
            }
            Ok(Request::Keep { at, bytes }) => self.keep(at, bytes).map(|()| &[][..]),
            Ok(Request::Give { at, bytes }) => {
                at.checked_add(bytes).and_then(|end| self.0.get(at..end)).ok_or(Errno::EINVAL)
            }
            Err(errno) => Err(errno),
        })
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn keep(&mut self, at: usize, bytes: &[u8]) -> Result<(), Errno> {
        if at == 0 {
            self.0.clear();
        }
        if at != self.0.len() || bytes.len() > STORE_BYTES - at {
            return Err(Errno::EINVAL);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_grows_in_order_and_has_an_end() {
        let mut store = Store::default();
        store.keep(0, b"abc").unwrap();
        assert_eq!(store.keep(2, b"d"), Err(Errno::EINVAL));
        store.keep(3, b"d").unwrap();
        assert_eq!(store.bytes(), b"abcd");
        store.keep(0, b"e").unwrap();
        assert_eq!(store.bytes(), b"e");
        assert_eq!(store.keep(1, &vec![0; STORE_BYTES]), Err(Errno::EINVAL));
    }
}
