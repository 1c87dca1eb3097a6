// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fake processor. It pauses where others may come in between.

use crate::program::{Action, Call, load_time, word_at};
use crate::world::{Sabotage, ThreadState, World};
use std::ops::ControlFlow;
use tacet_arch::{Access, Exit, Mode, Processor, Turn, UserState};
use tacet_core::request;

/// A CPU's coroutine comes back with this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Anybody may be next.
    Open,
    /// The CPU holds a lock: Linux may write words that it shares, but no other CPU runs.
    Locked,
    /// The CPU's service has ended.
    Ended,
}

/// One CPU and the way out of its coroutine.
#[derive(Clone, Copy)]
pub struct Seat<'s> {
    pub world: &'s World,
    pub cpu: usize,
    pub pause: &'s dyn Fn(Pause),
}

impl Seat<'_> {
    pub fn pause(&self) {
        (self.pause)(Pause::Open);
    }

    pub fn pause_locked(&self) {
        (self.pause)(Pause::Locked);
    }

    pub fn state(&self) -> &crate::world::CpuState {
        &self.world.cpus[self.cpu]
    }
}

/// The registers of a thread.
pub struct FakeUser<'a> {
    pub world: &'a World,
    pub number: u32,
}

impl FakeUser<'_> {
    fn thread(&self) -> &ThreadState {
        self.world.thread(self.number)
    }

    pub fn call(&self) -> Call {
        self.thread().call.get()
    }
}

impl UserState for FakeUser<'_> {
    fn is_call(&self) -> bool {
        self.exit() == Exit::Call
    }

    fn call_number(&self) -> u64 {
        self.call().0
    }

    fn arguments(&self) -> [u64; 6] {
        self.call().1
    }

    fn set_result(&self, result: u64) {
        self.world.answered(self.number, result);
        self.thread().result.set(result);
    }

    fn exit(&self) -> Exit {
        self.thread().exit.get()
    }

    fn access(&self) -> Option<Access> {
        Some(Access::Write)
    }
}

pub struct FakeProcessor<'s>(pub Seat<'s>);

