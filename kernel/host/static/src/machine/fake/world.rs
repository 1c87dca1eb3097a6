// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What all CPUs of the machine share, and whose turn it is. Each CPU is a thread of the host, and waits for its turn.

use super::saved::Saved;
use std::collections::{HashMap, VecDeque};
use std::panic;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

thread_local! {
    static MINE: std::cell::RefCell<Option<(Arc<World>, usize)>> = const { std::cell::RefCell::new(None) };
}

/// The far end may act of its own accord after so many turns.
const ACT_EVERY: u64 = 64;
/// No history needs more turns: something goes on for ever.
const MOST_TURNS: u64 = 400_000;

/// What RAM holds before anybody has written it.
const LEFT_OVER: u8 = 0xa5;

/// The other end of the link: the daemon, and the proxies.
pub trait Far: Send {
    /// A packet has come to a port. `send` takes answers, with the port that they are from.
    fn packet(&mut self, port: u16, packet: &[u8], send: &mut dyn FnMut(u16, &[u8]));

    /// May send something of its own accord. When it wants to be asked again at the latest; `None`: it has nothing to say.
    fn act(&mut self, now_ns: u64, send: &mut dyn FnMut(u16, &[u8])) -> Option<u64>;
}

/// How the link treats packets, in parts of 256, and the emulator its CPUs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    pub lost: u8,
    pub doubled: u8,
    /// How often it has no room for a frame.
    pub full: u8,
    /// The longest delay.
    pub delay_ns: u64,
    /// The last CPU gets no turn in every other span of so many; 0: it gets them as the others do.
    pub sleeps: u64,
}

pub struct World {
    state: Mutex<State>,
    /// Of each CPU: it may go on.
    bells: Vec<Condvar>,
    /// All CPUs are done.
    done: Condvar,
}

pub(super) struct State {
    pub cpus: Vec<CpuState>,
    pub now_ns: u64,
    pub ram: Vec<u8>,
    pub tables: HashMap<u64, Box<[u64; 512]>>,
    pub free_tables: u32,
    pub next_table: u64,
    pub contexts: Vec<Saved>,
    pub option_line: &'static str,
    pub line: LineState,
    pub log: Vec<String>,
    pub cpus_done: usize,
    /// The history is over: how.
    pub end: Option<Result<(), String>>,
    far: Box<dyn Far>,
    faults: Faults,
    random: u64,
    turn_ns: u64,
    turn: usize,
    turns: u64,
    act_at_ns: Option<u64>,
}

/// The console: bytes in both directions.
#[derive(Default)]
pub(super) struct LineState {
    /// To the node.
    pub incoming: VecDeque<u8>,
    /// From the node, until a frame is whole.
    pub outgoing: Vec<u8>,
    pub listens: bool,
    /// The request that a CPU gets when something comes.
    pub request: Option<u32>,
    /// Frames on their way to the node, each with its time.
    under_way: Vec<(u64, Vec<u8>)>,
}

pub(super) struct CpuState {
    pub attention: u32,
    /// It halts, until this time at most.
    pub halted: Option<Option<u64>>,
    /// When its turn for the running thread ends; 0: none.
    pub turn_ends: u64,
    pub root: u64,
    /// Bytes of RAM that it has zeroed.
    pub zeroed: u64,
    /// Errors that its hardware has corrected, and nobody has counted: as many as its number, plus one.
    pub corrected: u64,
    /// Instructions of programs that it has executed.
    pub executed: u64,
    /// It has not been started yet, or has ended.
    pub away: bool,
}

