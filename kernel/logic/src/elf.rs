// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An ELF64 program's headers, as a loader needs them: what lies where in memory and in the file.
//!
//! Owns the checks that make the rest of loading safe: after [`Program::parse`] every segment lies in the file and in
//! the address space, segments are sorted and share no page. Called by the loader of a static kernel with the
//! first bytes of the file. It must never read beyond what it is given, and never trusts a number in it.

use crate::paging::Protection;
use core::fmt;
use elf::abi;
use elf::endian::LittleEndian;
use elf::file::{Class, FileHeader, parse_ident};
use elf::parse::ParsingTable;
use elf::segment::ProgramHeader;

/// How much of a file's beginning [`Program::parse`] wants at most: the headers of every program that is known.
pub const HEAD_BYTES: usize = 4096;
/// Segments in memory that a program may have. Linkers make four or five.
pub const SEGMENTS: usize = 10;

const HEADER_BYTES: usize = 64;
const PAGE_BYTES: u64 = 4096;
/// No program lies higher, on any processor that is served.
const ADDRESS_END: u64 = 1 << 47;
const PATH_BYTES: u64 = 4096;

/// A part of the file that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub file_offset: u64,
    pub file_bytes: u64,
    /// As the file has it: a relocatable program adds its place.
    pub address: u64,
    /// At least `file_bytes`; what is beyond them is zero.
    pub memory_bytes: u64,
    pub protection: Protection,
}

/// A part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePart {
    pub offset: u64,
    pub bytes: u64,
}

/// A program or a dynamic linker, as its headers describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    segments: [Segment; SEGMENTS],
    count: usize,
    /// It may lie anywhere: PIE, static PIE, a dynamic linker.
    pub relocatable: bool,
    /// The strictest alignment that a segment asks for, in bytes: a power of two, at least a page.
    pub alignment: u64,
    pub entry: u64,
    /// Where the program headers are in memory, if a segment has them (`AT_PHDR`).
    pub headers_address: Option<u64>,
    /// How many there are (`AT_PHNUM`), each of [`Program::HEADER_BYTES`].
    pub headers: u16,
    /// Where the file names its dynamic linker. A NUL ends the path, which counts as a byte.
    pub interpreter: Option<FilePart>,
    /// It asks for a stack that may be executed.
    pub executable_stack: bool,
}

/// Why a file is no program that can be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    NotElf,
    Class32,
    BigEndian,
    /// For another processor: its number in the file, and the wanted one.
    Machine {
        found: u16,
        wanted: u16,
    },
    /// Neither a program nor position-independent: this type.
    Type(u16),
    /// The file ends before this offset, at which a header or a segment ends.
    Truncated {
        needed: u64,
        bytes: u64,
    },
    /// The program headers do not lie within the first [`HEAD_BYTES`].
    HeadersTooFar,
    NoSegments,
    TooManySegments(usize),
    /// Two segments share a page, or are not in the order of their addresses; the address of the second.
    Overlap(u64),
    /// A segment, the entry or the path has numbers that contradict each other; the address or offset.
    Contradiction(u64),
}

impl Program {
    /// Bytes of a program header (`AT_PHENT`).
    pub const HEADER_BYTES: u64 = 56;

    /// Reads the headers from `head`, the first bytes of a file of `file_bytes` bytes: [`HEAD_BYTES`], or the whole file
    /// if it is shorter. `machine` is the processor's number in ELF.
    pub fn parse(head: &[u8], file_bytes: u64, machine: u16) -> Result<Self, Invalid> {
        let header = file_header(head, file_bytes, machine)?;
        let mut program = Self {
            segments: [Segment::EMPTY; SEGMENTS],
            count: 0,
            relocatable: header.e_type == abi::ET_DYN,
            alignment: PAGE_BYTES,
            entry: header.e_entry,
            headers_address: None,
            headers: header.e_phnum,
            interpreter: None,
            executable_stack: false,
        };
        for entry in table(head, file_bytes, &header)?.iter() {
            program.add(&entry, file_bytes)?;
        }
        program.finish(header.e_phoff)
    }

