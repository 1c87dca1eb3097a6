// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The user states of all threads of the machine.
//!
//! A context is one CPU's at a time: that CPU takes it, uses it, and gives it up. The host keeps the numbers; they are
//! those by which `tacet_core` names threads.

use super::super::CALL_VECTOR;
use super::super::{Cpu, SavedUser, User, UserRegisters};
use super::directory::USER_END;
use super::view::Machine;
use super::settings;
use super::tables::DIRECT;
use crate::Mode;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

const USER_CODE: u64 = 0x33;
const USER_DATA: u64 = 0x2b;
/// Flags that a program may set: carry to overflow, trap, direction, nested task not, alignment check, identification.
const USER_FLAGS: u64 = 0x24_0dd5;
/// Interrupts are on in user mode (none comes but the doorbell), and bit 1 is always set.
const FIXED_FLAGS: u64 = 0x202;

/// All contexts.
#[derive(Clone, Copy)]
pub struct Contexts {
    base: NonNull<SavedUser>,
    /// Which CPU has each: its number + 1, or 0.
    owners: &'static [AtomicU32],
    features: u64,
    extended: u32,
}

// SAFETY: a context is reached only by the CPU that its owner word names (`get`).
unsafe impl Send for Contexts {}
// SAFETY: the same.
unsafe impl Sync for Contexts {}

impl Contexts {
    pub(super) fn make(machine: &mut Machine, count: u32) -> Option<Self> {
        let at = machine.take(u64::from(count) * size_of::<SavedUser>() as u64, 4096)?;
        let base = NonNull::new((DIRECT + at) as *mut SavedUser)?;
        let owners = machine.keep(count as usize, |_| AtomicU32::new(0))?;
        Some(Self { base, owners, features: settings::features(), extended: settings::extended_bytes() })
    }

    /// How many there are; numbers are below.
    pub fn count(&self) -> u32 {
        self.owners.len() as u32
    }

    /// Makes context `number` this CPU's. False: it is some CPU's, or there is no such context.
    pub fn take(&self, number: u32, cpu: &Cpu) -> bool {
        let take = |owner: &AtomicU32| owner.compare_exchange(0, cpu.index + 1, Ordering::Acquire, Ordering::Relaxed);
        self.owners.get(number as usize).is_some_and(|owner| take(owner).is_ok())
    }

    /// Gives context `number` up, for any CPU to take. False: it is not this CPU's. Its state is in memory by then
    /// (`Processor::store_state`), and no [`User`] of it is used afterwards.
    pub fn release(&self, number: u32, cpu: &Cpu) -> bool {
        let give = |owner: &AtomicU32| owner.compare_exchange(cpu.index + 1, 0, Ordering::Release, Ordering::Relaxed);
        self.owners.get(number as usize).is_some_and(|owner| give(owner).is_ok())
    }

    /// A context of this CPU. `None`: it is not this CPU's.
    #[inline]
    pub fn get<'a>(&'a self, number: u32, cpu: &'a Cpu) -> Option<Context<'a>> {
        let owner = self.owners.get(number as usize)?;
        if owner.load(Ordering::Relaxed) != cpu.index + 1 {
            return None;
        }
        // SAFETY: below the count of contexts.
        Some(Context { at: unsafe { self.base.add(number as usize) }, all: self, cpu })
    }
}

/// A context that this CPU has.
pub struct Context<'a> {
    at: NonNull<SavedUser>,
    all: &'a Contexts,
    cpu: &'a Cpu,
}

macro_rules! field {
    ($self:ident . $($field:tt)+) => { &raw mut (*$self.at.as_ptr()).$($field)+ };
}

impl<'a> Context<'a> {
    /// For [`Processor::run`](crate::Processor::run) and its like.
    #[inline]
    pub fn user(&self) -> User<'a> {
        // SAFETY: (1) mapped for ever, and this CPU's (`Contexts::get`); (2) the extended state was made by `reset` or
        // saved by the processor, or is checked by XRSTOR, whose refusal is answered.
        unsafe { User::new(self.at) }
    }
}

