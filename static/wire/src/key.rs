// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys: who holds one may send, and nobody else is served.
//!
//! A set of nodes has one secret, which only its daemon's host has. Each node's key is derived from it and the node's
//! number, and given on the kernel's command line. Node and daemon derive a session's key from that and from two nonces;
//! each job has a key of its own, which reaches its nodes encrypted with their sessions'. Nothing here may print a key or
//! compare tags in a time that depends on their contents.

use crate::bulk::Words;
use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U32;
use core::fmt;
use core::hash::Hasher;
use core::hint::black_box;
use siphasher::sip128::{Hasher128, SipHasher24};

pub const KEY_BYTES: usize = 32;
pub const TAG_BYTES: usize = 16;
pub const NONCE_BYTES: usize = 16;

/// Payloads from this length on are signed by their digests.
pub const BULK_BYTES: usize = 1024;

/// A secret of two halves. The first signs packets, by SipHash-2-4 of 128 bits; other keys are derived from the second,
/// by BLAKE2b (RFC 7693) of it and of what the other key is for.
#[derive(Clone)]
pub struct Key {
    signs: [u8; KEY_BYTES / 2],
    derives: [u8; KEY_BYTES / 2],
    /// Of a key that is prepared for long payloads; for others they are drawn each time.
    bulk: Option<Bulk>,
}

/// The part of a key that signs long payloads. The first half of the key draws it, from texts that are shorter than any
/// packet's header: so it tells nothing about other signatures.
#[derive(Clone)]
struct Bulk {
    words: Words,
    signs: [u8; KEY_BYTES / 2],
}

impl Key {
    #[must_use]
    pub fn new(secret: &[u8; KEY_BYTES]) -> Self {
        let (signs, derives) = secret.split_at(KEY_BYTES / 2);
        Self {
            signs: signs.try_into().unwrap_or_default(),
            derives: derives.try_into().unwrap_or_default(),
            bulk: None,
        }
    }

    /// Prepares to sign long payloads, many of them.
    pub fn prepare(&mut self) {
        if self.bulk.is_none() {
            self.bulk = Some(self.draw());
        }
    }

    /// Whether both are made from the same secret. For a holder of both: it takes longer the more they have in common.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.signs, self.derives) == (other.signs, other.derives)
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
        siphash(&self.signs, parts)
    }

    /// The signature of a packet. That of a long payload covers the header, the payload's digests and its length.
    #[must_use]
    pub fn packet_tag(&self, header: &[u8], payload: &[u8]) -> [u8; TAG_BYTES] {
        if payload.len() < BULK_BYTES {
            return self.tag(&[header, payload]);
        }
        let drawn;
        let bulk = match &self.bulk {
            Some(bulk) => bulk,
            None => {
                drawn = self.draw();
                &drawn
            }
        };
        let mut hasher = SipHasher24::new_with_key(&bulk.signs);
        hasher.write(header);
        bulk.words.digests(payload, |some| hasher.write(some));
        hasher.write(&(payload.len() as u64).to_le_bytes());
        hasher.finish128().as_bytes()
    }

    /// Whether `tag` is a packet's signature.
    #[must_use]
    pub fn verifies(&self, header: &[u8], payload: &[u8], tag: &[u8; TAG_BYTES]) -> bool {
        let difference = u128::from_ne_bytes(self.packet_tag(header, payload)) ^ u128::from_ne_bytes(*tag);
        black_box(difference) == 0
    }

    fn draw(&self) -> Bulk {
        let draw = |number: u32| self.tag(&[b"bulk", &number.to_le_bytes()]);
        Bulk { words: Words::draw(draw), signs: draw(u32::MAX) }
    }

    /// The secret of a node's key, from the secret of its set. Nobody computes the set's or another node's from it.
    #[must_use]
    pub fn node_secret(&self, node: u32) -> [u8; KEY_BYTES] {
        self.digest(&[b"node", &node.to_le_bytes()])
    }

    /// The key of a node, as its command line has it.
    #[must_use]
    pub fn of_node(&self, node: u32) -> Self {
        Self::new(&self.node_secret(node))
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

    /// Of the half key, whose length is always the same, then the parts: one block in all. It needs no block of its own for
    /// the key, as BLAKE2b's keyed mode has: of no digest can anybody compute that of a longer text.
    fn digest(&self, parts: &[&[u8]]) -> [u8; KEY_BYTES] {
        let mut hash = Blake2b::<U32>::new();
        hash.update(self.derives);
        for part in parts {
            hash.update(part);
        }
        hash.finalize().into()
    }
}

