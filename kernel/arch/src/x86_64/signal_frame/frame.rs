// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frame: return address, `struct ucontext`, `siginfo_t`.

use super::extended::EXTENDED_END_BYTES;
use super::general::{REGISTERS, Registers};
use tacet_logic::signals::{Action, AlternateStack, Handler, Info, Set};

/// Bytes of the frame without the extended state.
pub const FRAME_BYTES: usize = 440;

/// Where the parts are in the frame. The context of 304 bytes begins behind the return address.
const CONTEXT: usize = 8;
const STACK: usize = CONTEXT + 16;
const GENERAL: usize = CONTEXT + 40;
const SEGMENTS: usize = GENERAL + 8 * REGISTERS;
const TRAP: usize = SEGMENTS + 8;
const EXTENDED: usize = TRAP + 32;
const BLOCKED: usize = CONTEXT + 296;
const INFO: usize = CONTEXT + 304;

/// `uc_flags`: there is extended state, and the frame says which stack segment to restore.
const CONTEXT_FLAGS: u64 = 1 | 2 | 4;
/// `cs`, `gs`, `fs`, `ss`, 16 bits each, as a 64-bit program has them on Linux.
const USER_SEGMENTS: u64 = 0x33 | 0x2b << 48;
/// Bytes below its stack pointer that the psABI lets a function use.
const RED_ZONE_BYTES: u64 = 128;
const EXTENDED_ALIGNMENT: u64 = 64;
const STACK_ALIGNMENT: u64 = 16;
/// The end of programs' addresses.
const ADDRESS_END: u64 = 1 << 47;

const DIRECTION: u64 = 1 << 10;
const TRAP_FLAG: u64 = 1 << 8;
const RESUME: u64 = 1 << 16;
/// AC, OF, DF, TF, SF, ZF, AF, PF, CF, RF: a program may set these.
const PROGRAM_FLAGS: u64 = 0x0005_0dd5;
/// Interrupts are on, and a bit that always is.
const FIXED_FLAGS: u64 = 0x202;

/// The processor's account of the thread's last exception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trap {
    pub error: u64,
    pub number: u64,
    /// CR2.
    pub address: u64,
}

/// A frame that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub address: u64,
    pub bytes: [u8; FRAME_BYTES],
    /// Where the sealed extended state belongs.
    pub extended_address: u64,
    /// The handler starts with these.
    pub registers: Registers,
}

/// The state that a handler's frame restores when the handler returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    pub registers: Registers,
    pub blocked: Set,
    pub stack: AlternateStack,
    /// 0: the extended state is as at a program's start.
    pub extended_address: u64,
}

/// The frame of `handler`, for a thread with these registers and this alternate stack, whose extended state has so many
/// bytes without [`EXTENDED_END_BYTES`]. `None`: there is no room, or nowhere to return to.
pub fn build(
    handler: &Handler,
    registers: &Registers,
    stack: &AlternateStack,
    extended_bytes: usize,
    trap: Trap,
) -> Option<Frame> {
    let action = &handler.action;
    if action.flags & Action::RESTORER == 0 {
        return None;
    }
    let entered = stack.top_for(action, registers.rsp);
    let top = entered.or(registers.rsp.checked_sub(RED_ZONE_BYTES))?;
    let extended_address = top.checked_sub((extended_bytes + EXTENDED_END_BYTES) as u64)? & !(EXTENDED_ALIGNMENT - 1);
    let lowest = extended_address.checked_sub(FRAME_BYTES as u64)? & !(STACK_ALIGNMENT - 1);
    // As if the handler was called: the return address is pushed.
    let address = lowest.checked_sub(8)?;
    let on_stack = entered.is_some() || stack.is_at(registers.rsp);
    if on_stack && !stack.holds(address) {
        return None;
    }
    let mut frame = Bytes([0; FRAME_BYTES]);
    frame.put(0, &action.restorer.to_le_bytes());
    frame.put(CONTEXT, &CONTEXT_FLAGS.to_le_bytes());
    frame.put(STACK, &stack.to_bytes());
    for (number, word) in registers.to_words().into_iter().enumerate() {
        frame.put(GENERAL + 8 * number, &word.to_le_bytes());
    }
    frame.put(SEGMENTS, &USER_SEGMENTS.to_le_bytes());
    let old_mask = handler.blocked_before.0;
    for (number, word) in [trap.error, trap.number, old_mask, trap.address, extended_address].into_iter().enumerate() {
        frame.put(TRAP + 8 * number, &word.to_le_bytes());
    }
    frame.put(BLOCKED, &old_mask.to_le_bytes());
    frame.put(INFO, &handler.info.to_bytes());
    let registers = Registers {
        rdi: handler.info.signal.into(),
        rsi: address + INFO as u64,
        rdx: address + CONTEXT as u64,
        rax: 0,
        rip: action.handler,
        rsp: address,
        rflags: registers.rflags & !(DIRECTION | TRAP_FLAG | RESUME),
        ..*registers
    };
    Some(Frame { address, bytes: frame.0, extended_address, registers })
}

/// Reads a frame that a program gives to `rt_sigreturn`. The frame lies 8 bytes below the stack pointer of the call, as
/// the handler has returned. `None`: the thread would go on outside of programs' addresses.
pub fn parse(bytes: &[u8; FRAME_BYTES]) -> Option<Restored> {
    let frame = Bytes(*bytes);
    let mut words = [0; REGISTERS];
    for (number, word) in words.iter_mut().enumerate() {
        *word = frame.word(GENERAL + 8 * number);
    }
    let mut registers = Registers::from_words(words);
    registers.rflags = registers.rflags & PROGRAM_FLAGS | FIXED_FLAGS;
    (registers.rip < ADDRESS_END).then_some(Restored {
        registers,
        blocked: Set(frame.word(BLOCKED)),
        stack: AlternateStack::from_bytes(&frame.get(STACK)),
        extended_address: frame.word(EXTENDED),
    })
}

/// The cause that a frame tells.
pub fn info(bytes: &[u8; FRAME_BYTES]) -> Info {
    Info::from_bytes(&Bytes(*bytes).get(INFO))
}

/// Bytes of stack that a frame takes at most (`AT_MINSIGSTKSZ`).
pub const fn least_stack_bytes(extended_bytes: usize) -> u64 {
    let paddings = EXTENDED_ALIGNMENT - 1 + STACK_ALIGNMENT - 1;
    let bytes = (FRAME_BYTES + extended_bytes + EXTENDED_END_BYTES) as u64 + paddings;
    bytes.next_multiple_of(STACK_ALIGNMENT)
}

/// A frame, by the places of its parts.
struct Bytes([u8; FRAME_BYTES]);

impl Bytes {
    fn put(&mut self, at: usize, part: &[u8]) {
        if let Some(place) = self.0.get_mut(at..).and_then(|rest| rest.get_mut(..part.len())) {
            place.copy_from_slice(part);
        }
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.get(at))
    }
}
