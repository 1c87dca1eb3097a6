// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys: who holds one may send, and nobody else is served.
//!
//! A set of nodes has one key, given on the kernel's command line. Node and daemon derive a session's key from it and
//! from two nonces; each job has a key of its own, which reaches the node encrypted with the session's. Nothing here
//! may print a key or compare tags in a time that depends on their contents.

use blake3::{Hash, Hasher};
use core::fmt;

pub const KEY_BYTES: usize = 32;
pub const TAG_BYTES: usize = 16;
pub const NONCE_BYTES: usize = 16;

/// A secret of 32 bytes. Signatures and the keys derived from it are BLAKE3 in keyed mode; their messages begin
/// differently.
#[derive(Clone)]
pub struct Key([u8; KEY_BYTES]);

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
        let [t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, ..] = *self.digest(parts).as_bytes();
        [t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15]
    }

    /// Whether `tag` is the signature of these parts.
    #[must_use]
    pub fn verifies(&self, parts: &[&[u8]], tag: &[u8; TAG_BYTES]) -> bool {
        // Hashes are compared in constant time.
        padded(&self.tag(parts)) == padded(tag)
    }

    /// The key of a session, made by both ends from what each has drawn.
    #[must_use]
    pub fn session(&self, node: u32, boot_nonce: &[u8; NONCE_BYTES], daemon_nonce: &[u8; NONCE_BYTES]) -> Self {
        Self(self.digest(&[b"session", &node.to_le_bytes(), boot_nonce, daemon_nonce]).into())
    }

    /// Encrypts the secret of a job's key with this session's key, or decrypts it.
    #[must_use]
    pub fn wrapped(&self, job: u32, secret: &[u8; KEY_BYTES]) -> [u8; KEY_BYTES] {
        let mut wrapped: [u8; KEY_BYTES] = self.digest(&[b"job", &job.to_le_bytes()]).into();
        for (byte, secret) in wrapped.iter_mut().zip(secret) {
            *byte ^= secret;
        }
        wrapped
    }

    fn digest(&self, parts: &[&[u8]]) -> Hash {
        let mut hasher = Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(part);
        }
        hasher.finalize()
    }
}

fn padded(tag: &[u8; TAG_BYTES]) -> Hash {
    let mut bytes = [0; KEY_BYTES];
    for (to, from) in bytes.iter_mut().zip(tag) {
        *to = *from;
    }
    bytes.into()
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

    /// Against the published test vectors of BLAKE3, of which this is the first with two chunks.
    #[test]
    fn the_tag_is_keyed_blake3() {
        let message: [u8; 1025] = core::array::from_fn(|at| (at % 251) as u8);
        let key = Key::new(b"whats the Elvish word for friend");
        let expected = 0x357d_c55d_e0c7_e382_c900_fd6e_320a_cc04_u128;
        assert_eq!(key.tag(&[&message[..1000], &message[1000..]]), expected.to_be_bytes());
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
        assert_ne!(wrapped, [9; KEY_BYTES]);
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
