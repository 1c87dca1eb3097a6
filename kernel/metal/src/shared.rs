// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page that a core shares with Linux (`cpu.h`).
//!
//! Every access is one atomic or volatile access to one field: Linux writes its
//! half at any time. Nothing here trusts a value that Linux's programs could
//! have written, because they cannot: the page is the kernel's.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use tacet_abi::ring::Ring;
use tacet_abi::{TACET_LOG_RECORDS, TACET_LOG_TEXT_BYTES, tacet_cpu};

/// At a clock that is being written; then there is none.
const LOOKS: u32 = 100;

/// Something that Linux asks this core (`enum tacet_ask`).
#[derive(Debug, Clone, Copy)]
pub struct Question {
    pub kind: u32,
    pub arguments: [u64; 4],
    ordinal: u32,
}

/// A core's view of its own page.
#[derive(Clone, Copy)]
pub struct Shared {
    page: NonNull<tacet_cpu>,
}

macro_rules! field {
    ($self:ident, $atomic:ident, $($path:tt)+) => {{
        // SAFETY: (1) the page is mapped for as long as the core runs; (2) the
        // field is aligned; (3) both sides access it atomically.
        unsafe { $atomic::from_ptr(&raw mut (*$self.page.as_ptr()).$($path)+) }
    }};
}

impl Shared {
    /// # Safety
    /// `page` is this core's shared page, mapped and writable for ever.
    pub const unsafe fn new(page: NonNull<tacet_cpu>) -> Self {
        Self { page }
    }

    pub fn number(&self) -> u32 {
        field!(self, AtomicU32, boot.cpu).load(Ordering::Relaxed)
    }

    pub fn take_attention(&self) -> u32 {
        // Pairs with Linux's release before it rings.
        field!(self, AtomicU32, attention).swap(0, Ordering::AcqRel)
    }

    pub fn take_test(&self) -> u32 {
        field!(self, AtomicU32, test).swap(0, Ordering::AcqRel)
    }

    pub fn notify_target(&self) -> (u32, u32) {
        // Pairs with Linux's release of the command; both change together only
        // while nothing is posted to this core.
        let command = field!(self, AtomicU32, notify_command).load(Ordering::Acquire);
        (field!(self, AtomicU32, notify_destination).load(Ordering::Relaxed), command)
    }

    pub fn active_root(&self) -> u64 {
        field!(self, AtomicU64, active_root).load(Ordering::Relaxed)
    }

    pub fn set_active_root(&self, root: u64) {
        // Sequentially consistent: the other half of the pair is Linux's
        // "clear the entry, then read active_root".
        field!(self, AtomicU64, active_root).store(root, Ordering::SeqCst);
    }

    pub fn set_mode(&self, mode: u32) {
        field!(self, AtomicU32, mode).store(mode, Ordering::Relaxed);
    }

    pub fn set_state(&self, state: u32) {
        // Pairs with Linux's acquire: whatever we wrote before is visible.
        field!(self, AtomicU32, state).store(state, Ordering::Release);
    }

    /// Another core's page: they lie one behind the other.
    pub fn other(&self, mine: u32, index: u32) -> Shared {
        let distance = index as isize - mine as isize;
        // SAFETY: (1) all cores' pages are mapped, in the order of their indices;
        // (2) the caller's indices are below their number.
        Shared { page: unsafe { self.page.offset(distance) } }
    }

    /// Asks this core itself to look.
    pub fn request(&self, bits: u32) {
        field!(self, AtomicU32, attention).fetch_or(bits, Ordering::SeqCst);
    }

    /// Asks the core whose page this is to look, and rings unless it looks anyway.
    /// `bits` are about something that is written already.
    pub fn call(&self, bits: u32) {
        let mode = field!(self, AtomicU32, mode).load(Ordering::SeqCst);
        if mode == tacet_abi::TACET_MODE_SPINNING {
            return;
        }
        field!(self, AtomicU32, attention).fetch_or(bits, Ordering::SeqCst);
        // Linux takes the bell away before it stops a core.
        if field!(self, AtomicU32, audible).load(Ordering::SeqCst) != 0 {
            field!(self, AtomicU32, doorbells_from_cores).fetch_add(1, Ordering::Relaxed);
            crate::apic::ring(field!(self, AtomicU32, boot.apic_id).load(Ordering::Relaxed));
        }
    }

