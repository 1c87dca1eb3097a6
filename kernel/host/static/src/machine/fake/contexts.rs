// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The registers of threads.

use super::cpu::Cpu;
use super::saved::{EXTENDED_BYTES, Saved};
use super::user::{User, with};
use super::world::World;
use std::marker::PhantomData;
use tacet_arch::Processor;
use tacet_arch::x86_64::{CALL_VECTOR, UserRegisters};

/// Bits of XCR0: x87 and SSE.
const FEATURES: u64 = 3;

#[derive(Clone, Copy)]
pub struct Contexts {
    count: u32,
}

impl Contexts {
    pub(super) fn new(count: u32) -> Self {
        let (world, _) = World::mine();
        world.lock().contexts = vec![Saved::new(); count as usize];
        Self { count }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn take(&self, number: u32, cpu: &Cpu) -> bool {
        self.change_owner(number, 0, cpu.index() + 1)
    }

    pub fn release(&self, number: u32, cpu: &Cpu) -> bool {
        self.change_owner(number, cpu.index() + 1, 0)
    }

    fn change_owner(&self, number: u32, from: u32, to: u32) -> bool {
        let (world, _) = World::mine();
        let mut state = world.lock();
        let Some(saved) = state.contexts.get_mut(number as usize).filter(|saved| saved.owner == from) else {
            return false;
        };
        saved.owner = to;
        true
    }

    pub fn get<'a>(&'a self, number: u32, cpu: &'a Cpu) -> Option<Context<'a>> {
        let (world, _) = World::mine();
        let own = world.lock().contexts.get(number as usize)?.owner == cpu.index() + 1;
        own.then_some(Context { number, lifetime: PhantomData })
    }
}

/// A context that this CPU has.
pub struct Context<'a> {
    number: u32,
    lifetime: PhantomData<&'a Cpu>,
}

impl<'a> Context<'a> {
    pub fn user(&self) -> User<'a> {
        User { number: self.number, lifetime: PhantomData }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Saved) -> T) -> T {
        with(self.number, work)
    }

    pub fn reset(&self) {
        self.with(|saved| {
            *saved = Saved { owner: saved.owner, ..Saved::new() };
        });
    }

    pub fn copy_from(&self, other: &Context<'_>) {
        let from = other.with(|saved| saved.clone());
        self.with(|saved| *saved = Saved { owner: saved.owner, ..from });
    }

    pub fn registers(&self) -> UserRegisters {
        self.with(|saved| saved.registers)
    }

    pub fn set_registers(&self, registers: &UserRegisters) -> bool {
        self.with(|saved| saved.registers = UserRegisters { vector: CALL_VECTOR, ..*registers });
        true
    }

    pub fn fs_base(&self) -> u64 {
        self.with(|saved| saved.fs_base)
    }

    pub fn set_fs_base(&self, base: u64) -> bool {
        self.with(|saved| saved.fs_base = base);
        true
    }

    pub fn gs_base(&self) -> u64 {
        self.with(|saved| saved.gs_base)
    }

    pub fn set_gs_base(&self, base: u64) -> bool {
        self.with(|saved| saved.gs_base = base);
        true
    }

    pub fn extended_bytes(&self) -> usize {
        EXTENDED_BYTES
    }

    pub fn extended_features(&self) -> u64 {
        FEATURES
    }

    pub fn read_extended(&self, to: &mut [u8]) -> bool {
        self.with(|saved| to.copy_from_slice(&saved.extended));
        true
    }

    pub fn write_extended(&self, from: &[u8]) -> bool {
        self.with(|saved| saved.extended.copy_from_slice(from));
        true
    }
}
