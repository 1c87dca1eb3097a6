// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The start of each CPU, and its way to the host's code.
//!
//! The boot CPU starts the others one after another (SDM vol. 3, 9.4): INIT, then a start-up interrupt that names the
//! page of the trampoline. Each says that it has taken its number and its stack before the next one is called.

use super::super::registers::time_stamp;
use super::super::{Boot, Cpu, apic};
use super::end::{die, survived, trapped};
use super::settings;
use super::state::STATE;
use super::tables::{DIRECT, stack_top};
use crate::Processor;
use crate::signals::ONLINE;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

const INIT: u32 = 5 << 8 | 1 << 14;
const START: u32 = 6 << 8 | 1 << 14;

/// Between the two start-up interrupts, and until a CPU counts as missing.
const AGAIN_US: u64 = 1_000;
const MISSING_US: u64 = 2_000_000;

/// The needs of a CPU that starts; entry.S knows the order.
#[repr(C)]
struct Next {
    root: AtomicU64,
    stack: AtomicU64,
    index: AtomicU32,
    taken: AtomicU32,
}

#[unsafe(no_mangle)]
static tacet_next_cpu: Next =
    Next { root: AtomicU64::new(0), stack: AtomicU64::new(0), index: AtomicU32::new(0), taken: AtomicU32::new(0) };

unsafe extern "C" {
    static tacet_trampoline: u8;
    static tacet_trampoline_end: u8;
}

/// The host's function that every CPU calls once it has started.
pub struct Entry {
    /// Calls `main` with `shared`; both are what they were given as.
    pub call: fn(main: *mut (), shared: *mut (), Cpu) -> !,
    pub main: *mut (),
    pub shared: *mut (),
}

static CALL: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
static MAIN: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
static SHARED: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Takes possession of CPU `index`, which runs this.
pub fn begin(index: u32) -> Cpu {
    let (root, tsc_khz, all) = STATE.with(|state| (state.root, state.tsc_khz, state.signals));
    let boot: Boot = settings::of_cpu(index, root, tsc_khz);
    // SAFETY: interrupts are off since the entry; the settings are this processor's (`settings.rs`); the private region
    // is mapped, this CPU's alone, and zeroed as far as it is read (`make_private`), and the stack is in or above it.
    let Some(cpu) = (unsafe { Cpu::start(&boot, all, index, trapped, survived) }) else {
        die(format_args!("CPU {index} has no words of its own"));
    };
    apic::forget_firmware();
    if let Some(own) = all.get(index as usize) {
        own.identity.store(settings::identity(), Ordering::Relaxed);
        own.state.store(ONLINE, Ordering::Relaxed);
        own.audible.store(1, Ordering::SeqCst);
    }
    cpu
}

impl Cpu {
    /// Listens to the link from here on: its interrupts (`Network::listen`, `Console::listen`) come to this CPU, which
    /// is number 0, and make these requests of it, not 0, as if another CPU had rung: in user mode, and while it halts for
    /// a time.
    pub fn listen_to_link(&self, requests: u32) {
        self.link_requests.set(requests);
        apic::listen();
    }

    /// Halts until the link interrupts, which makes no request then, until the doorbell rings, or for at most so many
    /// ticks. It may return early.
    pub fn halt_for_link(&self, ticks: u64) {
        let requests = self.link_requests.replace(0);
        self.halt(Some(ticks));
        if requests != 0 {
            self.listen_to_link(requests);
        }
    }
}

/// A further CPU, from entry.S.
#[unsafe(no_mangle)]
extern "C" fn tacet_join(index: u32) -> ! {
    enter(begin(index))
}

/// Starts all other CPUs, then goes on as the first.
pub fn start(first: Cpu, entry: &Entry) -> ! {
    MAIN.store(entry.main, Ordering::Relaxed);
    SHARED.store(entry.shared, Ordering::Relaxed);
    CALL.store(entry.call as *mut (), Ordering::Release);
    let (cpus, root, trampoline) = STATE.with(|state| (state.cpus, state.root, state.trampoline));
    if let Some(page) = trampoline.filter(|_| cpus > 1) {
        copy_trampoline(page);
        tacet_next_cpu.root.store(root, Ordering::Relaxed);
        for index in 1..cpus {
            start_one(&first, index, page);
        }
    }
    enter(first)
}

fn enter(cpu: Cpu) -> ! {
    let call = CALL.load(Ordering::Acquire);
    // SAFETY: written by `start` from a function of this type, before any other CPU ran.
    let call: fn(*mut (), *mut (), Cpu) -> ! = unsafe { core::mem::transmute(call) };
    call(MAIN.load(Ordering::Relaxed), SHARED.load(Ordering::Relaxed), cpu)
}

fn copy_trampoline(page: u64) {
    let from = &raw const tacet_trampoline;
    let bytes = &raw const tacet_trampoline_end as usize - from as usize;
    // SAFETY: the page was taken for this; the trampoline is shorter than a page.
    unsafe { core::ptr::copy_nonoverlapping(from, (DIRECT + page) as *mut u8, bytes) };
}

fn start_one(first: &Cpu, index: u32, page: u64) {
    let identity = STATE.with(|state| state.identities.get(index as usize).copied().unwrap_or_default());
    tacet_next_cpu.stack.store(stack_top(index), Ordering::Relaxed);
    tacet_next_cpu.index.store(index, Ordering::Relaxed);
    tacet_next_cpu.taken.store(0, Ordering::SeqCst);
    apic::send(identity, INIT);
    for patience in [AGAIN_US, MISSING_US] {
        apic::send(identity, START | (page >> 12) as u32);
        let began = time_stamp();
        let ticks = patience * first.tsc_khz / 1000;
        while time_stamp().wrapping_sub(began) < ticks {
            if tacet_next_cpu.taken.load(Ordering::Acquire) != 0 {
                return;
            }
            spin_loop();
        }
    }
    die(format_args!("CPU {index}, which the firmware calls {identity}, does not start"))
}
