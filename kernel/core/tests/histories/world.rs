// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What CPUs and Linux share, and what only a test sees of both.

use crate::books::Books;
use crate::device::DeviceState;
use crate::memory::Store;
use crate::program::{Action, Call, WORDS};
use crate::tlb::Tlb;
use std::cell::{Cell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::mem::Discriminant;
use tacet_arch::{Exit, Mode};
use tacet_core::{Common, Escape, Place, Recall, WakeRequest};
use tacet_logic::deadlines::Clock;

pub const SPACES: usize = 2;
/// Linux's clock when the counter of cycles begins.
pub const BEGIN_NS: u64 = 1_000_000;
/// A counter of threads that wait on Linux says "some" from here on, whatever is counted (`linux/delegate/futex.c`).
pub const STICKY: u32 = 1 << 31;

/// What a fake does wrong once, at the so-manieth opportunity: the invariants must notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    None,
    /// A recall is read as if there were none.
    StaleRecall(u32),
    /// A CPU's bell is not heard by another.
    DropBell(u32),
    /// Nothing is cleared between two users.
    KeepsTraces(u32),
    /// No TLB forgets anything at a flush.
    SkipsFlush(u32),
    /// Recalls are read only when their bell has just rung: what the co-kernel once did.
    ForgetsRecalls,
    /// Linux tells CPUs that threads' states have not changed, though other CPUs have run them since.
    KeepsOldState,
}

#[derive(Default)]
pub struct CpuState {
    pub attention: Cell<u32>,
    pub spins: Cell<bool>,
    /// The bell that was answered last was about recalls.
    pub looks_at_recalls: Cell<bool>,
    pub inbox: RefCell<VecDeque<u32>>,
    pub root: Cell<u64>,
    pub tlb: Tlb,
    /// The thread whose state is in the registers.
    pub live: Cell<Option<u32>>,
    /// The same, loaded or stored: the thread, and its state's version.
    pub registers: Cell<Option<(u32, u32)>>,
    /// The user of the thread that was last in user mode; 0: nothing of any user is left in the CPU.
    pub left_by: Cell<u64>,
    /// Until when it halts: for ever, or until a time.
    pub halted: Cell<Option<Option<u64>>>,
    /// Linux's wish that threads are woken, and the answer.
    pub wake: Cell<Option<WakeRequest>>,
    pub woken: Cell<Option<u32>>,
    /// A question that has no answer yet.
    pub asked: Cell<bool>,
    pub device: DeviceState,
    /// It waits for a lock that another CPU has.
    pub waits_for_lock: Cell<bool>,
    /// As Linux reads it: how many threads wait.
    pub waiting: Cell<u32>,
    /// How often it has looked at a thread.
    pub looks: Cell<u32>,
}

pub struct ThreadState {
    pub space: usize,
    pub program: Vec<Action>,
    pub at: Cell<usize>,
    /// Posted to this CPU and not given back.
    pub posted: Cell<Option<usize>>,
    pub stays: Cell<u32>,
    /// Of its state in memory: each stay and each change by Linux makes another.
    pub version: Cell<u32>,
    /// The CPU that gave it back last.
    pub given_by: Cell<Option<usize>>,
    /// Linux says that its state is as that CPU has it.
    pub state_stays: Cell<bool>,
    pub home: Cell<usize>,
    pub root: Cell<u64>,
    pub range_serial: Cell<u64>,
    pub recall: Cell<Recall>,
    /// It will not execute anything any more.
    pub killed: Cell<bool>,
    /// What it has mapped last: the address, and how many bytes.
    pub mapping: Cell<Option<(u64, u64)>>,
    /// How many bytes a device has transferred for it last.
    pub transferred: Cell<u64>,
    pub permits: u32,
    pub call: Cell<Call>,
    /// It is one of a test that knows its result.
    pub exactly: Cell<bool>,
    /// The results of such calls.
    pub results: RefCell<Vec<u64>>,
    pub exit: Cell<Exit>,
    /// Until when, by the counter of cycles, it sleeps at least.
    pub slept_until: Cell<u64>,
    /// Its call has no result yet.
    pub calls: Cell<bool>,
    pub result: Cell<u64>,
    /// Why it was given back, until Linux has dealt with that.
    pub escape: Cell<Option<Escape>>,
}

#[derive(Default)]
pub struct SpaceState {
    pub root: Cell<u64>,
    pub words: [Cell<u32>; WORDS],
    pub on_linux: [Cell<u32>; WORDS],
    pub on_cpus: Cell<u32>,
    /// Linux waits until no CPU has it loaded.
    pub dropping: Cell<bool>,
}

/// What has happened to threads.
#[derive(Default)]
pub struct Seen {
    pub arrows: HashSet<(Place, Place)>,
    pub escapes: HashSet<Discriminant<Escape>>,
    /// Stays whose state was in the CPU's registers still.
    pub resumed: u32,
}

