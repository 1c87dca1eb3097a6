// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys: who holds one may send, and nobody else is served.
//!
//! A set of nodes has one key, given on the kernel's command line. Node and daemon derive a session's key from it and
//! from two nonces; each job has a key of its own, which reaches the node encrypted with the session's. Nothing here
//! may print a key or compare tags in a time that depends on their contents.

use blake2::Blake2bMac;
use blake2::digest::consts::U32;
use blake2::digest::{KeyInit, Mac};
use core::fmt;
use core::hash::Hasher;
use core::hint::black_box;
use siphasher::sip128::{Hasher128, SipHasher24};

pub const KEY_BYTES: usize = 32;
pub const TAG_BYTES: usize = 16;
pub const NONCE_BYTES: usize = 16;

/// A secret of two halves. The first signs packets, by SipHash-2-4 of 128 bits; other keys are derived from the second,
/// by keyed BLAKE2b (RFC 7693).
#[derive(Clone)]
pub struct Key {
    signs: [u8; KEY_BYTES / 2],
    derives: [u8; KEY_BYTES / 2],
}

/// The longest key that BLAKE2b takes. Ours end with zeros.
const BLOCK_BYTES: usize = 64;

impl Key {
    #[must_use]
    pub fn new(secret: &[u8; KEY_BYTES]) -> Self {
        let (signs, derives) = secret.split_at(KEY_BYTES / 2);
        Self { signs: signs.try_into().unwrap_or_default(), derives: derives.try_into().unwrap_or_default() }
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
        let mut hasher = SipHasher24::new_with_key(&self.signs);
        for part in parts {
            hasher.write(part);
        }
        hasher.finish128().as_bytes()
    }

    /// Whether `tag` is the signature of these parts.
    #[must_use]
    pub fn verifies(&self, parts: &[&[u8]], tag: &[u8; TAG_BYTES]) -> bool {
        let difference = u128::from_ne_bytes(self.tag(parts)) ^ u128::from_ne_bytes(*tag);
        black_box(difference) == 0
    }

    /// The key of a session, made by both ends from what each has drawn.
    #[must_use]
    pub fn session(&self, node: u32, boot_nonce: &[u8; NONCE_BYTES], daemon_nonce: &[u8; NONCE_BYTES]) -> Self {
        Self::new(&self.digest(&[b"session", &node.to_le_bytes(), boot_nonce, daemon_nonce]))
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
        let mut block = [0; BLOCK_BYTES];
        for (to, from) in block.iter_mut().zip(self.derives) {
            *to = from;
        }
        let mut mac = <Blake2bMac<U32> as KeyInit>::new(&block.into());
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
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

    /// The first is of the authors of SipHash, the second of a program that follows their paper.
    #[test]
    fn the_tag_is_siphash() {
        let message: [u8; 300] = core::array::from_fn(|at| at as u8);
        let key = Key::new(&core::array::from_fn(|at| at as u8));
        let expected = 0xa381_7f04_ba25_a8e6_6df6_7214_c755_0293_u128;
        assert_eq!(key.tag(&[]), expected.to_be_bytes());
        let expected = 0xce00_5a40_6d14_b36d_5386_b5f7_a7e1_b311_u128;
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
        let expected = 0xd1da_5115_b361_a3a1_6a12_5458_46b4_bac4_u128;
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