    /// Asks the core whose page this is to forget what it cached of the address space `root` (0: of any). None: it has
    /// nothing of that; else what to wait for with `await_flush`.
    pub fn request_flush(&self, root: u64) -> Option<u64> {
        // Pairs with that core: it announces a root, then loads it.
        core::sync::atomic::fence(Ordering::SeqCst);
        let active = field!(self, AtomicU64, active_root).load(Ordering::SeqCst);
        if active == 0 || root != 0 && active != root || !self.answers() {
            return None;
        }
        let generation = field!(self, AtomicU64, flush_requested).fetch_add(1, Ordering::SeqCst) + 1;
        field!(self, AtomicU32, doorbells_from_cores).fetch_add(1, Ordering::Relaxed);
        crate::apic::ring(field!(self, AtomicU32, boot.apic_id).load(Ordering::Relaxed));
        Some(generation)
    }

    /// Waits until it has.
    pub fn await_flush(&self, generation: u64) {
        let acknowledged = field!(self, AtomicU64, flush_acknowledged);
        while (acknowledged.load(Ordering::Acquire).wrapping_sub(generation) as i64) < 0 && self.answers() {
            core::hint::spin_loop();
        }
    }

    /// It has not died, and Linux is not about to stop it.
    fn answers(&self) -> bool {
        field!(self, AtomicU32, audible).load(Ordering::SeqCst) != 0
            && field!(self, AtomicU32, state).load(Ordering::Relaxed) == tacet_abi::TACET_CPU_ONLINE
    }

    /// Linux's question, if there is one that has no answer yet.
    pub fn question(&self) -> Option<Question> {
        // Pairs with Linux's release: what it asks is written.
        let ordinal = field!(self, AtomicU32, ask_requested).load(Ordering::Acquire);
        if ordinal == field!(self, AtomicU32, ask_answered).load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: Linux writes it only after the answer.
        let arguments = unsafe { (&raw const (*self.page.as_ptr()).ask_arguments).read_volatile() };
        Some(Question { kind: field!(self, AtomicU32, ask_kind).load(Ordering::Relaxed), arguments, ordinal })
    }

    pub fn answer(&self, question: &Question, result: i32) {
        field!(self, AtomicI32, ask_result).store(result, Ordering::Relaxed);
        // Pairs with Linux's acquire: the answer is written.
        field!(self, AtomicU32, ask_answered).store(question.ordinal, Ordering::Release);
    }

    /// Where frames taken, returned and filled are counted.
    pub fn frame_counters(&self) -> [NonNull<u64>; 3] {
        let page = self.page.as_ptr();
        // SAFETY: all are fields of the mapped page.
        unsafe {
            [
                NonNull::new_unchecked(&raw mut (*page).frames_taken),
                NonNull::new_unchecked(&raw mut (*page).frames_returned),
                NonNull::new_unchecked(&raw mut (*page).frames_filled),
            ]
        }
    }

    /// Whether somebody asked this core to look.
    pub fn wanted(&self) -> bool {
        field!(self, AtomicU32, attention).load(Ordering::Relaxed) != 0
    }

    /// As `set_mode`, ordered before whatever is looked at next.
    pub fn announce_mode(&self, mode: u32) {
        field!(self, AtomicU32, mode).store(mode, Ordering::SeqCst);
    }

    /// One more or one fewer of this core's contexts waits in a local call.
    pub fn count_blocked(&self, more: bool) {
        let blocked = field!(self, AtomicU32, blocked);
        let now = blocked.load(Ordering::Relaxed);
        blocked.store(if more { now.wrapping_add(1) } else { now.wrapping_sub(1) }, Ordering::Release);
    }

    pub fn blocked(&self) -> u32 {
        field!(self, AtomicU32, blocked).load(Ordering::Relaxed)
    }

    /// Linux's request to wake, if there is one that has no answer yet.
    pub fn wake_request(&self) -> Option<crate::WakeRequest> {
        // Pairs with Linux's release: what it asks for is written.
        let ordinal = field!(self, AtomicU32, wake_requested).load(Ordering::Acquire);
        if ordinal == field!(self, AtomicU32, wake_answered).load(Ordering::Relaxed) {
            return None;
        }
        Some(crate::WakeRequest {
            root: field!(self, AtomicU64, wake_root).load(Ordering::Relaxed),
            address: field!(self, AtomicU64, wake_address).load(Ordering::Relaxed),
            bitset: field!(self, AtomicU32, wake_bitset).load(Ordering::Relaxed),
            count: field!(self, AtomicU32, wake_count).load(Ordering::Relaxed),
            moved: field!(self, AtomicU32, wake_moved).load(Ordering::Relaxed),
            to: field!(self, AtomicU64, wake_to).load(Ordering::Relaxed),
            ordinal,
        })
    }

