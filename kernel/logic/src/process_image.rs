// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The stack that a program starts with: arguments, environment and the auxiliary vector, as Linux and the psABI have
//! them.
//!
//! Owns the layout alone. Called by the loader of a static kernel, which says with [`Sink`] how bytes get into the
//! program's memory. It must never write outside the stack that it was given.

use crate::elf::Program;
use core::fmt;

/// The program's memory.
pub trait Sink {
    /// Writes all of it. `None`: it is not the program's memory.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Option<()>;
}

/// The facts about itself and its processor that a program gets.
#[derive(Clone, Copy)]
pub struct Image<'a> {
    pub program: &'a Program,
    /// As in [`crate::static_map::Map`].
    pub program_place: u64,
    /// Where the dynamic linker's address 0 is; 0: there is none.
    pub interpreter_place: u64,
    /// The path that was asked for.
    pub path: &'a [u8],
    /// The processor's name for libraries' folders.
    pub platform: &'a [u8],
    pub hardware: [u64; 2],
    /// The least stack on which a signal can be delivered, in bytes.
    pub least_signal_stack_bytes: u64,
    pub user: u32,
    pub effective_user: u32,
    pub group: u32,
    pub effective_group: u32,
    /// No two processes should have the same.
    pub random: [u8; 16],
}

/// Why there is no stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// `E2BIG`.
    TooLarge { needed_bytes: u64, stack_bytes: u64 },
    /// The sink refused this address.
    NotMemory(u64),
}

/// Names of auxiliary entries, as Linux numbers them.
pub mod names {
    pub const NULL: u64 = 0;
    pub const HEADERS: u64 = 3;
    pub const HEADER_BYTES: u64 = 4;
    pub const HEADER_COUNT: u64 = 5;
    pub const PAGE_BYTES: u64 = 6;
    pub const INTERPRETER: u64 = 7;
    pub const FLAGS: u64 = 8;
    pub const ENTRY: u64 = 9;
    pub const USER: u64 = 11;
    pub const EFFECTIVE_USER: u64 = 12;
    pub const GROUP: u64 = 13;
    pub const EFFECTIVE_GROUP: u64 = 14;
    pub const PLATFORM: u64 = 15;
    pub const HARDWARE: u64 = 16;
    pub const TICKS: u64 = 17;
    pub const SECURE: u64 = 23;
    pub const RANDOM: u64 = 25;
    pub const HARDWARE_2: u64 = 26;
    pub const PATH: u64 = 31;
    pub const LEAST_SIGNAL_STACK: u64 = 51;
}

const ENTRIES: usize = 20;
/// The psABI's alignment of the stack pointer at the program's entry.
const ALIGNMENT: u64 = 16;
/// Zero bytes above everything, as Linux has them.
const END_BYTES: u64 = 8;
/// Of a sink's portion.
const PENDING_BYTES: usize = 512;
/// Of `times`, which Linux has never changed.
const TICKS_PER_SECOND: u64 = 100;

/// Writes the stack below `top`, which must not go below `bottom`, and returns the stack pointer to start with.
pub fn write<'a, A, E, S>(
    image: &Image<'_>,
    arguments: A,
    environment: E,
    (bottom, top): (u64, u64),
    sink: &mut S,
) -> Result<u64, Failure>
where
    A: Iterator<Item = &'a [u8]> + Clone,
    E: Iterator<Item = &'a [u8]> + Clone,
    S: Sink,
{
    let measure = |(count, bytes), string| (count + 1, bytes + ended(string));
    let (count, argument_bytes) = arguments.clone().fold((0, 0), measure);
    let (others, environment_bytes) = environment.clone().fold((0, 0), measure);
    let strings = argument_bytes + environment_bytes;
    let words = 3 + count + others + 2 * ENTRIES as u64;
    let fixed = ended(image.path) + ended(image.platform) + image.random.len() as u64 + 2 * ALIGNMENT + END_BYTES;
    let needed_bytes = strings + fixed + 8 * words;
    let stack_bytes = top.saturating_sub(bottom);
    if needed_bytes > stack_bytes {
        return Err(Failure::TooLarge { needed_bytes, stack_bytes });
    }
    // From here on no subtraction can go below `bottom`.
    let path = top - END_BYTES - ended(image.path);
    let first_string = path - strings;
    let platform = first_string - ended(image.platform);
    let random = (platform - image.random.len() as u64) & !(ALIGNMENT - 1);
    let stack_pointer = (random - 8 * words) & !(ALIGNMENT - 1);

    let mut out = Writer { at: first_string, pending: [0; PENDING_BYTES], used: 0, sink };
    arguments.clone().chain(environment.clone()).try_for_each(|string| out.string(string))?;
    out.string(image.path)?;
    out.bytes(&[0; END_BYTES as usize])?;
    out.go_to(platform)?;
    out.string(image.platform)?;
    out.go_to(random)?;
    out.bytes(&image.random)?;

    out.go_to(stack_pointer)?;
    out.word(count)?;
    let after_arguments = out.pointers(first_string, arguments)?;
    out.pointers(after_arguments, environment)?;
    image.entries(path, platform, random).into_iter().flatten().try_for_each(|word| out.word(word))?;
    out.flush()?;
    Ok(stack_pointer)
}

