// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's own address space: where everything of it lies, and the tables that say so.
//!
//! | address | what |
//! |---|---|
//! | [`DIRECT`] | all RAM but the image, at its physical address plus this; read and write, no execution |
//! | [`KERNEL`] | the image, at its physical address plus this; text executes and is not written |
//! | [`APIC_PAGE`](super::super::APIC_PAGE) | the APIC's registers, if they are memory |
//! | [`SIGNALS`] | each CPU's [`Signals`](crate::signals::Signals), side by side |
//! | [`PRIVATE`] | each CPU's private region and, right above it, the rest of its main stack |
//! | [`WINDOW`] | firmware's tables and registers of devices |
//!
//! Nothing is both writable and executable. The upper half of every program's root is this one's.

use super::super::boot::{DOUBLE_FAULT_STACK, MACHINE_CHECK_STACK, MAIN_STACK, NMI_STACK, PAGE_BYTES, SETTLED};
use super::super::cpu::CpuLocal;
use super::directory::{Directory, Mapping, Pages, Refused, Run};
use super::loader::RANGES;
use super::memory::{Memory, Range};
use super::state::State;
use crate::signals::{PAGE_BYTES as PAGE_BYTES_OF_SIGNALS, Signals};
use core::arch::asm;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU64, Ordering};
use tacet_logic::paging::PageSize;

pub const DIRECT: u64 = 0xffff_8000_0000_0000;
/// Where the linker script has it too.
pub const KERNEL: u64 = 0xffff_ffff_8000_0000;
pub const SIGNALS: u64 = 0xffff_ffff_c100_0000;
pub const PRIVATE: u64 = 0xffff_ffff_c800_0000;
pub const WINDOW: u64 = 0xffff_ffff_d000_0000;
const WINDOW_END: u64 = 0xffff_ffff_e000_0000;

/// Between two CPUs' private regions; what no stack uses is not mapped.
pub const PRIVATE_STRIDE: u64 = 0x2_0000;
/// Pages of the main stack.
const STACK_PAGES: u64 = 12;
/// Bytes of a CPU's words that are used; the rest is a host's.
const SIGNALS_USED: u64 = 2048;

const WRITE: u64 = 1 << 1;
const UNCACHED: u64 = 1 << 3 | 1 << 4;
const LARGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;
/// Present, global (user mode's loads of CR3 keep it), accessed and dirty.
const KEPT: u64 = 1 | 1 << 5 | 1 << 6 | 1 << 8;
pub const TEXT: u64 = KEPT;
pub const READ_ONLY: u64 = KEPT | NO_EXECUTE;
pub const DATA: u64 = KEPT | NO_EXECUTE | WRITE;
pub const DEVICE: u64 = DATA | UNCACHED;

/// Tables in RAM, reached by the direct mapping; new ones are taken from the memory that nobody has.
pub struct Direct<'m>(pub &'m mut Memory<RANGES>);

/// An entry of a table in RAM.
pub fn entry(table: u64, index: usize) -> &'static AtomicU64 {
    let at = DIRECT + (table & !0xfff) + 8 * (index as u64 & 511);
    // SAFETY: (1) callers name tables, which are pages of RAM that the boot code or `Tables` took for that: mapped for
    // ever, and accessed here alone, by the processor apart; (2) aligned.
    unsafe { AtomicU64::from_ptr(at as *mut u64) }
}

