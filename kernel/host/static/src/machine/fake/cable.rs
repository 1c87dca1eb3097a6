// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cable to an emulator, which a machine that is made up does not have.

use super::node::Machine;

/// There is none: the machine has a console.
pub struct Cable(());

impl Cable {
    pub fn open(_: &mut Machine, _: usize) -> Option<Self> {
        None
    }

    pub fn listen(&mut self, _: bool) -> bool {
        false
    }

    pub fn interrupts(&self) -> bool {
        false
    }

    pub fn has_room(&mut self) -> bool {
        false
    }

    pub fn send(&mut self, _: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        false
    }

    pub fn receive(&mut self, _: impl FnOnce(&[u8])) -> Option<()> {
        None
    }
}
