// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The loader's account of the machine: command line, memory map, and where ACPI's tables begin. Pure.
//!
//! PVH: Xen's `start_info` (xen/include/public/arch-x86/hvm/start_info.h). Multiboot2: the specification's section 3.6.
//! Read once, on the boot CPU, from memory that the loader filled.

use super::bytes::{u8_at, u32_at, u64_at};
use super::memory::Memory;

/// The value that a Multiboot2 loader leaves in eax.
pub const MULTIBOOT2: u32 = 0x36d7_6289;
const PVH: u32 = 0x336e_c578;

const COMMAND_LINE_BYTES: usize = 2048;
/// Words of the command line; the rest is not looked at.
const WORDS: usize = 128;
const USABLE: u32 = 1;
pub const RANGES: usize = 128;

/// Physical memory as far as it can be read now; the bytes stay.
pub type Read<'a> = &'a dyn Fn(u64, usize) -> Option<&'static [u8]>;

/// The tables' list: RSDT with addresses of 32 bits, XSDT with 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpiRoot {
    Rsdt(u64),
    Xsdt(u64),
}

/// The account, apart from the command line.
pub struct Told {
    pub memory: Memory<RANGES>,
    pub acpi: Option<AcpiRoot>,
}

/// The command line.
pub struct Line {
    text: [u8; COMMAND_LINE_BYTES],
    length: usize,
    /// Where its words begin and end.
    words: [(u16, u16); WORDS],
    word_count: usize,
}

impl Line {
    pub const fn new() -> Self {
        Self { text: [0; COMMAND_LINE_BYTES], length: 0, words: [(0, 0); WORDS], word_count: 0 }
    }

    pub fn text(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or(&[])
    }

    /// Its words, which spaces part.
    pub fn words(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let words = self.words.get(..self.word_count).unwrap_or(&[]);
        words.iter().filter_map(|&(begin, end)| self.text.get(begin.into()..end.into()))
    }

    /// Finds the words once: they are asked for often.
    fn find_words(&mut self) {
        let line = self.text.get(..self.length).unwrap_or(&[]);
        let mut begin = 0;
        for (at, byte) in (0..).zip(line.iter().chain(b" ")) {
            if *byte != b' ' {
                continue;
            }
            if begin != at
                && let Some(word) = self.words.get_mut(self.word_count)
            {
                *word = (begin, at);
                self.word_count += 1;
            }
            begin = at + 1;
        }
    }

    /// A text that ends with zero, in pieces that can be read: nothing tells its length.
    fn read(&mut self, at: u64, read: Read<'_>) {
        const PIECE: usize = 64;
        for piece in 0..COMMAND_LINE_BYTES / PIECE {
            let Some(bytes) = read(at + (piece * PIECE) as u64, PIECE) else { return };
            self.add(bytes);
            if bytes.contains(&0) {
                return;
            }
        }
    }

    fn add(&mut self, text: &[u8]) {
        let length = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        let room = self.text.get_mut(self.length..).unwrap_or(&mut []);
        let length = length.min(room.len());
        if let (Some(to), Some(from)) = (room.get_mut(..length), text.get(..length)) {
            to.copy_from_slice(from);
            self.length += length;
        }
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl Told {
    pub const fn new() -> Self {
        Self { memory: Memory::new(), acpi: None }
    }

    /// Reads what the loader left at `info`. `Err`: one line about what is wrong.
    pub fn read(&mut self, line: &mut Line, magic: u32, info: u64, read: Read<'_>) -> Result<(), &'static str> {
        let whole = if magic == MULTIBOOT2 { self.multiboot2(line, info, read) } else { self.pvh(line, info, read) };
        line.find_words();
        match whole {
            None => Err("the boot loader's description of the machine is incomplete"),
            Some(false) => Err("the boot loader's memory map has too many ranges"),
            Some(true) if self.memory.bytes() == 0 => Err("the boot loader names no usable memory"),
            Some(true) => Ok(()),
        }
    }

    fn pvh(&mut self, line: &mut Line, info: u64, read: Read<'_>) -> Option<bool> {
        let head = read(info, 56)?;
        if u32_at(head, 0)? != PVH || u32_at(head, 4)? < 1 {
            return None; // version 0 has no memory map
        }
        let (text, acpi, map, entries) =
            (u64_at(head, 24)?, u64_at(head, 32)?, u64_at(head, 40)?, u32_at(head, 48)? as usize);
        if text != 0 {
            line.read(text, read);
        }
        self.acpi = read(acpi, 36).filter(|_| acpi != 0).and_then(root);
        let map = read(map, entries.checked_mul(24)?)?;
        Some(self.add_map(map, 24))
    }

    fn multiboot2(&mut self, line: &mut Line, info: u64, read: Read<'_>) -> Option<bool> {
        let bytes = read(info, u32_at(read(info, 8)?, 0)? as usize)?;
        let (mut at, mut fits) = (8, true);
        loop {
            let (kind, size) = (u32_at(bytes, at)?, u32_at(bytes, at + 4)? as usize);
            let tag = bytes.get(at..at.checked_add(size)?).filter(|tag| tag.len() >= 8)?;
            match kind {
                0 => return Some(fits),
                1 => line.add(tag.get(8..)?),
                6 => fits &= self.add_map(tag.get(16..)?, u32_at(tag, 8)? as usize),
                14 | 15 => self.acpi = root(tag.get(8..)?).or(self.acpi),
                _ => {}
            }
            at += size.next_multiple_of(8);
        }
    }

    /// Entries of `size` bytes, that begin with address, length and kind.
    fn add_map(&mut self, map: &[u8], size: usize) -> bool {
        let ranges = || {
            map.chunks_exact(size.max(20)).filter_map(|entry| {
                let (base, bytes) = (u64_at(entry, 0)?, u64_at(entry, 8)?);
                Some((base, base.saturating_add(bytes), u32_at(entry, 16)?))
            })
        };
        ranges().filter(|range| range.2 == USABLE).all(|(base, end, _)| self.memory.add(base, end))
            && ranges().filter(|range| range.2 != USABLE).all(|(base, end, _)| self.memory.remove(base, end))
    }
}

impl Default for Told {
    fn default() -> Self {
        Self::new()
    }
}

/// From the RSDP.
fn root(rsdp: &[u8]) -> Option<AcpiRoot> {
    if !rsdp.starts_with(b"RSD PTR ") {
        return None;
    }
    match u8_at(rsdp, 15)? {
        0 | 1 => Some(AcpiRoot::Rsdt(u32_at(rsdp, 16)?.into())),
        _ => match u64_at(rsdp, 24)? {
            0 => Some(AcpiRoot::Rsdt(u32_at(rsdp, 16)?.into())),
            xsdt => Some(AcpiRoot::Xsdt(xsdt)),
        },
    }
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