impl World {
    pub(super) fn new(
        cpus: usize,
        ram_bytes: usize,
        option_line: &'static str,
        far: Box<dyn Far>,
        faults: Faults,
        (seed, turn_ns): (u64, u64),
    ) -> Arc<Self> {
        let cpu = |index| CpuState {
            attention: 0,
            halted: None,
            turn_ends: 0,
            root: 0,
            zeroed: 0,
            executed: 0,
            corrected: index as u64 + 1,
            away: index > 0,
        };
        let state = State {
            cpus: (0..cpus).map(cpu).collect(),
            now_ns: 1_000_000,
            ram: vec![LEFT_OVER; ram_bytes],
            tables: HashMap::new(),
            free_tables: 0,
            next_table: 1 << 40,
            contexts: Vec::new(),
            option_line,
            line: LineState::default(),
            log: Vec::new(),
            cpus_done: 0,
            end: None,
            far,
            faults,
            random: seed | 1,
            turn_ns,
            turn: 0,
            turns: 0,
            act_at_ns: Some(0),
        };
        let bells = (0..cpus).map(|_| Condvar::new()).collect();
        Arc::new(Self { state: Mutex::new(state), bells, done: Condvar::new() })
    }

    /// The world of the calling thread, and its CPU.
    pub(super) fn mine() -> (Arc<Self>, usize) {
        MINE.with(|mine| mine.borrow().clone()).expect("a CPU's thread")
    }

