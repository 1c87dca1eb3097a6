// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instructions of the machine that is made up. A call is two bytes long, as on the real one, because the kernel
//! repeats calls; every other instruction is a code, a register and a word.

use super::memory;
use super::world::State;
use tacet_arch::x86_64::UserRegisters;

const CALL: [u8; 2] = [0x0f, 0x05];
const BYTES: usize = 10;
const SET: u8 = 1;
const ADD: u8 = 2;
const LOAD: u8 = 3;
const STORE: u8 = 4;
const JUMP_UNLESS_ZERO: u8 = 5;
const COPY: u8 = 6;

/// SDM vol. 3, 4.7.
const PRESENT: u64 = 1;
const WRITE: u64 = 2;
const USER: u64 = 4;
const FETCH: u64 = 16;
const UNDEFINED: u8 = 6;

/// In the order in which the processor numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Register {
    Rax,
    Rcx,
    Rdx,
    Rbx,
    Rsp,
    Rbp,
    Rsi,
    Rdi,
    R8,
    R9,
    R10,
    R11,
    R12,
}

/// A jump whose end is not known yet.
pub struct Jump {
    word: usize,
}

/// A program's text, from the address at which it lies.
pub struct Assembler {
    origin: u64,
    pub text: Vec<u8>,
}

impl Assembler {
    #[must_use]
    pub fn new(origin: u64) -> Self {
        Self { origin, text: Vec::new() }
    }

    /// Where the next instruction lies.
    #[must_use]
    pub fn here(&self) -> u64 {
        self.origin + self.text.len() as u64
    }

    fn word(&mut self, code: u8, register: Register, word: u64) {
        self.text.extend([code, register as u8]);
        self.text.extend(word.to_le_bytes());
    }

    pub fn set(&mut self, register: Register, value: u64) {
        self.word(SET, register, value);
    }

    pub fn add(&mut self, register: Register, value: u64) {
        self.word(ADD, register, value);
    }

    pub fn copy(&mut self, to: Register, from: Register) {
        self.word(COPY, to, from as u64);
    }

    /// Loads eight bytes from where `at` points.
    pub fn load(&mut self, to: Register, at: Register) {
        self.word(LOAD, to, at as u64);
    }

    /// Stores eight bytes where `at` points.
    pub fn store(&mut self, at: Register, from: Register) {
        self.word(STORE, at, from as u64);
    }

    pub fn jump_unless_zero(&mut self, register: Register, to: u64) {
        self.word(JUMP_UNLESS_ZERO, register, to);
    }

    /// A jump to a place that is not known yet: see [`Assembler::lead`].
    pub fn jump_ahead_unless_zero(&mut self, register: Register) -> Jump {
        self.jump_unless_zero(register, 0);
        Jump { word: self.text.len() - size_of::<u64>() }
    }

    /// Leads the jump to the next instruction.
    pub fn lead(&mut self, jump: &Jump) {
        let here = self.here();
        self.text[jump.word..][..size_of::<u64>()].copy_from_slice(&here.to_le_bytes());
    }

    /// A system call with these arguments.
    pub fn call(&mut self, number: u64, arguments: &[u64]) {
        use Register::{R8, R9, R10, Rax, Rdi, Rdx, Rsi};
        for (register, &argument) in [Rdi, Rsi, Rdx, R10, R8, R9].into_iter().zip(arguments) {
            self.set(register, argument);
        }
        self.set(Rax, number);
        self.system_call();
    }

    /// A system call with the arguments that are in the registers.
    pub fn system_call(&mut self) {
        self.text.extend(CALL);
    }

    /// An instruction that there is not.
    pub fn undefined(&mut self) {
        self.text.extend([0xff; BYTES]);
    }
}

pub(super) enum Fault {
    Exception(u8),
    Page { address: u64, error: u64 },
}

pub(super) enum Step {
    Next,
    Call,
    Fault(Fault),
}

fn register(registers: &mut UserRegisters, index: u8) -> Option<&mut u64> {
    Some(match index {
        0 => &mut registers.rax,
        1 => &mut registers.rcx,
        2 => &mut registers.rdx,
        3 => &mut registers.rbx,
        4 => &mut registers.rsp,
        5 => &mut registers.rbp,
        6 => &mut registers.rsi,
        7 => &mut registers.rdi,
        8 => &mut registers.r8,
        9 => &mut registers.r9,
        10 => &mut registers.r10,
        11 => &mut registers.r11,
        12 => &mut registers.r12,
        _ => return None,
    })
}

/// The bytes at `address`, if the program may use them so.
fn reach(state: &mut State, root: u64, address: u64, bytes: usize, kind: u64) -> Result<&mut [u8], Fault> {
    let found = memory::find(state, root, address);
    let error = USER | kind | if found.is_some() { PRESENT } else { 0 };
    let allowed = found.filter(|(_, left, rights)| {
        let may = match kind {
            FETCH => rights.execute,
            WRITE => rights.write,
            _ => rights.read,
        };
        may && *left >= bytes as u64
    });
    let Some((physical, ..)) = allowed else { return Err(Fault::Page { address, error }) };
    Ok(&mut state.ram[(physical - memory::RAM_BASE) as usize..][..bytes])
}

/// Executes the instruction at `rip`.
pub(super) fn execute(state: &mut State, root: u64, registers: &mut UserRegisters) -> Step {
    try_execute(state, root, registers).unwrap_or_else(Step::Fault)
}

fn try_execute(state: &mut State, root: u64, registers: &mut UserRegisters) -> Result<Step, Fault> {
    if reach(state, root, registers.rip, CALL.len(), FETCH)? == CALL {
        registers.rip += CALL.len() as u64;
        return Ok(Step::Call);
    }
    let undefined = Fault::Exception(UNDEFINED);
    let instruction: [u8; BYTES] = match reach(state, root, registers.rip, BYTES, FETCH)?.try_into() {
        Ok(instruction) => instruction,
        Err(_) => return Err(undefined),
    };
    let [code, first, word @ ..] = instruction;
    let word = u64::from_le_bytes(word);
    let mut value_of = |index: u64| register(registers, index as u8).map(|register| *register);
    let (Some(own), other) = (value_of(first.into()), value_of(word)) else { return Err(undefined) };
    let mut next = registers.rip + BYTES as u64;
    let result = match (code, other) {
        (SET, _) => word,
        (ADD, _) => own.wrapping_add(word),
        (COPY, Some(other)) => other,
        (LOAD, Some(at)) => {
            let bytes = reach(state, root, at, 8, 0)?;
            bytes.try_into().map_or(0, u64::from_le_bytes)
        }
        (STORE, Some(value)) => {
            reach(state, root, own, 8, WRITE)?.copy_from_slice(&value.to_le_bytes());
            own
        }
        (JUMP_UNLESS_ZERO, _) => {
            if own != 0 {
                next = word;
            }
            own
        }
        _ => return Err(undefined),
    };
    if let Some(register) = register(registers, first) {
        *register = result;
    }
    registers.rip = next;
    Ok(Step::Next)
}