/// As [`Pages::fill`], for a table in RAM.
pub fn fill(table: u64, first: usize, run: Run) -> Result<(), u64> {
    // SAFETY: as in `entry`, for the whole table.
    let all = unsafe { &*((DIRECT + (table & !0xfff)) as *const [AtomicU64; 512]) };
    let slots = all.get(first..).and_then(|slots| slots.get(..run.count as usize)).unwrap_or(&[]);
    // A boot writes thousands, so eight at a time, written out: half the instructions, also in an image made small.
    let (eights, rest) = slots.as_chunks::<8>();
    let (mut entry, mut number) = (run.first, 0);
    for eight in eights {
        let [a, b, c, d, e, f, g, h] = eight;
        let load = |slot: &AtomicU64| slot.load(Ordering::Relaxed);
        if !run.fresh && (load(a) | load(b) | load(c) | load(d) | load(e) | load(f) | load(g) | load(h)) != 0 {
            return fill_singly(eight, entry, run.step).map_err(|more| number + more);
        }
        let mut store = |slot: &AtomicU64| {
            slot.store(entry, Ordering::Release);
            entry = entry.wrapping_add(run.step);
        };
        store(a);
        store(b);
        store(c);
        store(d);
        store(e);
        store(f);
        store(g);
        store(h);
        number += 8;
    }
    fill_singly(rest, entry, run.step).map_err(|more| number + more)
}

fn fill_singly(slots: &[AtomicU64], mut entry: u64, step: u64) -> Result<(), u64> {
    for (number, slot) in (0..).zip(slots) {
        if slot.load(Ordering::Relaxed) != 0 {
            return Err(number);
        }
        slot.store(entry, Ordering::Release);
        entry = entry.wrapping_add(step);
    }
    Ok(())
}

/// Fills RAM that is the caller's with zeros, at its direct mapping.
pub fn zero(at: u64, bytes: u64) {
    // SAFETY: (1) callers took the memory, and have no reference to it; (2) direction is up.
    unsafe {
        asm!("rep stosq", inout("rdi") DIRECT + at => _, inout("rcx") bytes / 8 => _, in("rax") 0, options(nostack));
    }
}

/// Makes the kernel's part of a new root the same as another root's.
pub fn copy_upper_half(from: u64, to: u64) {
    const HALF: u64 = PAGE_BYTES / 2;
    // SAFETY: (1) both are tables, as in `entry`; (2) nobody has loaded the new one, and nobody changes the kernel's root
    // after the boot.
    unsafe {
        ptr::copy_nonoverlapping((DIRECT + from + HALF) as *const u8, (DIRECT + to + HALF) as *mut u8, HALF as usize);
    }
}

impl Pages for Direct<'_> {
    fn load(&self, table: u64, index: usize) -> u64 {
        entry(table, index).load(Ordering::Relaxed)
    }

    fn store(&mut self, table: u64, index: usize, value: u64) {
        entry(table, index).store(value, Ordering::Release);
    }

    fn fill(&mut self, table: u64, first: usize, run: Run) -> Result<(), u64> {
        fill(table, first, run)
    }

    fn allocate(&mut self) -> Option<u64> {
        let table = self.0.take(PAGE_BYTES, PAGE_BYTES)?;
        zero(table, PAGE_BYTES);
        Some(table)
    }

    fn free(&mut self, _: u64) {}
}

unsafe extern "C" {
    static tacet_image_begin: u8;
    static tacet_text_begin: u8;
    static tacet_text_end: u8;
    static tacet_rodata_end: u8;
    static tacet_image_end: u8;
}

/// The physical memory of the image, with its boot code.
pub fn image() -> Range {
    let base = &raw const tacet_image_begin as u64;
    Range { base, bytes: &raw const tacet_image_end as u64 - KERNEL - base }
}

impl State {
    /// Maps physical memory for the kernel. It is mapped nowhere else there.
    pub fn map(&mut self, address: u64, physical: u64, bytes: u64, rights: u64, largest: PageSize) -> Result<(), Refused> {
        let mapping = Mapping { address, physical, bytes, largest };
        let leaf = |at, size| at | rights | if size == PageSize::Kib4 { 0 } else { LARGE };
        Directory { root: self.root, pages: &mut Direct(&mut self.told.memory) }.map(mapping, leaf)
    }