    /// The segments to load, lowest address first. Not empty.
    pub fn segments(&self) -> &[Segment] {
        self.segments.get(..self.count).unwrap_or(&[])
    }

    /// The lowest page and the end of the highest page of all segments.
    pub fn extent(&self) -> (u64, u64) {
        let first = self.segments().first().map_or(0, Segment::first_page);
        let end = self.segments().last().map_or(0, Segment::pages_end);
        (first, end)
    }

    fn add(&mut self, entry: &ProgramHeader, file_bytes: u64) -> Result<(), Invalid> {
        match entry.p_type {
            abi::PT_LOAD if entry.p_memsz != 0 => self.add_segment(entry, file_bytes)?,
            abi::PT_INTERP => {
                let part = FilePart { offset: entry.p_offset, bytes: entry.p_filesz };
                if part.bytes < 2 || part.bytes > PATH_BYTES {
                    return Err(Invalid::Contradiction(part.offset));
                }
                within(part, file_bytes)?;
                self.interpreter = Some(part);
            }
            abi::PT_GNU_STACK => self.executable_stack = entry.p_flags & abi::PF_X != 0,
            _ => {}
        }
        Ok(())
    }

    fn add_segment(&mut self, entry: &ProgramHeader, file_bytes: u64) -> Result<(), Invalid> {
        let wrong = Invalid::Contradiction(entry.p_vaddr);
        within(FilePart { offset: entry.p_offset, bytes: entry.p_filesz }, file_bytes)?;
        let end = entry.p_vaddr.checked_add(entry.p_memsz).ok_or(wrong)?;
        let aligned = entry.p_align <= 1 || entry.p_align.is_power_of_two() && entry.p_align < ADDRESS_END;
        // A page of memory is a page of the file: where both begin in a page must agree.
        let congruent = entry.p_vaddr % PAGE_BYTES == entry.p_offset % PAGE_BYTES;
        if entry.p_filesz > entry.p_memsz || end > ADDRESS_END || !aligned || !congruent {
            return Err(wrong);
        }
        let segment = Segment {
            file_offset: entry.p_offset,
            file_bytes: entry.p_filesz,
            address: entry.p_vaddr,
            memory_bytes: entry.p_memsz,
            protection: Protection {
                read: entry.p_flags & abi::PF_R != 0,
                write: entry.p_flags & abi::PF_W != 0,
                execute: entry.p_flags & abi::PF_X != 0,
            },
        };
        if self.segments().last().is_some_and(|last| last.pages_end() > segment.first_page()) {
            return Err(Invalid::Overlap(segment.address));
        }
        *self.segments.get_mut(self.count).ok_or(Invalid::TooManySegments(SEGMENTS))? = segment;
        self.count += 1;
        self.alignment = self.alignment.max(entry.p_align);
        Ok(())
    }

    fn finish(mut self, headers_offset: u64) -> Result<Self, Invalid> {
        if self.count == 0 {
            return Err(Invalid::NoSegments);
        }
        let executable = |segment: &&Segment| segment.protection.execute && segment.contains(self.entry);
        if self.segments().iter().find(executable).is_none() {
            return Err(Invalid::Contradiction(self.entry));
        }
        let headers_end = headers_offset.saturating_add(u64::from(self.headers) * Self::HEADER_BYTES);
        let has_headers = |segment: &&Segment| {
            let end = segment.file_offset.saturating_add(segment.file_bytes);
            segment.file_offset <= headers_offset && headers_end <= end
        };
        let segment = self.segments().iter().find(has_headers);
        self.headers_address = segment.map(|segment| segment.address + (headers_offset - segment.file_offset));
        Ok(self)
    }
}

impl Segment {
    const EMPTY: Self =
        Self { file_offset: 0, file_bytes: 0, address: 0, memory_bytes: 0, protection: Protection::NONE };

    /// The page that it begins in.
    pub const fn first_page(&self) -> u64 {
        self.address & !(PAGE_BYTES - 1)
    }

    /// The end of the page that it ends in.
    pub const fn pages_end(&self) -> u64 {
        (self.address + self.memory_bytes).next_multiple_of(PAGE_BYTES)
    }

    const fn contains(&self, address: u64) -> bool {
        self.address <= address && address < self.address + self.memory_bytes
    }
}

