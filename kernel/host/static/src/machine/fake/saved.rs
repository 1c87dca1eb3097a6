// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread's user state, as it is kept while the thread does not run.

use tacet_arch::Exit;
use tacet_arch::x86_64::UserRegisters;

/// As the smallest that XSAVE writes: the legacy area and its header.
pub const EXTENDED_BYTES: usize = 576;

#[derive(Clone)]
pub struct Saved {
    pub registers: UserRegisters,
    pub fs_base: u64,
    pub gs_base: u64,
    pub extended: Vec<u8>,
    pub exit: Exit,
    /// Its CPU + 1, or 0.
    pub owner: u32,
}

impl Saved {
    pub fn new() -> Self {
        Self {
            registers: UserRegisters::default(),
            fs_base: 0,
            gs_base: 0,
            extended: vec![0; EXTENDED_BYTES],
            exit: Exit::Call,
            owner: 0,
        }
    }
}
