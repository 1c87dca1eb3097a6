// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's side of its conversation with the daemon: the session's key, and the question for orders that is open.

use crate::machine::cycles;
use tacet_wire::key::{Key, NONCE_BYTES};

/// The node's session with its daemon. CPU 0 uses it between jobs; during a job, any CPU that looks for orders.
pub struct Session {
    pub key: Key,
    /// Of the last ask; it goes on over sessions.
    sequence: u64,
    pub nonce: [u8; NONCE_BYTES],
}

impl Session {
    /// `random`: bytes that nobody guesses, if the processor makes some.
    pub fn new(key: &Key, random: Option<[u8; 32]>) -> Self {
        let mut nonce = [0; NONCE_BYTES];
        match random {
            Some(random) => nonce.iter_mut().zip(random).for_each(|(byte, random)| *byte = random),
            // Another one with each boot, which is what a nonce must be.
            None => nonce.iter_mut().zip(cycles().to_le_bytes()).for_each(|(byte, now)| *byte = now),
        }
        Self { key: key.clone(), sequence: 0, nonce }
    }

    /// The daemon has welcomed the node, which has this number and key, with this nonce.
    pub fn begin(&mut self, node: u32, key: &Key, welcome: &[u8; NONCE_BYTES]) {
        self.key = key.session(node, &self.nonce, welcome);
    }

    /// The sequence number of the next ask.
    pub fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

/// The question for orders (`Ask::Watch`). Its message and its answer are in the link's exchange for orders.
pub struct Watch {
    /// Of the last question; it goes on over jobs.
    pub sequence: u64,
    pub job: u32,
    /// A question is open.
    pub open: bool,
    /// The question is a greeting.
    pub greets: bool,
    /// When, by the processor's counter, the daemon was asked last.
    pub asked: u64,
}

impl Watch {
    pub const NONE: Self = Self { sequence: 0, job: 0, open: false, greets: false, asked: 0 };
}
