// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Descriptions of machines as loaders leave them.

use super::*;
extern crate std;
use std::boxed::Box;
use std::vec::Vec;

/// Memory from 0 on.
fn read(memory: Vec<u8>) -> impl Fn(u64, usize) -> Option<&'static [u8]> {
    let memory: &'static [u8] = Box::leak(memory.into_boxed_slice());
    move |at, bytes| memory.get(at as usize..(at as usize).checked_add(bytes)?)
}

fn put(memory: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    memory.resize(memory.len().max(at + bytes.len()), 0);
    memory[at..at + bytes.len()].copy_from_slice(bytes);
}

fn entry(base: u64, bytes: u64, kind: u32) -> Vec<u8> {
    [&base.to_le_bytes()[..], &bytes.to_le_bytes(), &kind.to_le_bytes(), &[0; 4]].concat()
}

fn map() -> Vec<u8> {
    [entry(0, 0x9fc00, 1), entry(0x100000, 0x700000, 1), entry(0x400000, 0x1000, 2), entry(0xfffc0000, 0x40000, 2)]
        .concat()
}

const EXPECTED: [(u64, u64); 3] = [(0, 0x9f000), (0x100000, 0x400000), (0x401000, 0x800000)];

fn ranges(told: &Told) -> Vec<(u64, u64)> {
    told.memory.ranges().iter().map(|range| (range.base, range.end())).collect()
}

fn rsdp(revision: u8, rsdt: u32, xsdt: u64) -> Vec<u8> {
    [b"RSD PTR \0OEMOEM", &[revision][..], &rsdt.to_le_bytes(), &36u32.to_le_bytes(), &xsdt.to_le_bytes(), &[0; 4]]
        .concat()
}

fn pvh() -> Vec<u8> {
    let mut memory = Vec::new();
    let numbers = [u64::from(PVH) | 1 << 32, 0, 0, 0x200, 0x300, 0x400, 4];
    put(&mut memory, 0x100, &numbers.map(u64::to_le_bytes).concat());
    put(&mut memory, 0x200, &[b'a'; 70]);
    put(&mut memory, 0x300, &rsdp(0, 0x1234, 0));
    put(&mut memory, 0x400, &map());
    memory
}

#[test]
fn pvh_is_read_whole() {
    let (mut told, mut line) = (Told::new(), Line::new());
    assert_eq!(told.read(&mut line, 0, 0x100, &read(pvh())), Ok(()));
    assert_eq!(line.text(), [b'a'; 70]);
    assert_eq!(told.acpi, Some(AcpiRoot::Rsdt(0x1234)));
    assert_eq!(ranges(&told), EXPECTED);
}

#[test]
fn pvh_that_is_not_is_refused() {
    let without = |at: usize, value: u8| {
        let mut memory = pvh();
        memory[at] = value;
        Told::new().read(&mut Line::new(), 0, 0x100, &read(memory))
    };
    assert_eq!(without(0x100, 0), Err("the boot loader's description of the machine is incomplete"));
    assert_eq!(without(0x104, 0), Err("the boot loader's description of the machine is incomplete"));
    assert_eq!(without(0x131, 1), Err("the boot loader's description of the machine is incomplete"));
    assert_eq!(without(0x130, 0), Err("the boot loader names no usable memory"));
}

#[test]
fn words_are_what_spaces_part() {
    let mut memory = pvh();
    put(&mut memory, 0x200, b"  one two=3   four \0");
    let (mut told, mut line) = (Told::new(), Line::new());
    assert_eq!(told.read(&mut line, 0, 0x100, &read(memory)), Ok(()));
    assert_eq!(line.words().collect::<Vec<_>>(), [&b"one"[..], b"two=3", b"four"]);
}

#[test]
fn a_command_line_without_an_end_is_cut() {
    let mut memory = pvh();
    put(&mut memory, 0x1000, &[b'x'; 5000]);
    put(&mut memory, 0x100 + 24, &0x1000u64.to_le_bytes());
    let (mut told, mut line) = (Told::new(), Line::new());
    assert_eq!(told.read(&mut line, 0, 0x100, &read(memory)), Ok(()));
    assert_eq!(line.text(), [b'x'; COMMAND_LINE_BYTES]);
}

fn tag(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut tag = [&kind.to_le_bytes()[..], &(8 + content.len() as u32).to_le_bytes(), content].concat();
    tag.resize(tag.len().next_multiple_of(8), 0);
    tag
}

fn multiboot2(tags: &[Vec<u8>]) -> Vec<u8> {
    let tags = tags.concat();
    [&(8 + tags.len() as u32).to_le_bytes()[..], &[0; 4], &tags].concat()
}

#[test]
fn multiboot2_is_read_whole() {
    let map = [&24u32.to_le_bytes()[..], &[0; 4], &map()].concat();
    let tags = [
        tag(1, b"tacet.node=3\0"),
        tag(99, &[7; 3]),
        tag(15, &rsdp(2, 1, 0x7_0000_0000)),
        tag(14, b"not one"),
        tag(6, &map),
        tag(0, &[]),
    ];
    let (mut told, mut line) = (Told::new(), Line::new());
    assert_eq!(told.read(&mut line, MULTIBOOT2, 0, &read(multiboot2(&tags))), Ok(()));
    assert_eq!(line.text(), b"tacet.node=3");
    assert_eq!(told.acpi, Some(AcpiRoot::Xsdt(0x7_0000_0000)));
    assert_eq!(ranges(&told), EXPECTED);
}

#[test]
fn multiboot2_without_an_end_is_refused() {
    let whole = multiboot2(&[tag(1, b"x\0"), tag(0, &[])]);
    for bytes in 0..whole.len() {
        let mut cut = whole[..bytes].to_vec();
        if let Some(size) = cut.get_mut(..4) {
            size.copy_from_slice(&(bytes as u32).to_le_bytes());
        }
        let refused = Err("the boot loader's description of the machine is incomplete");
        assert_eq!(Told::new().read(&mut Line::new(), MULTIBOOT2, 0, &read(cut)), refused, "{bytes}");
    }
    let mut endless = multiboot2(&[tag(1, b"x\0")]);
    endless[12..16].fill(0);
    assert!(Told::new().read(&mut Line::new(), MULTIBOOT2, 0, &read(endless)).is_err());
}
