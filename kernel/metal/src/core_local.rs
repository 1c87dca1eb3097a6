// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core's private memory, and the handle through which the core uses itself.
//!
//! `CoreLocal` lies at the start of the core's private region, whose pages are
//! mapped by Linux before start (`TACET_PRIVATE_BASE`) and written by this core
//! alone. `entry.S` finds it through GS, the NMI stack or the GDT register.

use crate::context::{Context, ContextTable};
use crate::descriptor::Tables;
use crate::shared::Shared;
use crate::{apic, entry, registers};
use core::ptr::NonNull;
use tacet_abi::{tacet_context, tacet_cpu};

/// What `entry.S` needs, at fixed offsets, then the descriptor tables.
#[repr(C)]
pub struct CoreLocal {
    /// Stack pointer of the code that entered user mode.
    pub kernel_stack: u64,
    /// End of the current context's registers; equals TSS.RSP0.
    pub registers_end: u64,
    /// For the system-call entry: the user's stack pointer.
    pub scratch: u64,
    /// The page shared with Linux.
    pub shared: u64,
    /// For the NMI entry: where its frame is.
    pub nmi_frame: u64,
    pub tables: Tables,
}

/// The running core. There is one value per core, made by [`crate::adopt`].
pub struct Core {
    pub(crate) local: NonNull<CoreLocal>,
    pub(crate) shared: Shared,
    pub(crate) contexts: ContextTable,
    pub(crate) idle_root: u64,
    pub(crate) has_pku: bool,
    pub(crate) has_xsaves: bool,
    pub(crate) has_xfd: bool,
    current: Option<u32>,
}

impl Core {
    pub(crate) fn new(local: NonNull<CoreLocal>, shared: Shared, boot: &tacet_abi::tacet_cpu_boot) -> Self {
        Self {
            local,
            shared,
            contexts: ContextTable::new(boot),
            idle_root: boot.root,
            has_pku: boot.has_pku != 0,
            has_xsaves: boot.has_xsaves != 0,
            has_xfd: boot.has_xfd != 0,
            current: None,
        }
    }

    /// Linux's number of this core.
    pub fn number(&self) -> u32 {
        self.shared.number()
    }

    /// The requests that came with the doorbell since the last call.
    pub fn take_attention(&self) -> u32 {
        self.shared.take_attention()
    }

    /// The next posted context's number, if any. A corrupt ring is Linux's
    /// fault and the end of the partition.
    pub fn receive(&self) -> Option<u32> {
        match self.shared.inbox().pop() {
            Ok(posted) => posted,
            Err(_) => crate::die(format_args!("inbox: index is corrupt: Linux wrote it")),
        }
    }

    /// The context with this number, if it is posted to this core.
    pub fn context(&self, number: u32) -> Option<Context<'_>> {
        self.contexts.get(number)
    }

    /// Hands a context back and interrupts Linux. The context is Linux's from
    /// here on.
    pub fn give_back(&self, number: u32, event: u32) {
        match self.contexts.get(number) {
            Some(context) => context.release(event),
            None => crate::die(format_args!("context {number}: not ours to give back")),
        }
        if self.shared.outbox().push(number) != Ok(tacet_abi::ring::Push::Done) {
            crate::die(format_args!("outbox: full or corrupt: Linux wrote it"));
        }
        self.shared.count_notification();
        let (destination, command) = self.shared.notify_target();
        apic::send(destination, command);
    }

    /// Sleeps until the doorbell rings; returns at once if it has rung.
    pub fn idle(&self) {
        self.shared.set_mode(tacet_abi::TACET_MODE_IDLE);
        entry::idle(self.local);
        self.shared.set_mode(tacet_abi::TACET_MODE_KERNEL);
    }

    /// Leaves the address space that is loaded, if any.
    pub fn drop_space(&mut self) {
        self.current = None;
        registers::load_root(self.idle_root);
        self.shared.set_active_root(0);
    }

    /// Makes `number` the context that user mode runs, loading its state.
    pub fn load(&mut self, number: u32) -> Option<()> {
        let context = self.contexts.get(number)?;
        let root = context.root();
        if root != self.shared.active_root() {
            // The old root may be freed as soon as it is not announced any more.
            registers::load_root(self.idle_root);
            // Announced before it is loaded: whoever invalidates in between
            // either sees the announcement or is seen by the fresh load.
            self.shared.set_active_root(root);
            registers::load_root(root);
        }
        context.load_state(self.has_xsaves, self.has_pku, self.has_xfd);
        self.point_entry_at(context.registers_end());
        if self.current != Some(number) {
            self.current = Some(number);
            self.shared.switched_to(number);
        }
        Some(())
    }

    /// Puts the loaded user state of `number` back into its context.
    pub fn unload(&self, number: u32) {
        if let Some(context) = self.contexts.get(number) {
            context.store_state(self.has_xsaves, self.has_pku);
        }
    }

    /// Runs the loaded context in user mode until something ends it.
    pub fn enter(&self, number: u32) -> crate::Exit {
        let Some(context) = self.contexts.get(number) else {
            return crate::Exit::Attention;
        };
        context.entered();
        self.shared.set_mode(tacet_abi::TACET_MODE_USER);
        let doorbell = entry::enter_user(self.local);
        self.shared.set_mode(tacet_abi::TACET_MODE_KERNEL);
        self.shared.count_kernel_entry();
        context.left(doorbell);
        if doorbell { crate::Exit::Attention } else { context.exit() }
    }

    /// Counts an interrupt that nobody should have sent, and ends it.
    pub fn foreign_interrupt(&self, vector: u8) {
        self.shared.count_foreign(vector);
        apic::end_of_interrupt();
    }

    /// Writes a log record.
    pub fn log(&self, level: u32, text: &[u8]) {
        self.shared.log(level, text);
    }

    /// The fault that Linux asked for on purpose, `TACET_TEST_NONE` if none.
    pub fn test_request(&self) -> u32 {
        self.shared.take_test()
    }

    /// Corrupts the outbox as `TACET_TEST_OUTBOX` and `TACET_TEST_ENTRY` ask.
    pub fn corrupt_outbox(&self, index: bool) {
        if index {
            self.shared.outbox().corrupt_tail(0x1000);
        } else {
            let _ = self.shared.outbox().push(u32::MAX);
        }
        let (destination, command) = self.shared.notify_target();
        apic::send(destination, command);
    }

    /// Follows a wild pointer, as `TACET_TEST_FAULT` asks.
    pub fn wild_read(&self) {
        registers::wild_read();
    }

    fn point_entry_at(&self, registers_end: u64) {
        // SAFETY: (1) `local` is this core's own and mapped for ever; (2) no
        // reference to it is held; (3) user mode is not running, so neither the
        // processor nor entry.S reads it meanwhile.
        unsafe {
            (*self.local.as_ptr()).registers_end = registers_end;
            (*self.local.as_ptr()).tables.set_entry_stack(registers_end);
        }
    }
}

const _: () = assert!(size_of::<tacet_cpu>() == tacet_abi::TACET_CPU_BYTES as usize);
const _: () = assert!(size_of::<tacet_context>() == tacet_abi::TACET_CONTEXT_BYTES as usize);
const _: () = assert!(size_of::<CoreLocal>() <= 4 * tacet_abi::TACET_PAGE_BYTES as usize);
