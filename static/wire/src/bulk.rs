// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The digest of a long payload, which is signed in the payload's place: a multiplication for 16 bytes, where SipHash alone
//! takes fifty instructions.
//!
//! `key.rs` alone uses it. The payload is cut into blocks, the last one filled up with zeros, and each becomes 16 bytes by
//! NH, the universal hash of UMAC (RFC 4418), with words of 64 bits: two payloads of one length that differ have the same
//! digests for one key of 2^64 at most, whoever chose them, as long as he knows no digest. Nobody does: digests travel in
//! no packet, only SipHash of them.

/// The bytes that become one digest, and how many bytes that has.
pub(crate) const BLOCK_BYTES: usize = 1024;
pub(crate) const DIGEST_BYTES: usize = 16;
const WORD_BYTES: usize = 8;
const WORDS: usize = BLOCK_BYTES / WORD_BYTES;
/// The loop takes so much in a step, which the compiler writes out.
const STEP_BYTES: usize = 128;
/// Digests that are signed together.
const AT_ONCE: usize = 16;

/// The words that are added to a payload's. They are as secret as a key.
#[derive(Clone)]
pub(crate) struct Words([u64; WORDS]);

impl Words {
    /// From what draws 16 bytes for each number.
    pub(crate) fn draw(mut draw: impl FnMut(u32) -> [u8; 16]) -> Self {
        let mut words = [0; WORDS];
        for (number, pair) in (0..).zip(words.chunks_exact_mut(2)) {
            let drawn = u128::from_le_bytes(draw(number));
            pair.iter_mut().zip([drawn as u64, (drawn >> 64) as u64]).for_each(|(word, drawn)| *word = drawn);
        }
        Self(words)
    }

    /// Gives the digests of all blocks to `each`, some at once.
    pub(crate) fn digests(&self, payload: &[u8], mut each: impl FnMut(&[u8])) {
        let (blocks, rest) = payload.as_chunks::<BLOCK_BYTES>();
        for some in blocks.chunks(AT_ONCE) {
            let mut digests = [[0; DIGEST_BYTES]; AT_ONCE];
            some.iter().zip(&mut digests).for_each(|(block, digest)| *digest = self.digest(block));
            each(digests.as_flattened().get(..DIGEST_BYTES * some.len()).unwrap_or_default());
        }
        if !rest.is_empty() {
            let mut block = [0; BLOCK_BYTES];
            block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            each(&self.digest(&block));
        }
    }

    fn digest(&self, block: &[u8; BLOCK_BYTES]) -> [u8; DIGEST_BYTES] {
        let (steps, _) = block.as_chunks::<STEP_BYTES>();
        let (words, _) = self.0.as_chunks::<{ STEP_BYTES / WORD_BYTES }>();
        let mut sum = 0_u128;
        for (step, words) in steps.iter().zip(words) {
            let (pairs, (words, _)) = (step.as_chunks::<{ 2 * WORD_BYTES }>().0, words.as_chunks::<2>());
            for (pair, &[a, b]) in pairs.iter().zip(words) {
                let both = u128::from_le_bytes(*pair);
                let (a, b) = ((both as u64).wrapping_add(a), ((both >> 64) as u64).wrapping_add(b));
                sum = sum.wrapping_add(u128::from(a) * u128::from(b));
            }
        }
        sum.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    /// NH as its authors write it, one pair after the other.
    fn plain(words: &Words, block: &[u8]) -> [u8; DIGEST_BYTES] {
        let word = |at: usize| u64::from_le_bytes(block[8 * at..][..8].try_into().unwrap());
        let pairs = (0..WORDS / 2).map(|pair| {
            let [a, b] = [2 * pair, 2 * pair + 1].map(|at| word(at).wrapping_add(words.0[at]));
            u128::from(a) * u128::from(b)
        });
        pairs.fold(0, u128::wrapping_add).to_le_bytes()
    }

    fn words() -> Words {
        Words::draw(|number| [number as u8 ^ 0xa7; 16].map(|byte| byte.wrapping_mul(151)))
    }

    #[test]
    fn each_block_has_the_digest_of_its_authors() {
        let (words, payload) = (words(), (0..19 * BLOCK_BYTES + 9).map(|at| (at * at) as u8).collect::<Vec<_>>());
        let mut padded = payload.clone();
        padded.resize(20 * BLOCK_BYTES, 0);
        let mut digests = Vec::new();
        words.digests(&payload, |some| digests.extend_from_slice(some));
        let expected: Vec<_> = padded.chunks(BLOCK_BYTES).flat_map(|block| plain(&words, block)).collect();
        assert_eq!(digests, expected);
    }

    /// A word of which a digest did not depend would be a byte that nobody signs.
    #[test]
    fn a_digest_depends_on_each_byte() {
        let words = words();
        let before = words.digest(&[0; BLOCK_BYTES]);
        for at in 0..BLOCK_BYTES {
            let mut block = [0; BLOCK_BYTES];
            block[at] = 1;
            assert_ne!(words.digest(&block), before, "byte {at}");
        }
    }
}