/// The path in an [`interpreter`](Program::interpreter) part of the file, if it is one: not empty, ended by a NUL.
pub fn interpreter_path(bytes: &[u8]) -> Option<&[u8]> {
    let path = bytes.split(|&byte| byte == 0).next()?;
    (!path.is_empty() && path.len() < bytes.len()).then_some(path)
}

fn within(part: FilePart, file_bytes: u64) -> Result<(), Invalid> {
    let needed = part.offset.checked_add(part.bytes).ok_or(Invalid::Contradiction(part.offset))?;
    if needed > file_bytes { Err(Invalid::Truncated { needed, bytes: file_bytes }) } else { Ok(()) }
}

fn file_header(head: &[u8], file_bytes: u64, machine: u16) -> Result<FileHeader<LittleEndian>, Invalid> {
    if !head.starts_with(&abi::ELFMAGIC) {
        return Err(Invalid::NotElf);
    }
    let truncated = Invalid::Truncated { needed: HEADER_BYTES as u64, bytes: file_bytes.min(head.len() as u64) };
    let header = head.get(..HEADER_BYTES).ok_or(truncated)?;
    if header.get(abi::EI_DATA) == Some(&abi::ELFDATA2MSB) {
        return Err(Invalid::BigEndian);
    }
    let identity = parse_ident::<LittleEndian>(header).map_err(|_| Invalid::NotElf)?;
    if identity.1 == Class::ELF32 {
        return Err(Invalid::Class32);
    }
    let tail = header.get(abi::EI_NIDENT..).ok_or(truncated)?;
    let header = FileHeader::parse_tail(identity, tail).map_err(|_| truncated)?;
    if header.e_machine != machine {
        return Err(Invalid::Machine { found: header.e_machine, wanted: machine });
    }
    if header.e_type != abi::ET_EXEC && header.e_type != abi::ET_DYN {
        return Err(Invalid::Type(header.e_type));
    }
    Ok(header)
}

fn table<'a>(
    head: &'a [u8],
    file_bytes: u64,
    header: &FileHeader<LittleEndian>,
) -> Result<ParsingTable<'a, LittleEndian, ProgramHeader>, Invalid> {
    if header.e_phnum == 0 {
        return Err(Invalid::NoSegments);
    }
    if u64::from(header.e_phentsize) != Program::HEADER_BYTES {
        return Err(Invalid::Contradiction(header.e_phoff));
    }
    let part = FilePart { offset: header.e_phoff, bytes: u64::from(header.e_phnum) * Program::HEADER_BYTES };
    within(part, file_bytes)?;
    let end = part.offset + part.bytes;
    let bytes = head.get(part.offset as usize..end as usize).ok_or(Invalid::HeadersTooFar)?;
    Ok(ParsingTable::new(LittleEndian, Class::ELF64, bytes))
}

impl fmt::Display for Invalid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf => out.write_str("not an ELF file; an ELF program for this processor is needed"),
            Self::Class32 => out.write_str("a 32-bit program; a 64-bit one is needed"),
            Self::BigEndian => out.write_str("a big-endian program; a little-endian one is needed"),
            Self::Machine { found, wanted } => {
                write!(out, "a program for another processor (ELF machine {found}; {wanted} is needed)")
            }
            Self::Type(kind) => write!(out, "an ELF file of type {kind}; a program (2 or 3) is needed"),
            Self::Truncated { needed, bytes } => {
                write!(out, "the file is cut off: it has {bytes} bytes, and its headers speak of {needed}")
            }
            Self::HeadersTooFar => {
                write!(out, "the program headers are not in the first {HEAD_BYTES} bytes of the file")
            }
            Self::NoSegments => out.write_str("the file has nothing to load"),
            Self::TooManySegments(most) => write!(out, "more than {most} segments to load"),
            Self::Overlap(address) => {
                write!(out, "the segment at {address:#x} overlaps the one before it, or shares a page with it")
            }
            Self::Contradiction(address) => write!(out, "the headers contradict each other at {address:#x}"),
        }
    }
}

#[cfg(test)]
#[path = "elf_tests.rs"]
pub(crate) mod tests;