    pub(super) fn enter(self: &Arc<Self>, cpu: usize) {
        MINE.with(|mine| *mine.borrow_mut() = Some((Arc::clone(self), cpu)));
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The history ends in this way. Nobody gets a turn any more.
    pub(super) fn end(&self, how: Result<(), String>) {
        let mut state = self.lock();
        if state.end.is_none() || how.is_err() {
            state.end = Some(how);
        }
        drop(state);
        self.bells.iter().for_each(Condvar::notify_all);
    }

    pub(super) fn wait_until_all_are_done(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.cpus_done < state.cpus.len() {
            state = self.done.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        state
    }

    pub(super) fn leave(&self, cpu: usize) {
        let mut state = self.lock();
        state.cpus_done += 1;
        state.cpus[cpu].away = true;
        drop(state);
        self.done.notify_all();
    }

    /// Waits for the CPU's first turn.
    pub(super) fn begin(&self, cpu: usize) {
        let state = self.lock();
        self.wait_for_turn(state, cpu);
    }

    /// Another CPU may go on; returns when this one may.
    pub(super) fn pass(&self, cpu: usize) {
        let mut state = self.lock();
        state.next_turn();
        if state.end.is_some() {
            self.bells.iter().for_each(Condvar::notify_all);
        } else if state.turn != cpu {
            self.bells[state.turn].notify_one();
        }
        self.wait_for_turn(state, cpu);
    }

    fn wait_for_turn<'a>(&'a self, mut state: MutexGuard<'a, State>, cpu: usize) {
        while state.end.is_none() && state.turn != cpu {
            state = self.bells[cpu].wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        if state.end.is_some() {
            drop(state);
            panic::resume_unwind(Box::new("the history is over"));
        }
    }
}

impl State {
    pub fn random(&mut self, below: u64) -> u64 {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below.max(1)
    }

    pub fn die(&mut self, why: String) {
        self.end = Some(Err(why));
    }

    fn may_go_on(&self, cpu: &CpuState) -> bool {
        let is_over = |end: u64| end <= self.now_ns;
        !cpu.away && cpu.halted.is_none_or(|until| cpu.attention != 0 || until.is_some_and(is_over))
    }

    /// Chooses who goes on. If all halt, time goes on to where one of them, a packet or the far end has something to do.
    fn next_turn(&mut self) {
        self.turns += 1;
        if self.turns > MOST_TURNS {
            return self.die(format!("{MOST_TURNS} turns: the history has no end"));
        }
        self.now_ns += self.turn_ns;
        if self.turns.is_multiple_of(ACT_EVERY) || self.act_at_ns.is_some_and(|at| at <= self.now_ns) {
            self.let_far_act();
        }
        loop {
            self.deliver();
            let mut able: Vec<usize> =
                (0..self.cpus.len()).filter(|&index| self.may_go_on(&self.cpus[index])).collect();
            if self.last_cpu_sleeps() {
                able.retain(|&index| index + 1 < self.cpus.len());
            }
            if !able.is_empty() {
                self.turn = able[self.random(able.len() as u64) as usize];
                return;
            }
            let deadlines = self.cpus.iter().filter(|cpu| !cpu.away).filter_map(|cpu| cpu.halted.flatten());
            let packets = self.line.under_way.iter().map(|&(at, _)| at);
            let Some(next) = deadlines.chain(packets).chain(self.act_at_ns).min() else {
                if self.last_cpu_sleeps() {
                    self.turns += 1;
                    continue;
                }
                return self.die("all CPUs halt, and nothing will come".to_owned());
            };
            self.now_ns = self.now_ns.max(next);
            if self.act_at_ns.is_some_and(|at| at <= self.now_ns) {
                self.let_far_act();
            }
        }
    }

    fn last_cpu_sleeps(&self) -> bool {
        self.turns.checked_div(self.faults.sleeps).is_some_and(|span| span % 2 == 1)
    }

    fn let_far_act(&mut self) {
        let mut sent = Vec::new();
        self.act_at_ns = self.far.act(self.now_ns, &mut |port, packet| sent.push((port, packet.to_vec())));
        let now = self.now_ns;
        self.act_at_ns = self.act_at_ns.map(|at| at.max(now + 1));
        self.send_all(sent);
    }

    /// The node has sent a packet to a port.
    pub fn send_far(&mut self, port: u16, packet: &[u8]) {
        for _ in 0..self.copies() {
            let mut sent = Vec::new();
            self.far.packet(port, packet, &mut |port, packet| sent.push((port, packet.to_vec())));
            self.send_all(sent);
        }
        // it may have something to say now
        self.act_at_ns = Some(self.now_ns + 1);
    }

    pub fn has_room(&mut self) -> bool {
        self.faults.full == 0 || self.random(256) as u8 >= self.faults.full
    }

    /// How often a packet arrives.
    fn copies(&mut self) -> u32 {
        let (lost, doubled) = (self.faults.lost, self.faults.doubled);
        match self.random(256) as u8 {
            luck if luck < lost => 0,
            luck if luck < lost.saturating_add(doubled) => 2,
            _ => 1,
        }
    }

    fn send_all(&mut self, sent: Vec<(u16, Vec<u8>)>) {
        for (port, packet) in sent {
            let mut frame = port.to_le_bytes().to_vec();
            frame.extend((packet.len() as u16).to_le_bytes());
            frame.extend(packet);
            for _ in 0..self.copies() {
                let delay = self.faults.delay_ns;
                let at = self.now_ns + self.random(delay + 1);
                self.line.under_way.push((at, frame.clone()));
            }
        }
    }

    /// Hands over what has arrived by now.
    fn deliver(&mut self) {
        let now = self.now_ns;
        let (arrived, later): (Vec<_>, Vec<_>) = self.line.under_way.drain(..).partition(|&(at, _)| at <= now);
        self.line.under_way = later;
        if arrived.is_empty() {
            return;
        }
        arrived.into_iter().for_each(|(_, frame)| self.line.incoming.extend(frame));
        if self.line.listens {
            self.line.listens = false;
            self.cpus[0].attention |= self.line.request.unwrap_or(0);
        }
    }
}

/// The processor's counter.
pub fn cycles() -> u64 {
    World::mine().0.lock().now_ns
}

/// Between two looks at what another CPU changes.
pub fn relax() {
    let (world, cpu) = World::mine();
    world.pass(cpu);
}

/// A value that CPUs lock. Each lock may be another CPU's turn before.
pub struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        loop {
            match self.0.try_lock() {
                Ok(mut value) => return work(&mut value),
                Err(std::sync::TryLockError::Poisoned(poisoned)) => return work(&mut poisoned.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) => relax(),
            }
        }
    }

    pub fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        match self.0.try_lock() {
            Ok(mut value) => Some(work(&mut value)),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(work(&mut poisoned.into_inner())),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}
