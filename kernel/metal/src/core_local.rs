// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core's private memory, and the handle through which the core uses itself.
//!
//! `CoreLocal` lies at the start of the core's private region, whose pages are
//! mapped by Linux before start (`TACET_PRIVATE_BASE`) and written by this core
//! alone. `entry.S` finds it through GS, the NMI stack or the GDT register.

use crate::context::{Context, ContextTable, Exit};
use crate::descriptor::Tables;
use crate::idle::Alarm;
use crate::shared::{Question, Shared};
use crate::space::{Space, SpaceTable, WakeRequest};
use crate::{apic, entry, registers};
use core::ptr::NonNull;
use tacet_abi::ring::Push;
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
    has_smap: bool,
    pub(crate) index: u32,
    pub(crate) core_count: u32,
    node: u32,
    pub(crate) tsc_khz: u64,
    spaces: SpaceTable,
    pub(crate) memory_base: u64,
    pub(crate) alarm: Alarm,
    /// Entered last.
    current: Option<u32>,
    /// Whose state is in the processor's registers, newer than in its context.
    live: Option<u32>,
}

/// What became of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// It has this result; the thread goes on.
    Done(u64),
    /// It has this result; others go first.
    Yield(u64),
    /// The thread waits.
    Blocked,
    /// It is Linux's.
    Forward,
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
            has_smap: boot.has_smap != 0,
            index: boot.index,
            core_count: boot.core_count,
            node: boot.node,
            tsc_khz: boot.tsc_khz,
            spaces: SpaceTable::new(boot),
            memory_base: boot.memory_base,
            alarm: Alarm::default(),
            current: None,
            live: None,
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
    pub fn give_back(&mut self, number: u32, event: u32) {
        if self.live == Some(number) {
            self.set_aside();
        }
        match self.contexts.get(number) {
            Some(context) => context.release(event),
            None => crate::die(format_args!("context {number}: not ours to give back")),
        }
        self.announce(number);
    }

    /// Tells Linux which context came back. Its owner may see that before Linux takes the interrupt, and post the
    /// context again: a Linux CPU that keeps interrupts off for long leaves the outbox full. The core then waits for it,
    /// and rings again, because Linux may have moved its interrupts meanwhile.
    fn announce(&self, number: u32) {
        loop {
            match self.shared.outbox().push(number) {
                Ok(Push::Done) => break,
                Ok(Push::Full) => {
                    self.ring_linux();
                    self.spin(FULL_NS, || false);
                }
                Err(_) => crate::die(format_args!("outbox: index is corrupt: Linux wrote it")),
            }
        }
        self.ring_linux();
    }

    fn ring_linux(&self) {
        self.shared.count_notification();
        let (destination, command) = self.shared.notify_target();
        apic::send(destination, command);
    }

    /// Looks at `done` until it holds or `ns`, less than a second, have passed.
    pub fn spin(&self, ns: u64, done: impl Fn() -> bool) {
        let ticks = ns * self.tsc_khz / 1_000_000 + 1;
        let begin = registers::time_stamp();
        while !done() && registers::time_stamp().wrapping_sub(begin) < ticks {
            core::hint::spin_loop();
        }
    }

    /// Leaves the address space that is loaded, if any.
    pub fn drop_space(&mut self) {
        self.current = None;
        registers::load_root(self.idle_root);
        self.shared.set_active_root(0);
    }

    /// Makes `number` the context that user mode runs, loading its state.
    pub fn load(&mut self, number: u32) -> Option<()> {
        if self.live != Some(number) {
            self.set_aside();
        }
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
        if self.live != Some(number) {
            context.load_state(self.has_xsaves, self.has_pku, self.has_xfd);
            self.live = Some(number);
        }
        self.point_entry_at(context.registers_end());
        if self.current != Some(number) {
            self.current = Some(number);
            self.shared.switched_to(number);
        }
        Some(())
    }

    /// Puts the user state that is in the processor's registers back into its
    /// context. Until then a thread that left the core is not saved: alone on its
    /// core it will find everything as it was.
    fn set_aside(&mut self) {
        if let Some(context) = self.live.take().and_then(|number| self.contexts.get(number)) {
            context.store_state(self.has_xsaves, self.has_pku);
        }
    }

    /// Runs the loaded context in user mode until something ends it that `serve`
    /// does not answer on the spot. Answering counts as the program's own time.
    pub fn enter(&self, number: u32, mut serve: impl FnMut(&Self, &Context<'_>) -> Served) -> Exit {
        let Some(context) = self.contexts.get(number) else {
            return Exit::Attention;
        };
        context.entered();
        self.shared.set_mode(tacet_abi::TACET_MODE_USER);
        let mut after_call = false;
        let exit = loop {
            if entry::enter_user(self.local, after_call) {
                break Exit::Attention;
            }
            if !context.may_answer() {
                break context.exit();
            }
            let began = context.profiled().then(|| (context.call_number(), registers::time_stamp()));
            match serve(self, &context) {
                Served::Forward => break Exit::Syscall,
                Served::Blocked => break Exit::Blocked,
                Served::Done(result) => {
                    context.set_result(result);
                    if let Some((number, began)) = began {
                        context.spent_on_local_call(number, registers::time_stamp().wrapping_sub(began));
                    }
                }
                Served::Yield(result) => {
                    context.set_result(result);
                    context.count_local_call();
                    break Exit::Yielded;
                }
            }
            context.count_local_call();
            after_call = true;
        };
        self.shared.set_mode(tacet_abi::TACET_MODE_KERNEL);
        self.shared.count_kernel_entry();
        context.left(exit);
        exit
    }

    /// Of this core, among the partition's.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// This core's NUMA node.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Asks core `index` to look, by its doorbell if it does not look anyway; this
    /// core itself without.
    pub fn call(&self, index: u32, bits: u32) {
        if index == self.index {
            self.shared.request(bits);
        } else if index < self.core_count {
            self.shared.other(self.index, index).call(bits);
        }
    }

    /// How many of its threads wait in local calls.
    pub fn blocked(&self) -> u32 {
        self.shared.blocked()
    }

    /// What Linux wants woken.
    pub fn wake_request(&self) -> Option<WakeRequest> {
        self.shared.wake_request()
    }

    /// How many that were.
    pub fn answer_wake(&self, ordinal: u32, woken: u32) {
        self.shared.answer_wake(ordinal, woken);
    }

    /// What Linux asks.
    pub fn question(&self) -> Option<Question> {
        self.shared.question()
    }

    /// The answer to it: 0 or a negative error number.
    pub fn answer(&self, question: &Question, result: i32) {
        self.shared.answer(question, result);
    }

    /// What is shared about the context's address space.
    pub fn space(&self, context: &Context<'_>) -> Option<Space> {
        self.spaces.get(context.space())
    }

    /// The context waits in a local call: nobody is to wait behind it.
    pub fn block(&self, context: &Context<'_>) {
        context.set_blocked(true);
        self.shared.count_blocked(true);
    }

    /// It waits no more; with a result it has its answer, without it is as if it
    /// had just made the call.
    pub fn unblock(&self, context: &Context<'_>, result: Option<u64>) {
        if let Some(result) = result {
            context.set_result(result);
            context.count_local_call();
        }
        context.set_blocked(false);
        self.shared.count_blocked(false);
    }

    /// A word of the program's memory as the program would read it. None: that
    /// would fault, or the address is not the program's.
    pub fn user_load(&self, address: u64) -> Option<u32> {
        self.accessing_user(address, || entry::user_load(address))
    }

    /// Writes a word of the program's memory as the program would. None: as above.
    pub fn user_store(&self, address: u64, value: u32) -> Option<()> {
        self.accessing_user(address, || entry::user_store(address, value))
    }

    fn accessing_user<T>(&self, address: u64, access: impl FnOnce() -> Option<T>) -> Option<T> {
        if address > USER_LAST_WORD {
            return None;
        }
        if self.has_smap {
            registers::allow_user_access();
        }
        let answer = access();
        if self.has_smap {
            registers::forbid_user_access();
        }
        answer
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
        self.ring_linux();
    }

    /// Leaves no room in the outbox as `TACET_TEST_FULL` asks: Linux wakes an owner without need, or nobody.
    pub fn fill_outbox(&self) {
        while self.shared.outbox().push(0) == Ok(Push::Done) {}
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

/// Between two bells while Linux does not take what is in the outbox.
const FULL_NS: u64 = 10_000;

/// Linux maps nothing for programs in the last page of the lower half, with four
/// levels as with five.
const USER_LAST_WORD: u64 = 0x7fff_ffff_effc;

const _: () = assert!(size_of::<tacet_cpu>() == tacet_abi::TACET_CPU_BYTES as usize);
const _: () = assert!(size_of::<tacet_context>() == tacet_abi::TACET_CONTEXT_BYTES as usize);
const _: () = assert!(size_of::<CoreLocal>() <= 4 * tacet_abi::TACET_PAGE_BYTES as usize);
