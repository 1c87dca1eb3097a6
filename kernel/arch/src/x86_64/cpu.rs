// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU's private memory, and the handle through which the CPU uses itself.
//!
//! `CpuLocal` lies at the start of the CPU's private region, whose pages are mapped before start and written by this
//! CPU alone. `entry.S` finds it through GS, the NMI stack or the GDT register.

use super::checked::Survived;
use super::descriptor::Tables;
use super::halt::Alarm;
use super::user::{Features, User};
use super::{Fatal, apic, clear, entry, registers};
use crate::signals::{Signals, flush_others};
use crate::{Mode, Processor, Turn};
use core::cell::Cell;
use core::ops::ControlFlow;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use tacet_logic::handshake::doorbell;

/// Words begin below. No program has anything in the last page of the lower half, with four levels of page tables as with five.
const USER_END: u64 = 0x7fff_ffff_effd;

/// What `entry.S` needs, at fixed offsets, then the descriptor tables.
#[repr(C)]
pub struct CpuLocal {
    /// Stack pointer of the code that entered user mode.
    pub kernel_stack: u64,
    /// End of the running thread's saved registers; equals TSS.RSP0.
    pub registers_end: u64,
    /// For the system-call entry: the user's stack pointer.
    pub scratch: u64,
    /// The address of this CPU's [`Signals`].
    pub signals: u64,
    /// For the NMI entry: where its frame is.
    pub nmi_frame: u64,
    pub tables: Tables,
    /// What to do about an exception in the co-kernel.
    pub fatal: Fatal,
    /// What to do about memory that a machine check calls bad.
    pub survived: Survived,
}

/// The running CPU. There is one value per CPU, made by [`Cpu::start`].
pub struct Cpu {
    pub(super) local: NonNull<CpuLocal>,
    pub(super) own: &'static Signals,
    pub(super) all: &'static [Signals],
    pub(super) index: u32,
    pub(super) processor: Features,
    pub(super) tsc_khz: u64,
    pub(super) alarm: Alarm,
    /// What is cleared between two users.
    pub(super) measures: u32,
    /// The requests that a device's interrupt makes of this CPU; 0: it does not listen to one.
    pub(super) link_requests: Cell<u32>,
    /// What IA32_SPEC_CTRL holds, if the processor has it.
    pub(super) spec_ctrl: Option<Cell<u64>>,
}

impl Cpu {
    /// Reads or writes the program's memory by `access`, unless the address cannot be the program's, or is 0. A wrong
    /// guess at that question reaches no other address either: the co-kernel's memory is everybody's.
    #[inline]
    fn accessing_user<T>(&self, address: u64, access: impl FnOnce(u64) -> Option<T>) -> Option<T> {
        let address = registers::below_or_zero(address, USER_END);
        if address == 0 {
            return None;
        }
        if !self.processor.has(Features::SMAP) {
            return access(address);
        }
        registers::allow_user_access();
        let answer = access(address);
        registers::forbid_user_access();
        answer
    }

    /// How far the processor may speculate from here on, as the host wants it for the thread.
    #[inline]
    fn load_spec_ctrl(&self, wanted: u64) {
        if let Some(current) = &self.spec_ctrl
            && current.get() != wanted
        {
            // SAFETY: the register exists, and the host has this value there for the thread.
            unsafe { registers::write_msr(registers::SPEC_CTRL, wanted) };
            current.set(wanted);
        }
    }

    /// The address space without a program: the host changes it while no thread is here.
    #[inline]
    fn idle_root(&self) -> u64 {
        self.own.idle_root.load(Ordering::Relaxed)
    }

    /// An interrupt has come: the link's is a request to look.
    #[inline]
    pub(super) fn look_at_link(&self, vector: u64) {
        if vector == u64::from(apic::LINK_VECTOR) && self.link_requests.get() != 0 {
            doorbell::request(&self.own.attention, self.link_requests.get());
        }
    }

    /// Makes the processor and the entry code save the registers of `user` from here on.
    #[inline]
    fn select(&self, user: &User<'_>) {
        let end = user.registers_end();
        // SAFETY: (1) `local` is this CPU's own and mapped for ever; (2) no
        // reference to it is held; (3) user mode is not running, so neither the
        // processor nor entry.S reads it meanwhile.
        unsafe {
            (*self.local.as_ptr()).registers_end = end;
            (*self.local.as_ptr()).tables.set_entry_stack(end);
        }
    }
}

