// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The firmware's ACPI tables: the CPUs, and the way to turn the machine off. Pure.
//!
//! ACPI 6.5: MADT 5.2.12, FADT 5.2.9, the object `_S5_` 7.4.2. Called once by the boot CPU.

use super::bytes::{u8_at, u32_at, u64_at};
use super::loader::{AcpiRoot, Read};

const HEADER_BYTES: usize = 36;
/// No table is larger; a wrong length would map half of the machine.
const LIMIT: usize = 1 << 20;

/// A register, and what to write there to turn the machine off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Off {
    pub register: Register,
    pub value: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// Two bytes at a port.
    Port(u16),
    /// One byte at a physical address.
    Byte(u64),
}

/// The table with this signature.
pub fn find(root: AcpiRoot, signature: &[u8; 4], read: Read<'_>) -> Option<&'static [u8]> {
    let (at, width) = match root {
        AcpiRoot::Rsdt(at) => (at, 4),
        AcpiRoot::Xsdt(at) => (at, 8),
    };
    table(at, read)?.get(HEADER_BYTES..)?.chunks_exact(width).find_map(|entry| {
        let at = if width == 4 { u32_at(entry, 0)?.into() } else { u64_at(entry, 0)? };
        if !read(at, HEADER_BYTES)?.starts_with(signature) {
            return None;
        }
        table(at, read)
    })
}

fn table(at: u64, read: Read<'_>) -> Option<&'static [u8]> {
    let length = u32_at(read(at, HEADER_BYTES)?, 4)? as usize;
    if !(HEADER_BYTES..=LIMIT).contains(&length) {
        return None;
    }
    read(at, length)
}

/// Calls `each` with the APIC's number of every CPU that is enabled, in the table's order.
pub fn cpus(madt: &[u8], mut each: impl FnMut(u32)) {
    let enabled = |flags: Option<u32>| flags.is_some_and(|flags| flags & 1 != 0);
    entries(madt, |kind, entry| match kind {
        0 if enabled(u32_at(entry, 4)) => each(u8_at(entry, 3).unwrap_or_default().into()),
        9 if enabled(u32_at(entry, 8)) => each(u32_at(entry, 4).unwrap_or_default()),
        _ => {}
    });
}

/// Calls `each` with every I/O APIC: where its registers are, and the number of its first line.
pub fn io_apics(madt: &[u8], mut each: impl FnMut(u64, u32)) {
    entries(madt, |kind, entry| {
        if kind == 1
            && let (Some(registers), Some(first_line)) = (u32_at(entry, 4), u32_at(entry, 8))
        {
            each(registers.into(), first_line);
        }
    });
}

/// Calls `each` with every entry's kind and bytes.
fn entries(madt: &[u8], mut each: impl FnMut(u8, &[u8])) {
    let mut at = HEADER_BYTES + 8;
    while let (Some(kind), Some(length @ 2..)) = (u8_at(madt, at), u8_at(madt, at + 1)) {
        let end = at + usize::from(length);
        each(kind, madt.get(at..end).unwrap_or(&[]));
        at = end;
    }
}

/// How to turn the machine off. `None`: the tables do not tell.
pub fn off(fadt: &[u8], read: Read<'_>) -> Option<Off> {
    const REDUCED_HARDWARE: u32 = 1 << 20;
    const ENABLE: u16 = 1 << 13;
    const ENABLE_REDUCED: u16 = 1 << 5;
    let dsdt = match u64_at(fadt, 140) {
        None | Some(0) => u32_at(fadt, 40)?.into(),
        Some(at) => at,
    };
    let state = soft_off(table(dsdt, read)?)?;
    if u32_at(fadt, 112)? & REDUCED_HARDWARE == 0 {
        let port = u32_at(fadt, 64)?;
        return Some(Off { register: Register::Port(port.try_into().ok()?), value: u16::from(state) << 10 | ENABLE });
    }
    // a generic address: 0 is memory, 1 a port
    let at = u64_at(fadt, 248)?;
    let value = u16::from(state) << 2 | ENABLE_REDUCED;
    (u8_at(fadt, 244)? == 0 && at != 0).then_some(Off { register: Register::Byte(at), value })
}

/// How to begin anew: a byte for a register. `None`: the table does not tell.
pub fn reset(fadt: &[u8]) -> Option<Off> {
    const HAS_REGISTER: u32 = 1 << 10;
    let (at, value) = (u64_at(fadt, 120)?, u8_at(fadt, 128)?.into());
    let register = match u8_at(fadt, 116)? {
        0 => Register::Byte(at),
        1 => Register::Port(at.try_into().ok()?),
        _ => return None,
    };
    (u32_at(fadt, 112)? & HAS_REGISTER != 0 && at != 0).then_some(Off { register, value })
}

/// The first number of the package `_S5_`: found by its name, since nothing here runs ACPI's language.
fn soft_off(dsdt: &[u8]) -> Option<u8> {
    const PACKAGE: u8 = 0x12;
    const BYTE: u8 = 0x0a;
    let name = dsdt.windows(4).position(|name| name == b"_S5_")?;
    let package = dsdt.get(name + 4..)?.strip_prefix(&[PACKAGE])?;
    // its length has one byte, and as many more as the two highest bits say; then comes the number of elements
    let first = 1 + usize::from(u8_at(package, 0)? >> 6) + 1;
    match u8_at(package, first)? {
        BYTE => u8_at(package, first + 1),
        small @ (0 | 1) => Some(small),
        _ => None,
    }
    .filter(|&state| state < 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::boxed::Box;
    use std::vec::Vec;

    fn table(signature: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = (HEADER_BYTES + content.len()) as u32;
        [&signature[..], &length.to_le_bytes(), &[0; 28], content].concat()
    }

    /// Tables at 0x1000, 0x2000 and so on.
    fn memory(tables: Vec<Vec<u8>>) -> impl Fn(u64, usize) -> Option<&'static [u8]> {
        let tables: &'static [Vec<u8>] = Box::leak(tables.into_boxed_slice());
        move |at, bytes| tables.get((at as usize >> 12).checked_sub(1)?)?.get(at as usize & 0xfff..)?.get(..bytes)
    }

    #[test]
    fn a_table_is_found_by_either_list() {
        let short = [0x3000u32, 0x4000].map(u32::to_le_bytes).concat();
        let long = [0x9000u64, 0x4000].map(u64::to_le_bytes).concat();
        let all = [table(b"RSDT", &short), table(b"XSDT", &long), table(b"FACP", b"x"), table(b"APIC", b"yes")];
        let read = memory(all.to_vec());
        for root in [AcpiRoot::Rsdt(0x1000), AcpiRoot::Xsdt(0x2000)] {
            assert_eq!(find(root, b"APIC", &read).map(|found| &found[HEADER_BYTES..]), Some(&b"yes"[..]));
            assert_eq!(find(root, b"HPET", &read), None);
        }
    }

    #[test]
    fn only_enabled_cpus_count() {
        let entries: [&[u8]; 6] = [
            &[0, 8, 0, 7, 1, 0, 0, 0],
            &[1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 8, 1, 9, 2, 0, 0, 0],
            &[9, 16, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0],
            &[0, 8, 2, 3, 1, 0, 0, 0],
            &[0, 0, 0, 0], // would be read for ever
        ];
        let mut found = Vec::new();
        cpus(&table(b"APIC", &[&[0; 8][..], &entries.concat()].concat()), |id| found.push(id));
        assert_eq!(found, [7, 0x100, 3]);
    }

    #[test]
    fn io_apics_have_their_first_lines() {
        let entries = [1, 12, 2, 0, 0, 0, 0xc0, 0xfe, 0, 0, 0, 0, 1, 12, 3, 0, 0, 0, 0xc1, 0xfe, 24, 0, 0, 0, 1, 12, 0];
        let mut found = Vec::new();
        io_apics(&table(b"APIC", &[&[0; 8][..], &entries].concat()), |at, line| found.push((at, line)));
        assert_eq!(found, [(0xfec0_0000, 0), (0xfec1_0000, 24)]);
    }

    fn fadt(put: &[(usize, &[u8])]) -> Vec<u8> {
        let mut table = table(b"FACP", &[0; 240]);
        for (at, bytes) in put {
            table[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        table
    }

    #[test]
    fn the_way_off_is_the_firmwares() {
        let read = memory([table(b"DSDT", b"..._S5_\x12\x06\x04\x0a\x05\x00...")].to_vec());
        let port = fadt(&[(40, &[0, 0x10]), (64, &[4, 6])]);
        assert_eq!(off(&port, &read), Some(Off { register: Register::Port(0x604), value: 0x3400 }));
        let reduced = fadt(&[(140, &[0, 0x10]), (112, &[0, 0, 0x10]), (248, &[0, 2, 0xa0, 0xfe])]);
        assert_eq!(off(&reduced, &read), Some(Off { register: Register::Byte(0xfea0_0200), value: 0x34 }));
        assert_eq!(off(&fadt(&[(40, &[0, 0x20])]), &read), None);
    }

    #[test]
    fn the_way_to_begin_anew_is_the_firmwares() {
        let told: &[(usize, &[u8])] = &[(112, &[0, 4]), (116, &[1]), (120, &[0xf9, 0x0c]), (128, &[0xf])];
        assert_eq!(reset(&fadt(told)), Some(Off { register: Register::Port(0xcf9), value: 0xf }));
        let memory = fadt(&[told[0], (116, &[0]), (120, &[2, 2, 0xa0, 0xfe]), (128, &[0x42])]);
        assert_eq!(reset(&memory), Some(Off { register: Register::Byte(0xfea0_0202), value: 0x42 }));
        assert_eq!(reset(&fadt(&told[1..])), None, "the table has no such register");
        assert_eq!(reset(&fadt(&[told[0], (116, &[2]), told[2]])), None);
        assert_eq!(reset(&fadt(&[(112, &[0, 4])])[..100]), None);
    }

    #[test]
    fn a_state_that_cannot_be_is_refused() {
        assert_eq!(soft_off(b"_S5_\x12\x06\x04\x00\x00"), Some(0));
        assert_eq!(soft_off(b"_S5_\x12\x46\x01\x04\x01\x00"), Some(1));
        assert_eq!(soft_off(b"_S5_\x12\x06\x04\x0a\x09"), None);
        assert_eq!(soft_off(b"_S5_\x08"), None);
        assert_eq!(soft_off(b"_S4_"), None);
    }
}
