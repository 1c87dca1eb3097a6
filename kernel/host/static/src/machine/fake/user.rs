// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread's user state, as the core asks for it.

use super::saved::Saved;
use super::world::World;
use std::marker::PhantomData;
use tacet_arch::x86_64::UserRegisters;
use tacet_arch::{Access, Exit, UserState};

pub fn with<T>(number: u32, work: impl FnOnce(&mut Saved) -> T) -> T {
    let (world, _) = World::mine();
    work(&mut world.lock().contexts[number as usize])
}

/// A thread's user state.
pub struct User<'a> {
    pub(super) number: u32,
    pub(super) lifetime: PhantomData<&'a ()>,
}

impl UserState for User<'_> {
    fn is_call(&self) -> bool {
        self.exit() == Exit::Call
    }

    fn call_number(&self) -> u64 {
        with(self.number, |saved| saved.registers.rax & 0xffff_ffff)
    }

    fn arguments(&self) -> [u64; 6] {
        with(self.number, |saved| {
            let UserRegisters { rdi, rsi, rdx, r10, r8, r9, .. } = saved.registers;
            [rdi, rsi, rdx, r10, r8, r9]
        })
    }

    fn set_result(&self, result: u64) {
        with(self.number, |saved| saved.registers.rax = result);
    }

    fn exit(&self) -> Exit {
        with(self.number, |saved| saved.exit)
    }

    fn access(&self) -> Option<Access> {
        None
    }
}
