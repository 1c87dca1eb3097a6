// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads numbers, strings and samples from the file of a run, and computes its checksum. Trusts nothing: never
//! allocates more than the file can contain.

use std::io::Read;

use crate::Result;

/// FNV-1a, 64 bits, as in noise/mpi/file.c.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

pub struct Source<R> {
    from: R,
    /// Bytes not yet read.
    left: u64,
    checksum: u64,
}

impl<R: Read> Source<R> {
    pub fn new(from: R, bytes: u64) -> Source<R> {
        Source { from, left: bytes, checksum: BASIS }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.need(1, bytes.len() as u64)?;
        self.from.read_exact(bytes)?;
        self.left -= bytes.len() as u64;
        self.checksum = bytes.iter().fold(self.checksum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(PRIME));
        Ok(())
    }

    /// Checks that `count` items of `bytes_each` bytes are left.
    pub fn need(&self, count: u64, bytes_each: u64) -> Result<()> {
        if count.checked_mul(bytes_each).is_none_or(|bytes| bytes > self.left) {
            return Err("it ends early".into());
        }
        Ok(())
    }

    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.bytes()?))
    }

    /// Strings, each ended by a zero byte.
    pub fn strings(&mut self, bytes: u64) -> Result<Vec<String>> {
        self.need(1, bytes)?;
        let mut text = vec![0; usize::try_from(bytes)?];
        self.fill(&mut text)?;
        let text = text.strip_suffix(&[0]).ok_or("its text has no end")?;
        Ok(text.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect())
    }

    /// Beginning and length of `count` samples in exactly `bytes` bytes (noise/mpi/samples.h).
    pub fn samples(&mut self, count: u64, bytes: u64, shortest_ns: u64) -> Result<Vec<(u64, u64)>> {
        let wrong = || "its samples do not have the number of bytes in its table";
        self.need(1, bytes)?;
        if count > bytes / 2 {
            return Err(wrong().into());
        }
        let end = self.left - bytes;
        let mut samples = Vec::with_capacity(usize::try_from(count)?);
        let mut before = 0u64;
        for _ in 0..count {
            let gap = self.number()?;
            let gap = (gap >> 1) as i64 ^ -((gap & 1) as i64);
            let start = before.checked_add_signed(gap).ok_or_else(wrong)?;
            let length = self.number()?.checked_add(shortest_ns).ok_or_else(wrong)?;
            before = start.checked_add(length).filter(|end| *end <= i64::MAX as u64).ok_or_else(wrong)?;
            samples.push((start, length));
        }
        if self.left == end { Ok(samples) } else { Err(wrong().into()) }
    }

    /// A number with seven bits in each byte, the lowest first.
    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.bytes()?;
            let part = u64::from(byte & 127);
            if part << shift >> shift != part {
                break;
            }
            number |= part << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err("it has a number of more than 64 bits".into())
    }

    /// Checks that the file's last eight bytes are the checksum of all others, and returns it.
    pub fn end(mut self) -> Result<u64> {
        let expected = self.checksum;
        if self.u64()? != expected {
            return Err("its checksum is wrong".into());
        }
        if self.left > 0 {
            return Err("it has bytes after its end".into());
        }
        Ok(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same bytes as in noise/mpi/test.c.
    #[test]
    fn samples_by_hand() {
        let bytes = [0, 0, 1, 0, 2, 200, 1];
        let read = |count, bytes: &[u8]| Source::new(bytes, bytes.len() as u64).samples(count, bytes.len() as u64, 100);
        assert_eq!(read(3, &bytes).expect("samples"), [(0, 100), (99, 100), (200, 300)]);
        assert!(read(2, &bytes).is_err() && read(4, &bytes).is_err() && read(3, &bytes[..6]).is_err());
        assert!(read(1, &[1, 0]).is_err(), "before the beginning");
        assert!(read(1, &[[255; 9].as_slice(), &[2, 0]].concat()).is_err(), "65 bits");
        assert!(read(u64::MAX, &bytes).is_err());
    }
}
