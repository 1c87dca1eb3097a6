// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Functions as the count sees them: a frame, and calls from it.

use std::collections::BTreeMap;

/// Where a function begins.
pub type Address = u64;

/// What a call pushes.
pub const WORD: usize = 8;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// What it has on the stack at most, without its return address.
    pub frame: usize,
    /// Whom it calls, and what is on the stack then, with the return address of the call.
    pub calls: Vec<(usize, Address)>,
    /// What is on the stack at indirect calls whose target the code does not say.
    pub indirect: Vec<usize>,
}

pub type Functions = BTreeMap<Address, Function>;