impl Image<'_> {
    fn entries(&self, path: u64, platform: u64, random: u64) -> [[u64; 2]; ENTRIES] {
        let placed = |address: u64| address.wrapping_add(self.program_place);
        let [hardware, hardware_2] = self.hardware;
        let secure = self.user != self.effective_user || self.group != self.effective_group;
        [
            [names::HARDWARE, hardware],
            [names::PAGE_BYTES, 4096],
            [names::TICKS, TICKS_PER_SECOND],
            [names::HEADERS, self.program.headers_address.map_or(0, placed)],
            [names::HEADER_BYTES, Program::HEADER_BYTES],
            [names::HEADER_COUNT, self.program.headers.into()],
            [names::INTERPRETER, self.interpreter_place],
            [names::FLAGS, 0],
            [names::ENTRY, placed(self.program.entry)],
            [names::USER, self.user.into()],
            [names::EFFECTIVE_USER, self.effective_user.into()],
            [names::GROUP, self.group.into()],
            [names::EFFECTIVE_GROUP, self.effective_group.into()],
            [names::SECURE, secure.into()],
            [names::RANDOM, random],
            [names::HARDWARE_2, hardware_2],
            [names::PATH, path],
            [names::PLATFORM, platform],
            [names::LEAST_SIGNAL_STACK, self.least_signal_stack_bytes],
            [names::NULL, 0],
        ]
    }
}

/// Gathers what follows each other: a sink looks for the program's memory each time.
struct Writer<'a, S> {
    /// Where the pending bytes go.
    at: u64,
    pending: [u8; PENDING_BYTES],
    used: usize,
    sink: &'a mut S,
}

impl<S: Sink> Writer<'_, S> {
    fn bytes(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PENDING_BYTES - self.used));
            if let Some(room) = self.pending.get_mut(self.used..self.used + now.len()) {
                room.copy_from_slice(now);
            }
            self.used += now.len();
            bytes = later;
            if self.used == PENDING_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let pending = self.pending.get(..self.used).unwrap_or(&[]);
        self.sink.write(self.at, pending).ok_or(Failure::NotMemory(self.at))?;
        self.at += self.used as u64;
        self.used = 0;
        Ok(())
    }

    fn go_to(&mut self, address: u64) -> Result<(), Failure> {
        self.flush()?;
        self.at = address;
        Ok(())
    }

    fn string(&mut self, string: &[u8]) -> Result<(), Failure> {
        self.bytes(string)?;
        self.bytes(&[0])
    }

    /// Half of the stack is words: one that fits goes straight to its place.
    fn word(&mut self, word: u64) -> Result<(), Failure> {
        match self.pending.get_mut(self.used..).and_then(|room| room.first_chunk_mut()) {
            Some(room) => {
                *room = word.to_le_bytes();
                self.used += size_of::<u64>();
                Ok(())
            }
            None => self.bytes(&word.to_le_bytes()),
        }
    }

    /// Pointers to strings that lie one behind the other from `first` on, and a null pointer. Where the last one ends.
    fn pointers<'b>(&mut self, first: u64, strings: impl Iterator<Item = &'b [u8]>) -> Result<u64, Failure> {
        let mut at = first;
        for string in strings {
            self.word(at)?;
            at += ended(string);
        }
        self.word(0)?;
        Ok(at)
    }
}

/// The bytes of a string with its NUL.
const fn ended(string: &[u8]) -> u64 {
    string.len() as u64 + 1
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { needed_bytes, stack_bytes } => {
                write!(out, "arguments and environment need {needed_bytes} bytes of a stack of {stack_bytes}")
            }
            Self::NotMemory(address) => write!(out, "the stack at {address:#x} is not the program's memory"),
        }
    }
}

#[cfg(test)]
#[path = "process_image_tests.rs"]
mod tests;
