// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A hosted thread on this core (`context.h`).
//!
//! A [`Context`] exists only while the core owns it, that is between Linux's
//! release of `TACET_CONTEXT_POSTED` and ours of `TACET_CONTEXT_RETURNED`.

use crate::registers::{self, FS_BASE, GS_BASE, KERNEL_GS_BASE, read_msr, time_stamp, write_msr};
use core::arch::asm;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_abi::{
    TACET_CONTEXT_POSTED, TACET_CONTEXT_RETURNED, TACET_RECALL_ALWAYS, TACET_RECALL_NOT, tacet_context, tacet_registers,
};

/// Why user mode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// A system call; the instruction is done, `rax` is its number.
    Syscall,
    /// A page fault, with the address.
    PageFault(u64),
    /// Another exception.
    Exception(u8),
    /// An interrupt that has no business on this core.
    Interrupt(u8),
    /// The doorbell.
    Attention,
    /// It waits in a local call.
    Blocked,
    /// It has its result, and lets others go first.
    Yielded,
}

/// All contexts of the partition.
#[derive(Clone, Copy)]
pub struct ContextTable {
    base: *mut tacet_context,
    count: u32,
}

impl ContextTable {
    pub fn new(boot: &tacet_abi::tacet_cpu_boot) -> Self {
        Self { base: boot.contexts_base as *mut tacet_context, count: boot.context_count }
    }

    pub fn get(&self, number: u32) -> Option<Context<'_>> {
        if number >= self.count {
            return None;
        }
        // SAFETY: `number` is below the count of contexts that Linux mapped.
        let context =
            Context { at: unsafe { NonNull::new_unchecked(self.base.add(number as usize)) }, table: PhantomData };
        // Pairs with Linux's release: the registers are written.
        (context.state().load(Ordering::Acquire) == TACET_CONTEXT_POSTED).then_some(context)
    }
}

/// A context that this core owns.
pub struct Context<'a> {
    pub(crate) at: NonNull<tacet_context>,
    table: PhantomData<&'a ContextTable>,
}