    /// Makes the kernel's tables: image and RAM.
    pub fn make_tables(&mut self, largest: PageSize) -> Result<(), Refused> {
        // Tables are taken from the same memory meanwhile, and are mapped with it.
        let whole = self.told.memory.clone();
        self.root = Direct(&mut self.told.memory).allocate().ok_or(Refused::NoTable)?;
        let [text, text_end, rodata_end, end] =
            [&raw const tacet_text_begin, &raw const tacet_text_end, &raw const tacet_rodata_end, &raw const tacet_image_end]
                .map(|at| at as u64);
        for (from, to, rights) in [(text, text_end, TEXT), (text_end, rodata_end, READ_ONLY), (rodata_end, end, DATA)] {
            self.map(from, from - KERNEL, to - from, rights, PageSize::Kib4)?;
        }
        for range in whole.ranges() {
            self.map(DIRECT + range.base, range.base, range.bytes, DATA, largest)?;
        }
        Ok(())
    }

    /// Takes and maps the private region of CPU `index`, with what `Cpu::start` wants zeroed; the top of its stack.
    pub fn make_private(&mut self, index: u32) -> Result<u64, Refused> {
        let base = private(index);
        let pieces = [(0, SETTLED), (NMI_STACK, 1), (DOUBLE_FAULT_STACK, 1), (MACHINE_CHECK_STACK, 1), (MAIN_STACK, STACK_PAGES)];
        let bytes = pieces.iter().map(|piece| piece.1).sum::<u64>() * PAGE_BYTES;
        let mut at = self.told.memory.take(bytes, PAGE_BYTES).ok_or(Refused::NoTable)?;
        zero(at, size_of::<CpuLocal>().next_multiple_of(8) as u64);
        for (page, pages) in pieces {
            self.map(base + page * PAGE_BYTES, at, pages * PAGE_BYTES, DATA, PageSize::Kib4)?;
            at += pages * PAGE_BYTES;
        }
        Ok(stack_top(index))
    }

    /// Takes and maps the words of all CPUs.
    pub fn make_signals(&mut self) -> Result<(), Refused> {
        for index in 0..u64::from(self.cpus) {
            let bytes = PAGE_BYTES_OF_SIGNALS as u64;
            let at = self.told.memory.take(bytes, PAGE_BYTES).ok_or(Refused::NoTable)?;
            zero(at, SIGNALS_USED);
            self.map(SIGNALS + index * bytes, at, bytes, DATA, PageSize::Kib4)?;
        }
        // SAFETY: (1) just mapped, for ever; (2) all fields are atomics, and zero is what `Signals::new` gives.
        self.signals = unsafe { core::slice::from_raw_parts(SIGNALS as *const Signals, self.cpus as usize) };
        Ok(())
    }

    /// Maps physical memory that is no RAM of ours, and says where.
    pub fn window(&mut self, physical: u64, bytes: u64, rights: u64) -> Option<NonNull<u8>> {
        let (first, within) = (physical & !(PAGE_BYTES - 1), physical & (PAGE_BYTES - 1));
        let length = within.checked_add(bytes)?.checked_next_multiple_of(PAGE_BYTES)?;
        let at = self.window;
        if length > WINDOW_END - at {
            return None;
        }
        self.map(at, first, length, rights, PageSize::Kib4).ok()?;
        self.window += length;
        NonNull::new((at + within) as *mut u8)
    }

    /// Maps one page of registers, unless it is the one that was mapped last.
    pub fn device_page(&mut self, physical: u64) -> Option<NonNull<u8>> {
        match self.last_device {
            Some((at, page)) if at == physical => NonNull::new(page as *mut u8),
            _ => {
                let page = self.window(physical, PAGE_BYTES, DEVICE)?;
                self.last_device = Some((physical, page.as_ptr() as u64));
                Some(page)
            }
        }
    }
}

/// The private region of CPU `index`.
pub fn private(index: u32) -> u64 {
    PRIVATE + u64::from(index) * PRIVATE_STRIDE
}

/// Where its main stack begins, which grows down.
pub fn stack_top(index: u32) -> u64 {
    private(index) + (MAIN_STACK + STACK_PAGES) * PAGE_BYTES
}

const _: () = assert!((MAIN_STACK + STACK_PAGES) * PAGE_BYTES < PRIVATE_STRIDE);