impl Processor for Cpu {
    type User<'a> = User<'a>;

    #[inline]
    fn index(&self) -> u32 {
        self.index
    }

    #[inline]
    fn cycles(&self) -> u64 {
        registers::time_stamp()
    }

    #[inline]
    fn ticks(&self, ns: u64) -> u64 {
        ns * self.tsc_khz / 1_000_000
    }

    #[inline]
    fn cycles_per_ms(&self) -> u64 {
        self.tsc_khz
    }

    #[inline]
    fn run<'a, T>(&self, user: &User<'a>, mut ended: impl FnMut(&User<'a>) -> ControlFlow<T>) -> Option<T> {
        self.select(user);
        let mut after_call = false;
        loop {
            if entry::enter_user(self.local, after_call) {
                return None;
            }
            if let ControlFlow::Break(end) = ended(user) {
                return Some(end);
            }
            after_call = true;
        }
    }

    fn load_state(&self, user: &User<'_>) -> Result<(), u8> {
        self.load_spec_ctrl(user.spec_ctrl());
        user.load(self.processor, self.local)
    }

    fn resume_state(&self, user: &User<'_>) {
        self.load_spec_ctrl(user.spec_ctrl());
    }

    fn store_state(&self, user: &User<'_>) {
        user.store(self.processor);
    }

    #[inline]
    fn user_load(&self, address: u64) -> Option<u32> {
        self.accessing_user(address, entry::user_load)
    }

    #[inline]
    fn user_store(&self, address: u64, value: u32) -> Option<()> {
        self.accessing_user(address, |address| entry::user_store(address, value))
    }

    fn user_exchange(&self, address: u64, from: u32, to: u32) -> Option<u32> {
        self.accessing_user(address, |address| entry::user_exchange(address, from, to))
    }

    #[inline]
    fn load_space(&self, root: u64) {
        if root != self.own.own_root() {
            // The old root may be freed as soon as it is not announced any more.
            registers::load_root(self.idle_root());
            // Announced before it is loaded: a CPU that changes the tables in between
            // either sees the announcement, or the load sees its change.
            self.own.set_active_root(root);
            registers::load_root(root);
        }
    }

    fn leave_space(&self) {
        registers::load_root(self.idle_root());
        self.own.set_active_root(0);
    }

    fn flush(&self, root: u64) {
        match self.own.own_root() {
            0 => {} // the idle root maps no program
            active if root == 0 || active == root => registers::load_root(active),
            _ => {}
        }
        flush_others(self.all, self.index, root, apic::ring);
    }

    fn part_users(&self) {
        clear::between_users(self.local, self.own, self.measures);
    }

    #[inline]
    fn take_attention(&self) -> u32 {
        doorbell::take(&self.own.attention)
    }

    #[inline]
    fn is_wanted(&self) -> bool {
        doorbell::is_wanted(&self.own.attention)
    }

    fn call(&self, index: u32, requests: u32) {
        if index == self.index {
            doorbell::request(&self.own.attention, requests);
        } else if let Some(cpu) = self.all.get(index as usize) {
            cpu.call(requests, apic::ring);
        }
    }

    fn call_for_woken(&self, index: u32, requests: u32) {
        if index == self.index {
            doorbell::request(&self.own.attention, requests);
        } else if let Some(cpu) = self.all.get(index as usize) {
            cpu.call_for_woken(requests, apic::ring);
        }
    }

    #[inline]
    fn set_mode(&self, mode: Mode) {
        self.own.set_mode(mode);
    }

    fn halt(&self, ticks: Option<u64>) {
        match ticks {
            None => entry::idle(self.local),
            Some(ticks) => self.doze(ticks),
        }
    }

    fn begin_turn(&self, ticks: u64) {
        self.take_turn(ticks);
    }

    #[inline]
    fn end_turn(&self) {
        self.leave_turn();
    }

    #[inline]
    fn turn(&self) -> Turn {
        self.turn_of_thread()
    }

    fn foreign_interrupt(&self, vector: u8) {
        if self.turn_of_thread() != Turn::Endless && self.alarm_in_user_mode(vector) {
            return;
        }
        self.own.count_foreign(vector);
        apic::end_of_interrupt();
        self.look_at_link(vector.into());
    }
}
