// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs inside the guest, and their generation. Builds of this crate with different guest programs share one
//! cache, so files made from these programs have the generation in their name.

/// Process 1 of a node.
pub(crate) const AGENT: &str = include_str!("guest/agent.c");
/// The first program that the kernel runs.
pub(crate) const INIT: &str = include_str!("guest/init.sh");
/// Packs both with a kernel's drivers.
pub(crate) const INITRAMFS: &str = include_str!("provision/initramfs.sh");

/// A hash of these programs.
pub(crate) fn generation() -> String {
    hash(&[AGENT, INIT, INITRAMFS])
}

/// FNV-1a of texts, as a name has it.
pub(crate) fn hash(texts: &[&str]) -> String {
    let bytes = texts.iter().flat_map(|text| text.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}