impl Context<'_> {
    /// Makes it the state of a program that begins: all registers zero, extended state as after a reset.
    pub fn reset(&self) {
        // SAFETY: mapped, and this CPU's; what is not written here are gaps, which nobody reads. All of the extended state
        // is zeroed: signal frames show programs every byte of it, also those that the processor never writes.
        unsafe {
            field!(self.registers).write(UserRegisters::default());
            field!(self.fs_base).write(0);
            field!(self.gs_base).write(0);
            field!(self.xstate_save_mask).write(self.all.features);
            field!(self.xstate_restore_mask).write(self.all.features);
            for segment in [field!(self.ds), field!(self.es), field!(self.fs), field!(self.gs)] {
                segment.write(0);
            }
            field!(self.xfd).write(0);
            field!(self.pkru).write(0);
            field!(self.spec_ctrl).write(0);
            let area = field!(self.xstate).cast::<u8>();
            area.write_bytes(0, self.all.extended as usize);
            area.cast::<u16>().write(0x37f); // FCW
            area.add(24).cast::<u32>().write(0x1f80); // MXCSR
        }
        self.set_registers(&UserRegisters::default());
    }

    /// Makes it a copy of another context of this CPU: what a new thread begins with.
    pub fn copy_from(&self, other: &Context<'_>) {
        if self.at == other.at {
            return;
        }
        let bytes = core::mem::offset_of!(SavedUser, xstate) + self.all.extended as usize;
        // SAFETY: both are mapped, and this CPU's; different contexts do not overlap.
        unsafe { self.at.as_ptr().cast::<u8>().copy_from_nonoverlapping(other.at.as_ptr().cast(), bytes) };
    }

    /// The registers as user mode left them.
    pub fn registers(&self) -> UserRegisters {
        // SAFETY: mapped, and this CPU's.
        unsafe { field!(self.registers).read() }
    }

    /// Sets the registers: segments, and those flags that are not a program's, are made what a program has. False: the
    /// CPU is in the middle of user mode (it answers a call in `Processor::run`), and nothing is changed.
    pub fn set_registers(&self, registers: &UserRegisters) -> bool {
        if self.cpu.own.mode.load(Ordering::Relaxed) == Mode::User as u32 {
            return false; // it would continue by SYSRET, which does not check its registers
        }
        let rflags = registers.rflags & USER_FLAGS | FIXED_FLAGS;
        let registers = UserRegisters { cs: USER_CODE, ss: USER_DATA, rflags, vector: CALL_VECTOR, ..*registers };
        // SAFETY: mapped, and this CPU's; user mode begins by IRETQ, whose refusal of the rest is answered.
        unsafe { field!(self.registers).write(registers) };
        true
    }

    pub fn fs_base(&self) -> u64 {
        // SAFETY: mapped, and this CPU's.
        unsafe { field!(self.fs_base).read() }
    }

    /// False: not an address of programs; nothing is changed.
    pub fn set_fs_base(&self, base: u64) -> bool {
        if base >= USER_END {
            return false;
        }
        // SAFETY: mapped, and this CPU's; canonical.
        unsafe { field!(self.fs_base).write(base) };
        true
    }

    pub fn gs_base(&self) -> u64 {
        // SAFETY: mapped, and this CPU's.
        unsafe { field!(self.gs_base).read() }
    }

    /// False: not an address of programs; nothing is changed.
    pub fn set_gs_base(&self, base: u64) -> bool {
        if base >= USER_END {
            return false;
        }
        // SAFETY: mapped, and this CPU's; canonical.
        unsafe { field!(self.gs_base).write(base) };
        true
    }

    /// Bytes of the extended state, in the standard format of XSAVE (as signal frames have it). The same for all.
    pub fn extended_bytes(&self) -> usize {
        self.all.extended as usize
    }

    /// The features (bits of XCR0) that the extended state has: what a signal frame says as `xfeatures`.
    pub fn extended_features(&self) -> u64 {
        self.all.features
    }

    /// Copies the extended state out: `to` has [`Context::extended_bytes`]. False: it has not.
    pub fn read_extended(&self, to: &mut [u8]) -> bool {
        if to.len() != self.extended_bytes() {
            return false;
        }
        // SAFETY: mapped, and this CPU's; the room is larger.
        unsafe { field!(self.xstate).cast::<u8>().copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        true
    }

    /// Copies it in. If the processor refuses it, `Processor::load_state` says so. False: `from` has another length.
    pub fn write_extended(&self, from: &[u8]) -> bool {
        if from.len() != self.extended_bytes() {
            return false;
        }
        // SAFETY: as in `read_extended`.
        unsafe { field!(self.xstate).cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        true
    }
}
