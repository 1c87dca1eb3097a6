// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the loader's entry to a machine whose host can begin, on the boot CPU.
//!
//! Two halves. The first runs on a small stack with the early tables, which map the first GiB: it reads what the loader
//! tells, and makes the kernel's own tables. The second runs with these, on the CPU's own stack: it reads ACPI's
//! tables, starts the CPU, learns its clock, and calls the image's entry. An error is one line on the serial port.

use super::super::boot::PAGE_BYTES;
use super::super::{APIC_PAGE, registers};
use super::acpi::{self, Off};
use super::directory::Refused;
use super::interrupts::IoApic;
use super::loader::Read;
use super::end::{DEBUG_EXIT, DIED, die};
use super::view::Machine;
use super::ports::silence_old_controllers;
use super::serial::COM1;
use super::state::{LINE, STATE, State};
use super::tables::{DEVICE, DIRECT, KERNEL, READ_ONLY, image};
use super::{clock, cpus, interrupts, settings};
use core::arch::global_asm;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU64, Ordering};
use tacet_logic::paging::PageSize;

global_asm!(
    include_str!("entry.S"),
    KERNEL = const KERNEL,
    EFER_REGISTER = const registers::EFER,
    DIED = const DIED,
    DEBUG_EXIT = const DEBUG_EXIT,
    options(att_syntax)
);

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

unsafe extern "C" {
    static tacet_early_pointers: [AtomicU64; 512];
    static tacet_early_spare: [AtomicU64; 512];
    fn tacet_continue(root: u64, stack: u64) -> !;
}

unsafe extern "Rust" {
    fn tacet_machine_main(machine: Machine) -> !;
}

/// From entry.S; `info` is what the loader tells, `magic` which loader it is.
#[unsafe(no_mangle)]
extern "C" fn tacet_boot(info: u64, magic: u32) -> ! {
    COM1.begin();
    silence_old_controllers();
    if let Some(missing) = settings::missing() {
        die(format_args!("{missing}"));
    }
    let (root, stack) = STATE.with(|state| {
        let early = Early { spare: Cell::new(0) };
        let told = LINE.with(|line| state.told.read(line, magic, info, &|at, bytes| early.read(at, bytes)));
        if let Err(wrong) = told {
            die(format_args!("{wrong}"));
        }
        match prepare(state) {
            Ok(stack) => (state.root, stack),
            Err(refused) => die(format_args!("too little memory to begin: {refused}")),
        }
    });
    // SAFETY: (1) the tables map this code, the new stack, and all that is used from here on; (2) the stack is unused.
    unsafe { tacet_continue(root, stack) }
}

fn prepare(state: &mut State) -> Result<u64, Refused> {
    let image = image();
    let told = &mut state.told.memory;
    if !(told.remove(image.base, image.end()) && told.remove(0, PAGE_BYTES)) {
        return Err(Refused::NoTable);
    }
    if told.ranges().first().is_none_or(|range| range.base >= GIB / 2) {
        die(format_args!("the boot loader's memory map has no memory below 512 MiB, where the kernel begins"));
    }
    state.make_tables(if settings::has_gib_pages() { PageSize::Gib1 } else { PageSize::Mib2 })?;
    state.trampoline = state.told.memory.take(PAGE_BYTES, PAGE_BYTES).filter(|&page| page < MIB);
    state.make_private(0)
}

/// With the kernel's own tables, on the boot CPU's own stack; from entry.S.
#[unsafe(no_mangle)]
extern "C" fn tacet_boot_in_place() -> ! {
    let began = STATE.with(|state| {
        read_acpi(state);
        if let Some(base) = settings::apic_base() {
            state.map(APIC_PAGE, base, PAGE_BYTES, DEVICE, PageSize::Kib4)?;
        }
        state.make_signals()?;
        for index in 1..state.cpus {
            state.make_private(index)?;
        }
        Ok(())
    });
    if let Err(refused) = began {
        let refused: Refused = refused;
        die(format_args!("too little memory for all CPUs: {refused}"));
    }
    interrupts::mask_all();
    let mut cpu = cpus::begin(0);
    cpu.tsc_khz = clock::tsc_khz(&cpu);
    STATE.with(|state| state.tsc_khz = cpu.tsc_khz);
    // SAFETY: the image defines it by `machine_entry!`, with this signature.
    unsafe { tacet_machine_main(Machine::new(cpu)) }
}

/// Which CPUs there are, and how to turn the machine off and begin anew. Without ACPI's tables: this CPU, and nobody knows.
fn read_acpi(state: &mut State) {
    let own = settings::identity();
    state.identities[0] = own;
    let Some(root) = state.told.acpi else { return };
    let (cpus, off, reset) = {
        let cell = RefCell::new(&mut *state);
        let read: Read<'_> = &|at, bytes| {
            let window = cell.borrow_mut().window(at, bytes as u64, READ_ONLY)?;
            // SAFETY: just mapped, for ever; nobody writes what firmware left.
            Some(unsafe { core::slice::from_raw_parts(window.as_ptr(), bytes) })
        };
        let fadt = acpi::find(root, b"FACP", read);
        let off: Option<Off> = fadt.and_then(|fadt| acpi::off(fadt, read));
        (acpi::find(root, b"APIC", read), off, fadt.and_then(acpi::reset))
    };
    (state.off, state.reset) = (off, reset);
    if let Some(madt) = cpus {
        let mut slots = state.io_apics.iter_mut();
        acpi::io_apics(madt, |registers, first_line| {
            if let Some(slot) = slots.next() {
                *slot = Some(IoApic { registers, first_line });
            }
        });
        acpi::cpus(madt, |identity| {
            if identity != own
                && let Some(slot) = state.identities.get_mut(state.cpus as usize)
            {
                *slot = identity;
                state.cpus += 1;
            }
        });
    }
    if state.trampoline.is_none() {
        state.cpus = 1; // nowhere for another CPU to begin
    }
}

/// Physical memory by the early tables: the first GiB, and one more that is mapped when it is asked for.
struct Early {
    /// Its number; 0: none yet.
    spare: Cell<u64>,
}

impl Early {
    fn read(&self, at: u64, bytes: usize) -> Option<&'static [u8]> {
        let end = at.checked_add(bytes as u64)?;
        let gib = end.saturating_sub(1) / GIB;
        if gib != 0 && (at / GIB != gib || !self.reach(gib)) {
            return None;
        }
        // SAFETY: (1) mapped by the early tables; (2) a loader left it there, and nobody writes it while the boot code
        // reads; what is no memory reads as ones.
        Some(unsafe { core::slice::from_raw_parts((DIRECT + at) as *const u8, bytes) })
    }

    fn reach(&self, gib: u64) -> bool {
        if self.spare.get() == gib {
            return true;
        }
        if self.spare.get() != 0 || gib >= 510 {
            return false;
        }
        self.spare.set(gib);
        // SAFETY: tables of the early root, which nobody else changes; the entry was empty, so nothing is cached.
        let (pointers, spare) = unsafe { (&tacet_early_pointers, &tacet_early_spare) };
        for (part, entry) in (0..).zip(spare) {
            entry.store((gib * GIB + part * (2 * MIB)) | 0x83, Ordering::Relaxed);
        }
        if let Some(entry) = pointers.get(gib as usize) {
            entry.store((spare.as_ptr() as u64 - KERNEL) | 3, Ordering::Release);
        }
        true
    }
}
