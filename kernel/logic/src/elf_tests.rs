// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of [`super`]: hand-made headers with one error each, random bytes, and the program that runs the tests.

use super::*;
use proptest::prelude::*;
use std::format;
use std::vec::Vec;
extern crate std;

pub(crate) const MACHINE: u16 = 62;
const FILE_BYTES: u64 = 0x40_0000;

/// Type, flags, offset, address, bytes in the file, bytes in memory, alignment.
pub(crate) type Header = (u32, u32, u64, u64, u64, u64, u64);

const TEXT: Header = (abi::PT_LOAD, abi::PF_R | abi::PF_X, 0, 0x40_0000, 0x1_2345, 0x1_2345, 0x1000);
const DATA: Header = (abi::PT_LOAD, abi::PF_R | abi::PF_W, 0x1_2e00, 0x41_3e00, 0x200, 0x9000, 0x1000);
const STACK: Header = (abi::PT_GNU_STACK, abi::PF_R | abi::PF_W, 0, 0, 0, 0, 16);
const INTERPRETER: Header = (abi::PT_INTERP, abi::PF_R, 0x318, 0x40_0318, 28, 28, 1);

/// A file's beginning with these program headers.
pub(crate) fn head(kind: u16, entry: u64, headers: &[Header]) -> Vec<u8> {
    let mut bytes = Vec::from(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    bytes.extend(kind.to_le_bytes());
    bytes.extend(MACHINE.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    for word in [entry, 64, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(0u32.to_le_bytes());
    for half in [64, 56, headers.len() as u16, 64, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    for &(kind, flags, offset, address, file, memory, alignment) in headers {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        for word in [offset, address, address, file, memory, alignment] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes
}

fn parse(headers: &[Header]) -> Result<Program, Invalid> {
    Program::parse(&head(abi::ET_EXEC, 0x40_1000, headers), FILE_BYTES, MACHINE)
}

#[test]
fn a_program_at_fixed_addresses() {
    let program = parse(&[INTERPRETER, TEXT, DATA, STACK]).unwrap();
    assert!(!program.relocatable && !program.executable_stack);
    assert_eq!((program.entry, program.headers, program.headers_address), (0x40_1000, 4, Some(0x40_0040)));
    assert_eq!(program.interpreter, Some(FilePart { offset: 0x318, bytes: 28 }));
    let [text, data] = program.segments() else { panic!("two segments") };
    assert_eq!((text.protection, data.protection), (Protection::READ_EXECUTE, Protection::READ_WRITE));
    assert_eq!((data.first_page(), data.pages_end(), data.file_bytes), (0x41_3000, 0x41_d000, 0x200));
    assert_eq!(program.extent(), (0x40_0000, 0x41_d000));
}

#[test]
fn each_error_has_its_name() {
    let good = head(abi::ET_EXEC, 0x40_1000, &[TEXT]);
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Program::parse(&bytes, FILE_BYTES, MACHINE).unwrap_err()
    };
    assert_eq!(changed(0, b'#'), Invalid::NotElf);
    assert_eq!(changed(4, 1), Invalid::Class32);
    assert_eq!(changed(5, 2), Invalid::BigEndian);
    assert_eq!(changed(16, 1), Invalid::Type(1));
    assert_eq!(changed(18, 183), Invalid::Machine { found: 183, wanted: MACHINE });
    assert_eq!(changed(33, 0x20), Invalid::HeadersTooFar);
    assert_eq!(changed(54, 32), Invalid::Contradiction(64));
    assert_eq!(changed(56, 0), Invalid::NoSegments);
    assert_eq!(parse(&[STACK]), Err(Invalid::NoSegments));
    assert_eq!(parse(&[DATA]), Err(Invalid::Contradiction(0x40_1000)));
    assert_eq!(parse(&[TEXT; 2]), Err(Invalid::Overlap(0x40_0000)));
    let many: Vec<Header> = (0..11).map(|n| (TEXT.0, TEXT.1, 0, n << 20, 0x1000, 0x1000, 0x1000)).collect();
    assert_eq!(parse(&many), Err(Invalid::TooManySegments(SEGMENTS)));
}

#[test]
fn a_file_that_is_cut_off_is_told_from_a_bad_one() {
    let bytes = head(abi::ET_EXEC, 0x40_1000, &[TEXT]);
    let cut = |length: usize| Program::parse(&bytes[..length], length as u64, MACHINE).unwrap_err();
    assert_eq!(cut(3), Invalid::NotElf);
    assert_eq!(cut(63), Invalid::Truncated { needed: 64, bytes: 63 });
    assert_eq!(cut(100), Invalid::Truncated { needed: 120, bytes: 100 });
    assert_eq!(cut(120), Invalid::Truncated { needed: 0x1_2345, bytes: 120 });
    assert_eq!(format!("{}", cut(120)), "the file is cut off: it has 120 bytes, and its headers speak of 74565");
}

#[test]
fn segments_that_contradict_themselves_are_refused() {
    let (kind, flags, offset, address, file, memory, alignment) = TEXT;
    let bad: [Header; 6] = [
        (kind, flags, offset, address, file + 1, memory, alignment),
        (kind, flags, offset + 8, address, file, memory, alignment),
        (kind, flags, offset, address, file, memory, 0x1800),
        (kind, flags, offset, address, file, u64::MAX, alignment),
        (kind, flags, offset, address, file, 1 << 47, alignment),
        (kind, flags, offset, 1 << 63, file, memory, alignment),
    ];
    for header in bad {
        assert_eq!(parse(&[header]), Err(Invalid::Contradiction(header.3)), "{header:x?}");
    }
    let far = (kind, flags, u64::MAX - 0xfff, address, file, memory, alignment);
    assert_eq!(parse(&[far]), Err(Invalid::Contradiction(far.2)));
    assert_eq!(parse(&[TEXT, (INTERPRETER.0, 0, 0x318, 0, 1, 1, 1)]), Err(Invalid::Contradiction(0x318)));
}

#[test]
fn a_path_is_ended_by_nul() {
    assert_eq!(interpreter_path(b"/lib/ld.so\0"), Some(&b"/lib/ld.so"[..]));
    assert_eq!(interpreter_path(b"/lib/ld.so"), None);
    assert_eq!(interpreter_path(b"\0"), None);
}

#[test]
#[cfg_attr(miri, ignore = "the program is Miri itself")]
fn the_program_that_runs_this_is_one() {
    let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let machine = u16::from_le_bytes([bytes[18], bytes[19]]);
    let program = Program::parse(&bytes[..HEAD_BYTES], bytes.len() as u64, machine).unwrap();
    assert!(program.relocatable && program.headers_address.is_some() && !program.executable_stack);
    let part = program.interpreter.unwrap();
    let path = interpreter_path(&bytes[part.offset as usize..][..part.bytes as usize]).unwrap();
    let path = std::str::from_utf8(path).unwrap();
    let linker = std::fs::read(path).unwrap();
    let linker = Program::parse(&linker[..HEAD_BYTES], linker.len() as u64, machine).unwrap();
    assert!(linker.relocatable && linker.interpreter.is_none(), "{path}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 20 } else { 4096 }))]

    /// For every file, the segments that come out are sorted, apart, and within the file.
    #[test]
    fn nothing_is_believed(changes in prop::collection::vec((0usize..400, any::<u8>()), 0..4), cut in 0usize..400) {
        let mut bytes = head(abi::ET_DYN, 0x40_1000, &[INTERPRETER, TEXT, DATA, STACK]);
        for (at, byte) in changes {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        bytes.truncate(bytes.len().max(cut) - cut / 8);
        let Ok(program) = Program::parse(&bytes, FILE_BYTES, MACHINE) else { return Ok(()) };
        let mut end = 0;
        for segment in program.segments() {
            prop_assert!(segment.first_page() >= end && segment.memory_bytes > 0);
            prop_assert!(segment.file_offset + segment.file_bytes <= FILE_BYTES);
            end = segment.pages_end();
        }
        prop_assert!(end <= ADDRESS_END && program.alignment.is_power_of_two());
    }
}
