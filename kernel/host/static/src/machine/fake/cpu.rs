// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU: its doorbell, its timer, and user mode.

use super::instructions::{self, Fault, Step};
use super::memory;
use super::user::User;
use super::world::{State, World};
use std::ops::ControlFlow;
use tacet_arch::{Exit, Mode, Processor, Turn};

/// The interrupt that ends a turn.
const ALARM: u8 = 240;
const CYCLES_PER_MS: u64 = 1_000_000;

pub struct Cpu {
    index: usize,
}

impl Cpu {
    pub(super) fn new(index: usize) -> Self {
        Self { index }
    }

    /// The link's interrupt is this request from here on.
    pub fn listen_to_link(&self, request: u32) {
        World::mine().0.lock().line.request = Some(request);
    }

    /// Halts until something comes by the link, too.
    pub fn halt_for_link(&self, ticks: u64) {
        let (world, _) = World::mine();
        let request = world.lock().line.request.take();
        self.halt(Some(ticks));
        let mut state = world.lock();
        state.line.request = request;
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut World::mine().0.lock())
    }

    fn user_word<T>(&self, address: u64, write: bool, work: impl FnOnce(&mut [u8; 4]) -> T) -> Option<T> {
        self.with(|state| {
            let root = state.cpus[self.index].root;
            let (physical, _, rights) = memory::find(state, root, address).filter(|_| address.is_multiple_of(4))?;
            if !rights.read || write && !rights.write {
                return None;
            }
            let at = (physical - memory::RAM_BASE) as usize;
            Some(work(state.ram.get_mut(at..)?.first_chunk_mut()?))
        })
    }
}

impl Processor for Cpu {
    type User<'a> = User<'a>;

    fn index(&self) -> u32 {
        self.index as u32
    }

    fn cycles(&self) -> u64 {
        super::world::cycles()
    }

    fn ticks(&self, ns: u64) -> u64 {
        ns
    }

    fn cycles_per_ms(&self) -> u64 {
        CYCLES_PER_MS
    }

    fn spin(&self, ns: u64, done: impl Fn() -> bool) {
        let begin = self.cycles();
        while !done() && self.cycles() - begin < ns {
            super::world::relax();
        }
    }

    fn run<'a, T>(&self, user: &User<'a>, mut ended: impl FnMut(&User<'a>) -> ControlFlow<T>) -> Option<T> {
        let (world, _) = World::mine();
        loop {
            world.pass(self.index);
            let mut state = world.lock();
            let CpuState { attention, turn_ends, root } = CpuState::of(&state, self.index);
            if attention != 0 {
                return None;
            }
            let exit = if turn_ends != 0 && turn_ends <= state.now_ns {
                Exit::Interrupt(ALARM)
            } else {
                state.cpus[self.index].executed += 1;
                let mut registers = state.contexts[user.number as usize].registers;
                let step = instructions::execute(&mut state, root, &mut registers);
                let exit = match step {
                    Step::Next => None,
                    Step::Call => Some(Exit::Call),
                    Step::Fault(Fault::Exception(vector)) => Some(Exit::Exception(vector)),
                    Step::Fault(Fault::Page { address, error }) => {
                        registers.error = error;
                        Some(Exit::PageFault(address))
                    }
                };
                state.contexts[user.number as usize].registers = registers;
                match exit {
                    Some(exit) => exit,
                    None => continue,
                }
            };
            state.contexts[user.number as usize].exit = exit;
            drop(state);
            if let ControlFlow::Break(end) = ended(user) {
                return Some(end);
            }
        }
    }

    fn load_state(&self, _: &User<'_>) -> Result<(), u8> {
        Ok(())
    }

    fn resume_state(&self, _: &User<'_>) {}

    fn store_state(&self, _: &User<'_>) {}

    fn user_load(&self, address: u64) -> Option<u32> {
        self.user_word(address, false, |word| u32::from_le_bytes(*word))
    }

    fn user_store(&self, address: u64, value: u32) -> Option<()> {
        self.user_word(address, true, |word| *word = value.to_le_bytes())
    }

    fn user_exchange(&self, address: u64, from: u32, to: u32) -> Option<u32> {
        self.user_word(address, true, |word| {
            let found = u32::from_le_bytes(*word);
            if found == from {
                *word = to.to_le_bytes();
            }
            found
        })
    }

    fn load_space(&self, root: u64) {
        self.with(|state| state.cpus[self.index].root = root);
    }

    fn leave_space(&self) {
        self.load_space(0);
    }

    fn part_users(&self) {}

    /// Page tables are read anew for each access.
    fn flush(&self, _: u64) {}

    fn take_attention(&self) -> u32 {
        self.with(|state| std::mem::take(&mut state.cpus[self.index].attention))
    }

    fn is_wanted(&self) -> bool {
        self.with(|state| state.cpus[self.index].attention != 0)
    }

    fn call(&self, index: u32, requests: u32) {
        self.with(|state| state.cpus[index as usize].attention |= requests);
    }

    fn call_for_woken(&self, index: u32, requests: u32) {
        self.call(index, requests);
    }

    fn set_mode(&self, _: Mode) {}

    fn halt(&self, ticks: Option<u64>) {
        let (world, _) = World::mine();
        let mut state = world.lock();
        let until = ticks.map(|ticks| state.now_ns.saturating_add(ticks));
        state.cpus[self.index].halted = Some(until);
        drop(state);
        world.pass(self.index);
        world.lock().cpus[self.index].halted = None;
    }

    fn begin_turn(&self, ticks: u64) {
        self.with(|state| state.cpus[self.index].turn_ends = state.now_ns.saturating_add(ticks));
    }

    fn end_turn(&self) {
        self.with(|state| state.cpus[self.index].turn_ends = 0);
    }

    fn turn(&self) -> Turn {
        self.with(|state| match state.cpus[self.index].turn_ends {
            0 => Turn::Endless,
            ends if ends > state.now_ns => Turn::Begun,
            _ => Turn::Over,
        })
    }

    fn foreign_interrupt(&self, vector: u8) {
        assert_eq!(vector, ALARM, "an interrupt that nobody ordered");
    }
}

/// The parts of a CPU's state that `run` looks at before each instruction.
struct CpuState {
    attention: u32,
    turn_ends: u64,
    root: u64,
}

impl CpuState {
    fn of(state: &State, index: usize) -> Self {
        let cpu = &state.cpus[index];
        Self { attention: cpu.attention, turn_ends: cpu.turn_ends, root: cpu.root }
    }
}