impl Context<'_> {
    /// Linux wants the thread back, whatever it does.
    pub fn recalled(&self) -> bool {
        self.recall() == TACET_RECALL_ALWAYS
    }

    /// Linux wants the thread back, or at least its turn to end.
    pub fn turn_is_over(&self) -> bool {
        self.recall() != TACET_RECALL_NOT
    }

    fn recall(&self) -> u32 {
        // SAFETY: mapped and aligned; the only field Linux writes meanwhile.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).recall) }.load(Ordering::Acquire)
    }

    /// Counts a forwarded call, a page fault or another exception.
    pub fn count(&self, exit: Exit) {
        let at = self.at.as_ptr();
        // SAFETY: mapped; ours; Linux only reads the counters.
        unsafe {
            let counter = match exit {
                Exit::Syscall => &raw mut (*at).syscalls,
                Exit::PageFault(_) => &raw mut (*at).faults,
                Exit::Exception(_) => &raw mut (*at).exceptions,
                Exit::Interrupt(_) | Exit::Attention | Exit::Blocked | Exit::Yielded => return,
            };
            counter.write_volatile(counter.read_volatile().wrapping_add(1));
        }
    }

    /// It waits in a local call, or does not any more.
    pub(crate) fn set_blocked(&self, blocked: bool) {
        // SAFETY: mapped and aligned; ours; Linux only reads it.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).blocked) }.store(blocked.into(), Ordering::Release);
    }

    /// It waits no more, but will go on here: nobody needs to look for another place.
    pub fn goes_on_here(&self) {
        // SAFETY: as in `set_blocked`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).blocked) }.store(2, Ordering::Relaxed);
    }

    /// Whether that was said.
    pub fn is_to_go_on_here(&self) -> bool {
        // SAFETY: as in `set_blocked`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).blocked) }.load(Ordering::Relaxed) == 2
    }

    /// Whether it waits in a local call.
    pub fn blocked(&self) -> bool {
        // SAFETY: as in `set_blocked`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).blocked) }.load(Ordering::Relaxed) != 0
    }

    /// Leaves the fault's address for Linux.
    pub fn set_fault_address(&self, address: u64) {
        // SAFETY: mapped; ours.
        unsafe { (*self.at.as_ptr()).fault_address = address };
    }

    pub(crate) fn registers_end(&self) -> u64 {
        self.at.as_ptr() as u64 + size_of::<tacet_registers>() as u64
    }

    pub(crate) fn release(&self, event: u32) {
        // SAFETY: mapped; ours until the store of the state.
        unsafe { (*self.at.as_ptr()).event = event };
        self.state().store(TACET_CONTEXT_RETURNED, Ordering::Release);
    }

    pub(crate) fn entered(&self) {
        let now = time_stamp();
        if self.profiled() {
            self.end_spending(now);
        }
        self.entered_tsc().store(now, Ordering::Relaxed);
    }

    pub(crate) fn left(&self, exit: Exit) {
        let doorbell = exit == Exit::Attention;
        if self.profiled() {
            self.begin_spending(exit, time_stamp());
        }
        let since = self.entered_tsc().load(Ordering::Relaxed);
        let at = self.at.as_ptr();
        // SAFETY: mapped; ours; Linux only reads them. Linux may sum the two
        // while we are between the stores, hence the order: never too much.
        unsafe {
            if doorbell {
                let rung = &raw mut (*at).doorbells;
                rung.write_volatile(rung.read_volatile().wrapping_add(1));
            }
            self.entered_tsc().store(0, Ordering::Release);
            let total = AtomicU64::from_ptr(&raw mut (*at).user_tsc);
            total
                .store(total.load(Ordering::Relaxed).wrapping_add(time_stamp().wrapping_sub(since)), Ordering::Release);
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        // SAFETY: mapped; the entry code just wrote it.
        match unsafe { (*self.at.as_ptr()).registers.vector } {
            14 => Exit::PageFault(registers::fault_address()),
            vector @ 0..32 => Exit::Exception(vector as u8),
            vector @ 32..256 => Exit::Interrupt(vector as u8),
            _ => Exit::Syscall,
        }
    }

    pub(crate) fn load_state(&self, has_xsaves: bool, has_pku: bool, has_xfd: bool) {
        let at = self.at.as_ptr();
        // SAFETY: (1) mapped and ours; (2) the selectors are null or of segments
        // that our GDT has (Linux checked, or the program loaded them here), the
        // bases are written after them, and our own GS base is put back before
        // anything uses it; (3) Linux checked that the bases are user addresses; (4) the xstate area is 64-byte aligned, in the format
        // and size that Linux itself restores from; (5) kernel code here uses
        // no vector register.
        unsafe {
            let ours = read_msr(GS_BASE);
            asm!(
                "mov ds, {0:e}", "mov es, {1:e}", "mov fs, {2:e}", "mov gs, {3:e}",
                in(reg) u32::from((*at).ds), in(reg) u32::from((*at).es),
                in(reg) u32::from((*at).fs), in(reg) u32::from((*at).gs),
                options(nostack)
            );
            write_msr(GS_BASE, ours);
            write_msr(FS_BASE, (*at).fs_base);
            write_msr(KERNEL_GS_BASE, (*at).gs_base);
            if has_xfd {
                write_msr(registers::XFD, (*at).xfd);
            }
            if has_pku {
                asm!("wrpkru", in("eax") (*at).pkru, in("ecx") 0, in("edx") 0, options(nostack));
            }
            let (low, high) = halves((*at).xstate_restore_mask);
            let area = &raw mut (*at).xstate;
            if has_xsaves {
                asm!("xrstors64 [{}]", in(reg) area, in("eax") low, in("edx") high, options(nostack));
            } else {
                asm!("xrstor64 [{}]", in(reg) area, in("eax") low, in("edx") high, options(nostack));
            }
        }
    }

    pub(crate) fn store_state(&self, has_xsaves: bool, has_pku: bool) {
        let at = self.at.as_ptr();
        // SAFETY: as in `load_state`.
        unsafe {
            let (ds, es, fs, gs): (u32, u32, u32, u32);
            asm!("mov {0:e}, ds", "mov {1:e}, es", "mov {2:e}, fs", "mov {3:e}, gs",
                out(reg) ds, out(reg) es, out(reg) fs, out(reg) gs, options(nostack, nomem));
            ((*at).ds, (*at).es, (*at).fs, (*at).gs) = (ds as u16, es as u16, fs as u16, gs as u16);
            (*at).fs_base = read_msr(FS_BASE);
            (*at).gs_base = read_msr(KERNEL_GS_BASE);
            if has_pku {
                asm!("rdpkru", out("eax") (*at).pkru, out("edx") _, in("ecx") 0, options(nostack));
            }
            let (low, high) = halves((*at).xstate_save_mask);
            let area = &raw mut (*at).xstate;
            if has_xsaves {
                asm!("xsaves64 [{}]", in(reg) area, in("eax") low, in("edx") high, options(nostack));
            } else {
                asm!("xsave64 [{}]", in(reg) area, in("eax") low, in("edx") high, options(nostack));
            }
        }
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: mapped, aligned, accessed atomically by both sides.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).state) }
    }

    fn entered_tsc(&self) -> &AtomicU64 {
        // SAFETY: mapped, aligned; Linux only reads it.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.at.as_ptr()).entered_tsc) }
    }
}

fn halves(mask: u64) -> (u32, u32) {
    (mask as u32, (mask >> 32) as u32)
}