pub struct World {
    pub common: Box<Common>,
    pub memory: Store,
    pub cpus: Vec<CpuState>,
    pub threads: Vec<ThreadState>,
    pub spaces: [SpaceState; SPACES],
    pub books: RefCell<Books>,
    pub seen: RefCell<Seen>,
    pub now: Cell<u64>,
    pub clock: Cell<Option<Clock>>,
    pub sabotage: Cell<Sabotage>,
    /// The CPUs' service ends.
    pub ends: Cell<bool>,
}

impl World {
    /// `programs`: of each thread, its space and what it may have answered on a CPU.
    pub fn new(common: Box<Common>, cpus: usize, programs: Vec<(usize, u32, Vec<Action>)>) -> Self {
        let threads: Vec<_> = programs.into_iter().map(ThreadState::new).collect();
        let spaces: [SpaceState; SPACES] = Default::default();
        for (space, root) in spaces.iter().zip(1..) {
            space.root.set(root << 12);
        }
        let world = Self {
            common,
            memory: Store::new(),
            seen: RefCell::default(),
            books: RefCell::new(Books::new(cpus, threads.len())),
            cpus: (0..cpus).map(|_| CpuState::default()).collect(),
            threads,
            spaces,
            now: Cell::new(0),
            clock: Cell::new(None),
            sabotage: Cell::new(Sabotage::None),
            ends: Cell::new(false),
        };
        world.read_clock();
        world
    }

    pub fn thread(&self, number: u32) -> &ThreadState {
        &self.threads[number as usize]
    }

    pub fn place(&self, number: u32) -> Place {
        self.common.place(number).unwrap()
    }

    pub fn numbers(&self) -> std::ops::Range<u32> {
        0..self.threads.len() as u32
    }

    /// Linux's clock.
    pub fn monotonic_ns(&self) -> u64 {
        BEGIN_NS + self.now.get()
    }

    pub fn read_clock(&self) {
        let (cycles, monotonic_ns) = (self.now.get(), self.monotonic_ns());
        self.clock.set(Some(Clock { cycles, monotonic_ns, cycles_per_ms: 1_000_000 }));
    }

    /// Whether a fake goes wrong now; `of` says which opportunity it is.
    pub fn goes_wrong(&self, of: fn(u32) -> Sabotage) -> bool {
        let (Sabotage::StaleRecall(left)
        | Sabotage::DropBell(left)
        | Sabotage::KeepsTraces(left)
        | Sabotage::SkipsFlush(left)) = self.sabotage.get()
        else {
            return false;
        };
        if self.sabotage.get() != of(left) {
            return false;
        }
        self.sabotage.set(left.checked_sub(1).map_or(Sabotage::None, of));
        left == 0
    }

    pub fn set_mode(&self, cpu: usize, mode: Mode) {
        self.cpus[cpu].spins.set(mode == Mode::Spinning);
    }

    /// A halted CPU that nobody rang and whose time has not come.
    pub fn is_asleep(&self, cpu: usize) -> bool {
        let state = &self.cpus[cpu];
        let over = |until: Option<u64>| until.is_some_and(|until| until <= self.now.get());
        state.attention.get() == 0 && state.halted.get().is_some_and(|until| !over(until))
    }
}

impl ThreadState {
    fn new((space, permits, program): (usize, u32, Vec<Action>)) -> Self {
        Self {
            space,
            program,
            permits,
            at: Cell::new(0),
            posted: Cell::new(None),
            stays: Cell::new(0),
            version: Cell::new(0),
            given_by: Cell::new(None),
            state_stays: Cell::new(false),
            home: Cell::new(0),
            root: Cell::new(0),
            range_serial: Cell::new(0),
            recall: Cell::new(Recall::Not),
            killed: Cell::new(false),
            mapping: Cell::new(None),
            transferred: Cell::new(0),
            call: Cell::new((0, [0; 6])),
            exactly: Cell::new(false),
            results: RefCell::default(),
            exit: Cell::new(Exit::Call),
            slept_until: Cell::new(0),
            calls: Cell::new(false),
            result: Cell::new(0),
            escape: Cell::new(None),
        }
    }

    /// One for each space.
    pub fn user(&self) -> u64 {
        self.space as u64 + 1
    }

    /// Where a page is of what it has mapped last.
    pub fn mapped(&self, page: u32) -> Option<u64> {
        self.mapping.get().map(|(address, bytes)| address + (u64::from(page) << 12) % bytes)
    }

    /// Its next action.
    pub fn action(&self) -> Action {
        self.program.get(self.at.get()).copied().unwrap_or(Action::Compute)
    }

    pub fn advance(&self) {
        self.at.set(self.at.get() + 1);
    }
}