impl Processor for FakeProcessor<'_> {
    type User<'a> = FakeUser<'a>;

    /// Asked for before a look at what others write: the list of woken threads, and the places of those that wait. A CPU
    /// that wakes asks with a lock held.
    fn index(&self) -> u32 {
        let locked = self.0.world.books.borrow().futexes.is_waking(self.0.cpu);
        if locked {
            self.0.pause_locked()
        } else {
            self.0.pause()
        }
        self.0.cpu as u32
    }

    fn cycles(&self) -> u64 {
        self.0.world.now.get()
    }

    fn ticks(&self, ns: u64) -> u64 {
        ns
    }

    fn cycles_per_ms(&self) -> u64 {
        1_000_000
    }

    /// How long that is, the history decides.
    fn spin(&self, _: u64, done: impl Fn() -> bool) {
        for _ in 0..2 {
            self.0.pause();
            if done() {
                return;
            }
        }
    }

    fn run<'a, T>(&self, user: &FakeUser<'a>, mut ended: impl FnMut(&FakeUser<'a>) -> ControlFlow<T>) -> Option<T> {
        let (world, number) = (self.0.world, user.number);
        world.enters_user(self.0.cpu, number);
        loop {
            self.0.pause();
            if self.0.state().attention.get() != 0 {
                world.leaves_user(self.0.cpu);
                return None;
            }
            let Some(exit) = world.execute(self.0.cpu, number) else { continue };
            world.thread(number).exit.set(exit);
            world.leaves_user(self.0.cpu);
            if let ControlFlow::Break(end) = ended(user) {
                return Some(end);
            }
            world.enters_user(self.0.cpu, number);
        }
    }

    /// Some exceptions of a program are refusals of its state.
    fn load_state(&self, user: &FakeUser<'_>) -> Result<(), u8> {
        let thread = user.thread();
        if thread.action() == Action::Exception && thread.stays.get().is_multiple_of(2) {
            assert_eq!(self.0.state().live.get(), None, "another thread's state was not stored");
            return Err(13);
        }
        assert_eq!(self.0.state().live.replace(Some(user.number)), None, "another thread's state was not stored");
        self.0.state().registers.set(Some((user.number, thread.version.get())));
        Ok(())
    }

    fn resume_state(&self, user: &FakeUser<'_>) {
        assert_eq!(self.0.state().live.replace(Some(user.number)), None, "another thread's state was not stored");
        let version = user.thread().version.get();
        self.0.world.seen.borrow_mut().resumed += 1;
        assert_eq!(self.0.state().registers.get(), Some((user.number, version)), "the state in the registers is old");
    }

    fn store_state(&self, user: &FakeUser<'_>) {
        assert_eq!(self.0.state().live.take(), Some(user.number), "stored, but not loaded");
        let version = &user.thread().version;
        version.set(version.get() + 1);
        self.0.state().registers.set(Some((user.number, version.get())));
    }

    /// Only of a futex is anybody's lock held.
    fn user_load(&self, address: u64) -> Option<u32> {
        let root = self.0.state().root.get();
        let space = self.0.world.spaces.iter().find(|space| space.root.get() == root).expect("no space is loaded");
        let Some(word) = word_at(address) else { return load_time(address) };
        self.0.pause_locked();
        let value = space.words[word].get();
        self.0.world.books.borrow_mut().futexes.loaded(self.0.cpu, (root, word), value);
        Some(value)
    }

    /// What is written there, nobody asks.
    fn user_store(&self, address: u64, _: u32) -> Option<()> {
        (0x20_0000..0x30_0000).contains(&address).then_some(())
    }

    fn user_exchange(&self, _: u64, _: u32, _: u32) -> Option<u32> {
        None
    }

    fn load_space(&self, root: u64) {
        let known = self.0.world.spaces.iter().any(|space| space.root.get() == root && !space.dropping.get());
        assert!(known, "space {root:#x} is loaded after Linux has taken it away");
        if self.0.state().root.replace(root) != root {
            self.0.state().tlb.forget();
        }
    }

    fn leave_space(&self) {
        self.0.state().root.set(0);
        self.0.state().tlb.forget();
    }

    fn part_users(&self) {
        assert_eq!(self.0.state().live.get(), None, "a thread's state is loaded while users are parted");
        self.0.state().registers.set(None);
        if !self.0.world.goes_wrong(Sabotage::KeepsTraces) {
            self.0.state().left_by.set(0);
        }
    }

    /// Rings every other CPU that has the address space, and waits for them.
    fn flush(&self, root: u64) {
        self.0.pause();
        let all = self.0.world.cpus.iter().enumerate();
        let asked = all.filter(|(_, state)| root == 0 || state.root.get() == root);
        let keeps = self.0.world.goes_wrong(Sabotage::SkipsFlush);
        let count = &self.0.world.memory.flush_bells;
        for (cpu, state) in asked {
            count.set(count.get() + u32::from(cpu != self.0.cpu));
            if !keeps {
                state.tlb.forget();
            }
        }
    }

    fn take_attention(&self) -> u32 {
        self.0.pause();
        let requests = self.0.state().attention.take();
        self.0.state().looks_at_recalls.set(requests & request::RECALL != 0);
        self.0.pause();
        requests
    }

    fn is_wanted(&self) -> bool {
        self.0.state().attention.get() != 0
    }

    fn call(&self, index: u32, requests: u32) {
        unreachable!("the co-kernel rings for woken threads alone, not CPU {index} for {requests:#x}");
    }

    fn call_for_woken(&self, index: u32, requests: u32) {
        let (world, cpu) = (self.0.world, index as usize);
        // While it hands over one of several threads it holds the bucket's lock; of the last one it does not.
        if world.books.borrow().last_woken_home(self.0.cpu) == Some(cpu) {
            world.wake_up_ends(self.0.cpu);
            self.0.pause();
        } else {
            self.0.pause_locked();
        }
        if !world.cpus[cpu].spins.get() && !world.goes_wrong(Sabotage::DropBell) {
            world.cpus[cpu].attention.set(world.cpus[cpu].attention.get() | requests);
        }
        world.books.borrow_mut().delivered(self.0.cpu, cpu);
    }

    fn set_mode(&self, mode: Mode) {
        self.0.world.set_mode(self.0.cpu, mode);
        if mode == Mode::Idle {
            self.0.pause();
        }
    }

    fn halt(&self, ticks: Option<u64>) {
        let state = self.0.state();
        state.halted.set(Some(ticks.map(|ticks| self.cycles() + ticks)));
        while self.0.world.is_asleep(self.0.cpu) {
            self.0.pause();
        }
        state.halted.set(None);
    }

    /// Turns are Linux's.
    fn begin_turn(&self, _: u64) {
        panic!("a turn begins on a CPU whose host shares it out");
    }

    fn end_turn(&self) {
        panic!("a turn ends on a CPU whose host shares it out");
    }

    fn turn(&self) -> Turn {
        Turn::Endless
    }

    fn foreign_interrupt(&self, _: u8) {}
}
