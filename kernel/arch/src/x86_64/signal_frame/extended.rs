// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The extended state in a signal frame: the standard format of XSAVE, with marks of Linux around it.
//!
//! The first mark lies in bytes that the processor leaves to software and says how much state there is; the second lies
//! behind the state, to show that somebody who copied the frame knew that.

/// Behind the state: the second mark.
pub const EXTENDED_END_BYTES: usize = 4;

/// Bytes of the oldest part, which every processor has.
const LEGACY_BYTES: usize = 512;
const HEADER_BYTES: usize = 64;
/// MXCSR in the oldest part; bits that do not exist make the processor refuse all of it.
const MXCSR: usize = 24;
const MXCSR_MASK: u32 = 0xffff;
/// In the oldest part: first mark, bytes with the second one, features, bytes without it.
const SOFTWARE: usize = 464;
const FIRST_MARK: u32 = 0x4650_5853;
const SECOND_MARK: u32 = 0x4650_5845;
/// x87 and SSE: what the oldest part has.
const LEGACY_FEATURES: u64 = 3;

/// Makes a saved state what a signal frame has: `area` is the state, with these features of XCR0, and
/// [`EXTENDED_END_BYTES`]. `None`: it is too small for a state.
pub fn seal(area: &mut [u8], features: u64) -> Option<()> {
    let bytes = area.len().checked_sub(EXTENDED_END_BYTES)?;
    if bytes < LEGACY_BYTES + HEADER_BYTES {
        return None;
    }
    put(area, SOFTWARE, FIRST_MARK)?;
    put(area, SOFTWARE + 4, u32::try_from(area.len()).ok()?)?;
    put(area, SOFTWARE + 8, features as u32)?;
    put(area, SOFTWARE + 12, (features >> 32) as u32)?;
    put(area, SOFTWARE + 16, u32::try_from(bytes).ok()?)?;
    area.get_mut(SOFTWARE + 20..LEGACY_BYTES)?.fill(0);
    put(area, bytes, SECOND_MARK)
}

/// Makes what a program gives back a state that the processor takes: `area` is what lies at the frame's extended
/// address, as long as what was sealed. Without valid marks only x87 and SSE are restored; parts that the frame does not
/// have are as at a program's start. `None`: it is too small for a state.
pub fn open(area: &mut [u8], features: u64) -> Option<()> {
    let bytes = area.len().checked_sub(EXTENDED_END_BYTES)?;
    let header: &mut [u8; HEADER_BYTES] = area.get_mut(..bytes)?.get_mut(LEGACY_BYTES..)?.first_chunk_mut()?;
    let used = u64::from_le_bytes(*header.first_chunk()?);
    let marked = marked_features(area, bytes);
    let used = marked.map_or(LEGACY_FEATURES, |marked| used & marked) & features;
    let (header_used, header_rest) = area.get_mut(LEGACY_BYTES..LEGACY_BYTES + HEADER_BYTES)?.split_at_mut(8);
    header_used.copy_from_slice(&used.to_le_bytes());
    header_rest.fill(0);
    let control = get(area, MXCSR)? & MXCSR_MASK;
    put(area, MXCSR, control)
}

/// The features that a marked area of at most `most` bytes has.
fn marked_features(area: &[u8], most: usize) -> Option<u64> {
    let number = |at| get(area, SOFTWARE + at);
    let (all, bytes) = (number(4)? as usize, number(16)? as usize);
    let plausible = (LEGACY_BYTES + HEADER_BYTES..=most).contains(&bytes) && bytes <= all;
    let marked = number(0)? == FIRST_MARK && plausible && get(area, bytes)? == SECOND_MARK;
    marked.then_some(u64::from(number(8)?) | u64::from(number(12)?) << 32)
}

fn get(area: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*area.get(at..)?.first_chunk()?))
}

fn put(area: &mut [u8], at: usize, number: u32) -> Option<()> {
    *area.get_mut(at..)?.first_chunk_mut()? = number.to_le_bytes();
    Some(())
}
