// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The user states of all threads of the machine.
//!
//! A context is one CPU's at a time: that CPU takes it, uses it, and gives it up. The host keeps the numbers; a number
//! here is what [`tacet_arch`](crate)'s callers call a thread's number.

use super::super::Cpu;
use crate::native::{SavedUser, User, UserRegisters};
use core::marker::PhantomData;
use core::ptr::NonNull;

/// All contexts.
#[derive(Clone, Copy)]
pub struct Contexts {
    count: u32,
}

impl Contexts {
    /// How many there are; numbers are below.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Makes context `number` this CPU's. False: it is some CPU's, or there is no such context.
    pub fn take(&self, number: u32, cpu: &Cpu) -> bool {
        let _ = (number, cpu);
        false
    }

    /// Gives it up, for any CPU to take. False: it is not this CPU's. Its state is in memory by then
    /// (`Processor::store_state`), and no [`User`] of it is used afterwards.
    pub fn release(&self, number: u32, cpu: &Cpu) -> bool {
        let _ = (number, cpu);
        false
    }

    /// A context of this CPU. `None`: it is not this CPU's.
    pub fn get<'a>(&'a self, number: u32, cpu: &'a Cpu) -> Option<Context<'a>> {
        let _ = (number, cpu);
        None
    }
}

/// A context that this CPU has.
pub struct Context<'a> {
    at: NonNull<SavedUser>,
    cpu: PhantomData<&'a Cpu>,
}

impl<'a> Context<'a> {
    /// For [`Processor::run`](crate::Processor::run) and its like.
    pub fn user(&self) -> User<'a> {
        // SAFETY: (1) mapped for ever, and this CPU's (`Contexts::get`); (2) the extended state was made by `reset` or saved by
        // the processor, or is checked by XRSTOR, whose refusal is answered.
        unsafe { User::new(self.at) }
    }
}

impl Context<'_> {
    /// Makes it the state of a program that begins: all registers zero, extended state as after a reset.
    pub fn reset(&self) {}

    /// Makes it a copy of another context of this CPU: what a new thread begins with.
    pub fn copy_from(&self, other: &Context<'_>) {
        let _ = other;
    }

    /// The registers as user mode left them.
    pub fn registers(&self) -> UserRegisters {
        // SAFETY: mapped, and this CPU's.
        unsafe { (&raw const (*self.at.as_ptr()).registers).read() }
    }

    /// Sets the registers: segments, and those flags that are not a program's, stay what a program has. False: the CPU
    /// is in the middle of user mode (it answers a call in `Processor::run`), nothing is changed.
    pub fn set_registers(&self, registers: &UserRegisters) -> bool {
        let _ = registers;
        false
    }

    pub fn fs_base(&self) -> u64 {
        0
    }

    /// False: not an address of programs; nothing is changed.
    pub fn set_fs_base(&self, base: u64) -> bool {
        let _ = base;
        false
    }

    pub fn gs_base(&self) -> u64 {
        0
    }

    /// False: not an address of programs; nothing is changed.
    pub fn set_gs_base(&self, base: u64) -> bool {
        let _ = base;
        false
    }

    /// Bytes of the extended state, in the standard format of XSAVE (as signal frames have it). The same for all.
    pub fn extended_bytes(&self) -> usize {
        0
    }

    /// The features (bits of XCR0) that the extended state has: what a signal frame says as `xfeatures`.
    pub fn extended_features(&self) -> u64 {
        0
    }

    /// Copies the extended state out: `to` has [`Context::extended_bytes`]. False: it has not.
    pub fn read_extended(&self, to: &mut [u8]) -> bool {
        let _ = to;
        false
    }

    /// Copies it in. If the processor refuses it, `Processor::load_state` says so. False: `from` has another length.
    pub fn write_extended(&self, from: &[u8]) -> bool {
        let _ = from;
        false
    }
}
