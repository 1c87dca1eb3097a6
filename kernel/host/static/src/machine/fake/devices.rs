// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The line of bytes to the far end, the log, and the end of the machine.

use super::world::World;
use std::fmt::Arguments;
use std::panic;

/// Port and length, two bytes each (`link/network/frames.rs`).
const HEAD_BYTES: usize = 4;

pub struct Console(pub(super) ());

impl Console {
    pub fn listen(&mut self, wanted: bool) -> bool {
        let (world, _) = World::mine();
        let mut state = world.lock();
        state.line.listens = wanted;
        wanted && state.line.incoming.is_empty()
    }

    pub fn interrupts(&self) -> bool {
        true
    }

    pub fn has_room(&mut self) -> bool {
        World::mine().0.lock().has_room()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        let (world, _) = World::mine();
        let mut state = world.lock();
        state.line.outgoing.extend(bytes);
        while let Some(&[p0, p1, l0, l1]) = state.line.outgoing.first_chunk::<HEAD_BYTES>() {
            let end = HEAD_BYTES + usize::from(u16::from_le_bytes([l0, l1]));
            if state.line.outgoing.len() < end {
                break;
            }
            let frame: Vec<u8> = state.line.outgoing.drain(..end).collect();
            state.send_far(u16::from_le_bytes([p0, p1]), &frame[HEAD_BYTES..]);
        }
    }

    pub fn receive(&mut self, to: &mut [u8]) -> usize {
        let (world, _) = World::mine();
        let mut state = world.lock();
        let count = to.len().min(state.line.incoming.len());
        state.line.incoming.drain(..count).zip(to).for_each(|(byte, to)| *to = byte);
        count
    }
}

/// There is none: the machine has a console.
pub struct Network(());

impl Network {
    pub fn address(&self) -> [u8; 6] {
        [0; 6]
    }

    pub fn listen(&mut self, _: bool) -> bool {
        false
    }

    pub fn hear_broadcasts(&mut self, _: bool) {}

    pub fn interrupts(&self) -> bool {
        false
    }

    pub fn has_room(&mut self) -> bool {
        false
    }

    pub fn send(&mut self, _: &[u8]) -> bool {
        false
    }

    pub fn receive(&mut self, _: &mut [u8]) -> Option<usize> {
        None
    }
}

/// The errors in the CPU's banks.
pub fn take_corrected() -> u64 {
    let (world, cpu) = World::mine();
    std::mem::take(&mut world.lock().cpus[cpu].corrected)
}

/// A line of the node's log.
pub fn log(line: &[u8]) {
    World::mine().0.lock().log.push(String::from_utf8_lossy(line).into_owned());
}

/// The kernel gives up: the history has failed.
pub fn die(reason: Arguments<'_>) -> ! {
    World::mine().0.end(Err(format!("the kernel died: {reason}")));
    panic::resume_unwind(Box::new("the kernel died"))
}

/// The machine begins anew, which ends its history.
pub fn reset() -> ! {
    log(b"the machine begins anew");
    power_off(0)
}

/// The machine ends, as it was told to.
pub fn power_off(status: u8) -> ! {
    World::mine().0.end(if status == 0 { Ok(()) } else { Err(format!("the machine ended with {status}")) });
    panic::resume_unwind(Box::new("the machine ended"))
}
