// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys: who holds one may send, and nobody else is served.
//!
//! A set of nodes has one key, given on the kernel's command line. Node and daemon derive a session's key from it and
//! from two nonces; each job has a key of its own, which reaches the node encrypted with the session's. Nothing here
//! may print a key or compare tags in a time that depends on their contents.

use blake2::Blake2bMac;
use blake2::digest::consts::{U16, U32, U64};
use blake2::digest::{KeyInit, Mac};
use core::fmt;

pub const KEY_BYTES: usize = 32;
pub const TAG_BYTES: usize = 16;
pub const NONCE_BYTES: usize = 16;

/// A secret of 32 bytes. Signatures, and the keys derived from it, are keyed BLAKE2b (RFC 7693) of different lengths.
#[derive(Clone)]
pub struct Key([u8; KEY_BYTES]);

/// The longest key that BLAKE2b takes. Ours end with zeros.
const BLOCK_BYTES: usize = 64;

impl Key {
    #[must_use]
    pub fn new(secret: &[u8; KEY_BYTES]) -> Self {
        Self(*secret)
    }

    /// A key as the command line writes it: 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        if digits.len() != 2 * KEY_BYTES {
            return None;
        }
        let mut secret = [0; KEY_BYTES];
        for (byte, pair) in secret.iter_mut().zip(digits.chunks_exact(2)) {
            *byte =
                u8::from_str_radix(core::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?, 16).ok()?;
        }
        Some(Self::new(&secret))
    }

    /// The signature of a message that consists of these parts.
    #[must_use]
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; TAG_BYTES] {
        self.mac::<Blake2bMac<U16>>(parts).finalize().into_bytes().into()
    }

    /// Whether `tag` is the signature of these parts.
    #[must_use]
    pub fn verifies(&self, parts: &[&[u8]], tag: &[u8; TAG_BYTES]) -> bool {
        self.mac::<Blake2bMac<U16>>(parts).verify(tag.into()).is_ok()
    }

    /// The key of a session, made by both ends from what each has drawn.
    #[must_use]
    pub fn session(&self, node: u32, boot_nonce: &[u8; NONCE_BYTES], daemon_nonce: &[u8; NONCE_BYTES]) -> Self {
        Self(self.digest(&[b"session", &node.to_le_bytes(), boot_nonce, daemon_nonce]))
    }

    /// Encrypts the secret of a job's key with this session's key, or decrypts it.
    #[must_use]
    pub fn wrapped(&self, job: u32, secret: &[u8; KEY_BYTES]) -> [u8; KEY_BYTES] {
        let mut wrapped = self.digest(&[b"job", &job.to_le_bytes()]);
        for (byte, secret) in wrapped.iter_mut().zip(secret) {
            *byte ^= secret;
        }
        wrapped
    }

    fn digest(&self, parts: &[&[u8]]) -> [u8; KEY_BYTES] {
        self.mac::<Blake2bMac<U32>>(parts).finalize().into_bytes().into()
    }

    fn mac<M: Mac + KeyInit<KeySize = U64>>(&self, parts: &[&[u8]]) -> M {
        let mut block = [0; BLOCK_BYTES];
        for (to, from) in block.iter_mut().zip(self.0) {
            *to = from;
        }
        let mut mac = <M as KeyInit>::new(&block.into());
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [u8; KEY_BYTES] = [7; KEY_BYTES];

    /// As Python's `hashlib.blake2b(message, digest_size=16, key=key)` gives it.
    #[test]
    fn the_tag_is_keyed_blake2b() {
        let message: [u8; 300] = core::array::from_fn(|at| at as u8);
        let key = Key::new(&core::array::from_fn(|at| at as u8));
        let expected = 0x56eb_9f57_6068_fb6e_fbf6_7e58_a528_ca15_u128;
        assert_eq!(key.tag(&[&message[..200], &message[200..]]), expected.to_be_bytes());
    }

    #[test]
    fn another_bit_or_another_key_is_refused() {
        let key = Key::new(&SECRET);
        let tag = key.tag(&[b"message"]);
        assert!(key.verifies(&[b"mess", b"age"], &tag));
        assert!(!key.verifies(&[b"massage"], &tag));
        assert!(!Key::new(&[8; KEY_BYTES]).verifies(&[b"message"], &tag));
        for bit in 0..8 * TAG_BYTES {
            let mut other = tag;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.verifies(&[b"message"], &other), "bit {bit}");
        }
    }

    #[test]
    fn a_job_key_returns_from_its_wrapping_only_in_the_same_session() {
        let key = Key::new(&SECRET);
        let session = key.session(3, &[1; NONCE_BYTES], &[2; NONCE_BYTES]);
        let wrapped = session.wrapped(5, &[9; KEY_BYTES]);
        // As Python's `hashlib.blake2b` makes both, of the words `session` and `job` before the numbers and nonces.
        let expected = 0x2ad5_6339_3c10_ee67_13fc_238c_627b_17e1_u128;
        assert_eq!(wrapped[..16], expected.to_be_bytes());
        assert_eq!(session.wrapped(5, &wrapped), [9; KEY_BYTES]);
        for other in [key.session(4, &[1; 16], &[2; 16]), key.session(3, &[0; 16], &[2; 16]), key] {
            assert_ne!(other.wrapped(5, &wrapped), [9; KEY_BYTES]);
        }
    }

    #[test]
    fn hexadecimal_keys_have_64_digits() {
        let digits = [b'0', b'7'].repeat(KEY_BYTES);
        assert_eq!(Key::from_hex(&digits).unwrap().tag(&[]), Key::new(&SECRET).tag(&[]));
        assert!(Key::from_hex(&digits[1..]).is_none());
        assert!(Key::from_hex(&[b'+', b'7'].repeat(KEY_BYTES)).is_none());
        assert!(Key::from_hex(&[b'0', b'g'].repeat(KEY_BYTES)).is_none());
    }
}
