// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine as its host sees it.
//!
//! The boot code makes the one [`Machine`] and gives it to the image's entry. The image is alone then: no other CPU
//! runs before [`Machine::start`].

use super::contexts::Contexts;
use super::cpus;
use super::memory::Range;
use super::ram::Ram;
use super::settings;
use super::space::Tables;
use super::state::{STATE, line};
use super::tables::DIRECT;
use crate::native::Cpu;

const PAGE_BYTES: u64 = 4096;

/// The machine, before its CPUs run programs.
pub struct Machine {
    first: Cpu,
    /// Nobody has opened it yet (`network.rs`, `console.rs`).
    pub(super) has_network: bool,
    pub(super) has_console: bool,
}

impl Machine {
    pub(super) fn new(first: Cpu) -> Self {
        Self { first, has_network: true, has_console: true }
    }

    /// The command line that the boot loader gave, without a terminating zero.
    pub fn command_line(&self) -> &'static [u8] {
        line().text()
    }

    /// Its words.
    pub fn words(&self) -> impl Iterator<Item = &'static [u8]> + Clone + use<> {
        line().words()
    }

    /// The value of `name=value` on the command line. Of several the last counts.
    pub fn option(&self, name: &str) -> Option<&'static [u8]> {
        self.words().filter_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"=")).last()
    }

    /// How many CPUs [`Machine::start`] starts. They have the numbers from 0 on.
    pub fn cpus(&self) -> u32 {
        STATE.with(|state| state.cpus)
    }

    /// Ticks of [`Processor::cycles`](crate::Processor::cycles) in a millisecond.
    pub fn tsc_khz(&self) -> u64 {
        self.first.tsc_khz
    }

    /// Bytes that nobody can guess, if the processor makes some (RDSEED or RDRAND); other bytes with each call. `None`:
    /// it makes none.
    pub fn entropy(&self) -> Option<[u8; 32]> {
        let mut bytes = [0; 32];
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&settings::random()?.to_le_bytes());
        }
        Some(bytes)
    }

    /// The RAM that is left, in bytes.
    pub fn free_bytes(&self) -> u64 {
        STATE.with(|state| state.told.memory.bytes())
    }

    /// Takes RAM for good: pages that nobody else uses, at the direct mapping.
    pub(super) fn take(&mut self, bytes: u64, align: u64) -> Option<u64> {
        STATE.with(|state| state.told.memory.take(bytes, align))
    }

    /// Takes memory for `count` values for good, and makes them, small ones: each is made on the stack. `None`: so much
    /// is not left in one piece. It is taken in whole pages.
    pub fn keep<T>(&mut self, count: usize, mut make: impl FnMut(usize) -> T) -> Option<&'static mut [T]> {
        let bytes = count.checked_mul(size_of::<T>())? as u64;
        let at = (DIRECT + self.take(bytes.max(1), align_of::<T>() as u64)?) as *mut T;
        for index in 0..count {
            // SAFETY: within what was just taken: mapped for ever, aligned, and nobody else's.
            unsafe { at.add(index).write(make(index)) };
        }
        // SAFETY: as above; all values were made.
        Some(unsafe { core::slice::from_raw_parts_mut(at, count) })
    }

    /// Takes memory for a buffer for good. It holds whatever was there. `None`: as for [`Machine::keep`].
    pub fn keep_bytes(&mut self, bytes: usize) -> Option<&'static mut [u8]> {
        let rounded = (bytes as u64).max(1).checked_next_multiple_of(PAGE_BYTES)?;
        let at = self.take(rounded, PAGE_BYTES)?;
        // SAFETY: just taken: mapped for ever, and nobody else's.
        Some(unsafe { core::slice::from_raw_parts_mut((DIRECT + at) as *mut u8, bytes) })
    }

    /// Takes memory for the user state of `count` threads, 16 KiB each.
    pub fn contexts(&mut self, count: u32) -> Option<Contexts> {
        Contexts::make(self, count)
    }

    /// Takes `pages` pages of 4 KiB for the page tables of programs.
    pub fn tables(&mut self, pages: u32) -> Option<Tables> {
        Tables::make(self, pages)
    }

    /// Hands out all RAM that is left: what the machine calls usable and nothing here uses. From here on there is none
    /// to take.
    pub fn ram(&mut self) -> Ram {
        let ranges = STATE.with(|state| core::mem::take(&mut state.told.memory));
        let count = ranges.ranges().len();
        // The list itself needs room: the lowest page of what is left.
        let Some(room) = ranges.ranges().first().copied() else { return Ram::new(&[]) };
        let at = (DIRECT + room.base) as *mut Range;
        for (index, &range) in ranges.ranges().iter().enumerate() {
            let range = if index == 0 { Range { base: room.base + PAGE_BYTES, bytes: room.bytes - PAGE_BYTES } } else { range };
            // SAFETY: the page is nobody's, and has room for all ranges (`RANGES`).
            unsafe { at.add(index).write(range) };
        }
        let list = {
            // SAFETY: as above; all were written, and nobody writes them again.
            unsafe { core::slice::from_raw_parts(at, count) }
        };
        Ram::new(if list.first().is_some_and(|range| range.bytes == 0) { list.get(1..).unwrap_or(&[]) } else { list })
    }

    /// Starts all CPUs. Each calls `main` once, on a stack of its own of 48 KiB, with interrupts off and no address
    /// space loaded. This CPU is number 0.
    pub fn start<T: Sync>(self, shared: &'static T, main: fn(Cpu, &'static T) -> !) -> ! {
        fn call<T: Sync + 'static>(main: *mut (), shared: *mut (), cpu: Cpu) -> ! {
            // SAFETY: both are what `start::<T>` made them from, a few lines below.
            let (main, shared) = unsafe {
                (core::mem::transmute::<*mut (), fn(Cpu, &'static T) -> !>(main), &*shared.cast_const().cast::<T>())
            };
            main(cpu, shared)
        }
        let shared = core::ptr::from_ref(shared).cast_mut().cast();
        cpus::start(self.first, &cpus::Entry { call: call::<T>, main: main as *mut (), shared })
    }
}

const _: () = assert!(super::loader::RANGES * size_of::<Range>() <= PAGE_BYTES as usize);
