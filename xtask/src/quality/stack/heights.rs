// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What one function has on the stack at each of its instructions, and so at its calls.
//!
//! Every way through the function is followed; where two ways meet, the greater height holds. A part that no way leads to
//! is reached by a table of jumps: it begins with the greatest height of such a jump.

use std::collections::BTreeMap;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::code::{Address, Function, WORD};

/// Where more is on the stack, a loop pushes.
const LIMIT: i64 = 65536;

/// What lies around a function.
pub struct Surroundings<'a> {
    /// Where functions begin, in order.
    pub heads: &'a [Address],
    /// The pointer that the image has at an address.
    pub pointer: &'a dyn Fn(Address) -> Option<Address>,
}

/// A function's instructions, and the height before each.
struct Body<'a> {
    own: Address,
    name: &'a str,
    instructions: BTreeMap<Address, Instruction>,
    heights: BTreeMap<Address, i64>,
}

pub fn examine(name: String, own: Address, code: &[u8], around: &Surroundings) -> Result<Function, String> {
    let decoded = Decoder::with_ip(64, code, own, DecoderOptions::NONE);
    let instructions = decoded.into_iter().map(|each| (each.ip(), each)).collect();
    let mut body = Body { own, name: &name, instructions, heights: BTreeMap::new() };
    let mut begin = Some((own, 0));
    while let Some((at, height)) = begin {
        body.follow(at, height)?;
        begin = body.unreached();
    }
    let (mut calls, mut indirect, mut frame) = (Vec::new(), Vec::new(), 0);
    for (at, &height) in &body.heights {
        let Some(instruction) = body.instructions.get(at) else { continue };
        frame = frame.max(height).max(body.after(instruction, height)?);
        match body.way(instruction, around) {
            Way::Call(callee) => calls.push((height as usize + WORD, callee)),
            Way::Away(callee) => calls.push((height as usize, callee)),
            Way::Unknown if instruction.flow_control() == FlowControl::IndirectCall => {
                indirect.push(height as usize + WORD)
            }
            Way::Unknown => indirect.push(height as usize),
            Way::Own => {}
        }
    }
    Ok(Function { name, frame: frame as usize, calls, indirect })
}

/// Where an instruction leads out of its function.
enum Way {
    Call(Address),
    /// Without a return address.
    Away(Address),
    Unknown,
    /// It stays, or returns.
    Own,
}

impl Body<'_> {
    /// Follows every way from `at`.
    fn follow(&mut self, at: Address, height: i64) -> Result<(), String> {
        let mut open = vec![(at, height)];
        while let Some((at, height)) = open.pop() {
            let Some(instruction) = self.instructions.get(&at) else { continue };
            if self.heights.get(&at).is_some_and(|known| *known >= height) {
                continue;
            }
            if height > LIMIT {
                return Err(format!("stack: {} pushes without an end", self.name));
            }
            self.heights.insert(at, height);
            let after = self.after(instruction, height)?;
            match instruction.flow_control() {
                FlowControl::UnconditionalBranch => open.push((instruction.near_branch_target(), after)),
                FlowControl::ConditionalBranch => {
                    open.extend([(instruction.near_branch_target(), after), (instruction.next_ip(), after)]);
                }
                FlowControl::IndirectBranch | FlowControl::Return | FlowControl::Exception => {}
                _ => open.push((instruction.next_ip(), after)),
            }
        }
        Ok(())
    }

    /// The first instruction that no way has led to, and the height that it has.
    fn unreached(&self) -> Option<(Address, i64)> {
        let by_table = |instruction: &&Instruction| instruction.flow_control() == FlowControl::IndirectBranch;
        let tables = self.instructions.values().filter(by_table).filter_map(|jump| self.heights.get(&jump.ip()));
        let height = tables.max().or(self.heights.values().max());
        let left = self.instructions.values().find(|each| !self.heights.contains_key(&each.ip()) && !is_filler(each));
        Some((left?.ip(), height.copied().unwrap_or(0)))
    }

    /// The height after an instruction.
    fn after(&self, instruction: &Instruction, height: i64) -> Result<i64, String> {
        let own = instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register() == Register::RSP;
        let constant = || match instruction.op1_kind() {
            OpKind::Register | OpKind::Memory => Err(format!("stack: {} moves its stack by a variable", self.name)),
            _ => Ok(instruction.immediate(1) as i64),
        };
        let more = match instruction.mnemonic() {
            Mnemonic::Call => 0,
            Mnemonic::Sub if own => constant()?,
            Mnemonic::Add if own => -constant()?,
            // what it rounds off at most
            Mnemonic::And if own => -constant()?,
            Mnemonic::Lea if own && instruction.memory_base() == Register::RSP => {
                -(instruction.memory_displacement64() as i64)
            }
            // Back to an earlier stack, or to one of its own: with no more on it than before.
            _ if own => 0,
            _ => -i64::from(instruction.stack_pointer_increment()),
        };
        Ok((height + more).max(0))
    }

    fn way(&self, instruction: &Instruction, around: &Surroundings) -> Way {
        let constant = instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address());
        let pointer = constant.and_then(around.pointer);
        let elsewhere = |target| match self.instructions.contains_key(&target) {
            true => Way::Own,
            false => around.head(target).map_or(Way::Own, Way::Away),
        };
        match instruction.flow_control() {
            // A call of a part of its own: what handwritten code does with that is written down.
            FlowControl::Call
                if self.instructions.contains_key(&instruction.near_branch_target())
                    && instruction.near_branch_target() != self.own =>
            {
                Way::Own
            }
            FlowControl::Call => around.head(instruction.near_branch_target()).map_or(Way::Unknown, Way::Call),
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                elsewhere(instruction.near_branch_target())
            }
            FlowControl::IndirectCall => pointer.and_then(|at| around.head(at)).map_or(Way::Unknown, Way::Call),
            FlowControl::IndirectBranch if instruction.memory_index_scale() == WORD as u32 => Way::Own,
            FlowControl::IndirectBranch => pointer.map_or(Way::Unknown, elsewhere),
            // handwritten code goes on with the next name; behind a last call lies nothing
            FlowControl::Next if !self.instructions.contains_key(&instruction.next_ip()) => {
                elsewhere(instruction.next_ip())
            }
            _ => Way::Own,
        }
    }
}

impl Surroundings<'_> {
    /// The function that an address belongs to.
    fn head(&self, at: Address) -> Option<Address> {
        let after = self.heads.partition_point(|head| *head <= at);
        self.heads.get(after.checked_sub(1)?).copied()
    }
}

/// Between functions and their parts.
fn is_filler(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::INVALID | Code::Int3) || instruction.mnemonic() == Mnemonic::Nop
}