fn siphash(key: &[u8; KEY_BYTES / 2], parts: &[&[u8]]) -> [u8; TAG_BYTES] {
    let mut hasher = SipHasher24::new_with_key(key);
    for part in parts {
        hasher.write(part);
    }
    hasher.finish128().as_bytes()
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec;

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
        assert!(key.verifies(b"mess", b"age", &tag));
        assert!(!key.verifies(b"mass", b"age", &tag));
        assert!(!Key::new(&[8; KEY_BYTES]).verifies(b"mess", b"age", &tag));
        for bit in 0..8 * TAG_BYTES {
            let mut other = tag;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.verifies(b"mess", b"age", &other), "bit {bit}");
        }
    }

    #[test]
    fn a_long_payload_is_signed_with_its_header_and_its_length() {
        let (key, header) = (Key::new(&SECRET), [1; 48]);
        let mut prepared = key.clone();
        prepared.prepare();
        for bytes in [BULK_BYTES - 1, BULK_BYTES, BULK_BYTES + 1, 5 * BULK_BYTES - 16, 33_000] {
            let payload = vec![3; bytes];
            let tag = key.packet_tag(&header, &payload);
            assert!(prepared.verifies(&header, &payload, &tag));
            assert!(!Key::new(&[8; KEY_BYTES]).verifies(&header, &payload, &tag));
            assert!(!key.verifies(&[2; 48], &payload, &tag));
            for at in [0, bytes / 2, bytes - 1] {
                let mut other = payload.clone();
                other[at] ^= 0x80;
                assert!(!key.verifies(&header, &other, &tag), "byte {at} of {bytes}");
            }
            // Zeros fill the last block up, and are no part of the payload.
            let longer = [&payload[..], &[0]].concat();
            let zeros = vec![0; bytes];
            assert!(!key.verifies(&header, &longer, &tag));
            assert!(!key.verifies(&header, &zeros[..bytes - 1], &key.packet_tag(&header, &zeros)));
        }
        // No digest is what a header and a short payload have.
        assert_ne!(key.packet_tag(&header, &[0; BULK_BYTES]), key.tag(&[&header, &[0; BULK_BYTES]]));
    }

    #[test]
    fn a_job_key_returns_from_its_wrapping_only_in_the_same_session() {
        let key = Key::new(&SECRET);
        let session = key.session(3, &[1; NONCE_BYTES], &[2; NONCE_BYTES]);
        let wrapped = session.wrapped(5, &[9; KEY_BYTES]);
        // As Python's `hashlib.blake2b` makes both, of the words `session` and `job` before the numbers and nonces.
        let expected = 0x182b_20a0_fb70_3f39_8d67_5890_ce59_1787_u128;
        assert_eq!(wrapped[..16], expected.to_be_bytes());
        assert_eq!(session.wrapped(5, &wrapped), [9; KEY_BYTES]);
        for other in [key.session(4, &[1; 16], &[2; 16]), key.session(3, &[0; 16], &[2; 16]), key] {
            assert_ne!(other.wrapped(5, &wrapped), [9; KEY_BYTES]);
        }
    }

    /// The value is of Python's `hashlib.blake2b`, of the set's second half and what follows.
    #[test]
    fn each_node_has_a_key_that_neither_shows_nor_is_the_sets() {
        let set = Key::new(&SECRET);
        let secret = set.node_secret(3);
        let expected = 0x8bd5_f5e3_cf65_d31e_c471_ec18_20c9_eb6f_u128;
        assert_eq!(secret[..16], expected.to_be_bytes());
        for other in [set.node_secret(2), SECRET, set.of_node(3).node_secret(3), set.of_node(3).node_secret(2)] {
            assert_ne!(other, secret);
        }
        // What it derives for itself, it does not derive for another.
        let (nonce, own) = ([1; NONCE_BYTES], set.of_node(3));
        assert_eq!(own.tag(&[b"a"]), Key::new(&secret).tag(&[b"a"]));
        let theirs = set.of_node(2).session(2, &nonce, &nonce).tag(&[b"a"]);
        assert_ne!(own.session(2, &nonce, &nonce).tag(&[b"a"]), theirs);
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