    pub fn answer_wake(&self, ordinal: u32, woken: u32) {
        field!(self, AtomicU32, wake_woken).store(woken, Ordering::Relaxed);
        // Pairs with Linux's acquire: the answer is written.
        field!(self, AtomicU32, wake_answered).store(ordinal, Ordering::Release);
    }

    /// Linux's clock and the time-stamp counter, read together; None: not here.
    pub fn clock(&self) -> Option<(u64, u64)> {
        let tsc = field!(self, AtomicU64, clock_tsc);
        // Linux takes the first away, changes the second, and gives the first: at once, with interrupts off.
        for _ in 0..LOOKS {
            // Pairs with Linux's release.
            let before = tsc.load(Ordering::Acquire);
            let monotonic_ns = field!(self, AtomicU64, clock_monotonic_ns).load(Ordering::Acquire);
            if before != 0 && tsc.load(Ordering::Relaxed) == before {
                return Some((before, monotonic_ns));
            }
            core::hint::spin_loop();
        }
        None
    }

    pub fn count_alarm(&self) {
        self.bump(field!(self, AtomicU64, alarms));
    }

    pub fn count_kernel_entry(&self) {
        self.bump(field!(self, AtomicU64, kernel_entries));
    }

    pub fn count_notification(&self) {
        self.bump(field!(self, AtomicU64, notifications));
    }

    pub fn switched_to(&self, context: u32) {
        field!(self, AtomicU32, current_context).store(context, Ordering::Relaxed);
        self.bump(field!(self, AtomicU64, switches));
    }

    pub fn count_foreign(&self, vector: u8) {
        // SAFETY: as in `field!`; a u8 is within the 256 counters.
        let counter = unsafe {
            AtomicU32::from_ptr((&raw mut (*self.page.as_ptr()).foreign).cast::<u32>().add(usize::from(vector)))
        };
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    pub fn inbox(&self) -> Ring {
        // SAFETY: the ring is in the mapped page; we are its only consumer.
        unsafe { Ring::new(NonNull::new_unchecked(&raw mut (*self.page.as_ptr()).inbox)) }
    }

    pub fn outbox(&self) -> Ring {
        // SAFETY: the ring is in the mapped page; we are its only producer.
        unsafe { Ring::new(NonNull::new_unchecked(&raw mut (*self.page.as_ptr()).outbox)) }
    }

    /// Appends a record; the oldest one makes room.
    pub fn log(&self, level: u32, text: &[u8]) {
        let written = field!(self, AtomicU64, log.written);
        let sequence = written.load(Ordering::Relaxed) + 1;
        let slot = (sequence % u64::from(TACET_LOG_RECORDS)) as usize;
        let length = text.len().min(TACET_LOG_TEXT_BYTES as usize);
        // SAFETY: (1) the slot is within the array; (2) only this core writes
        // records, and readers check `sequence` before and after they copy.
        unsafe {
            let record = (&raw mut (*self.page.as_ptr()).log.records).cast::<tacet_abi::tacet_log_record>().add(slot);
            let ordinal = AtomicU64::from_ptr(&raw mut (*record).sequence);
            ordinal.store(0, Ordering::SeqCst);
            (&raw mut (*record).tsc).write_volatile(crate::registers::time_stamp());
            (&raw mut (*record).level).write_volatile(level);
            (&raw mut (*record).length).write_volatile(length as u32);
            core::ptr::copy_nonoverlapping(text.as_ptr(), (&raw mut (*record).text).cast(), length);
            ordinal.store(sequence, Ordering::Release);
        }
        written.store(sequence, Ordering::Release);
    }

    /// Writes the last words. The caller then sets the state to dead.
    pub fn last_words(&self, words: &tacet_abi::tacet_last_words) {
        // SAFETY: mapped; Linux reads it only after the state says dead.
        unsafe { (&raw mut (*self.page.as_ptr()).last_words).write_volatile(*words) };
    }

    fn bump(&self, counter: &AtomicU64) {
        // Only this core writes its counters: no read-modify-write is needed.
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}
