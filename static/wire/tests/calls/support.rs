// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program's memory and a proxy, for the tests of marshalling.

use std::cell::RefCell;
use tacet_wire::demarshal::{Argument, Call, Span};
use tacet_wire::errno::Errno;
use tacet_wire::marshal::{Shipment, UserMemory};
use tacet_wire::packet::{LARGE_MESSAGE_BYTES, MESSAGE_BYTES};
use tacet_wire::stored::{Request, answer, request};

pub const BASE: u64 = 0x40_0000;
pub const PROCESS: u32 = 4242;

/// Memory from [`BASE`] on.
pub struct Memory(pub RefCell<Vec<u8>>);

impl Memory {
    pub fn new(bytes: usize) -> Self {
        Self(RefCell::new((0..bytes).map(|at| (at * 31 / 7) as u8).collect()))
    }

    pub fn put(&self, address: u64, bytes: &[u8]) {
        self.write(address, bytes).expect("an address of the memory");
    }

    pub fn put_words(&self, address: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(address, &bytes);
    }

    pub fn get(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut got = vec![0; bytes];
        self.read(address, &mut got).expect("an address of the memory");
        got
    }

    fn range(&self, address: u64, bytes: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(address.checked_sub(BASE)?).ok()?;
        let end = start.checked_add(bytes)?;
        (end <= self.0.borrow().len()).then_some(start..end)
    }
}

impl UserMemory for Memory {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        let range = self.range(address, to.len())?;
        to.copy_from_slice(&self.0.borrow()[range]);
        Some(())
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        let range = self.range(address, from.len())?;
        self.0.borrow_mut()[range].copy_from_slice(from);
        Some(())
    }

    fn is_writable(&self, address: u64, bytes: usize) -> bool {
        self.range(address, bytes).is_some()
    }
}

/// A call as a proxy sees it.
pub struct Seen<'a> {
    pub call: Call,
    pub message: &'a [u8],
    pub reply: &'a mut [u8],
    pub store: &'a mut [u8],
}

impl Seen<'_> {
    pub fn input(&self, index: usize) -> &[u8] {
        match self.call.arguments[index] {
            Argument::Input(span) | Argument::InputVector(span) => span.of(self.message),
            other => panic!("argument {index} is {other:?}"),
        }
    }

    pub fn stored(&mut self, index: usize) -> &mut [u8] {
        match self.call.arguments[index] {
            Argument::Stored(span) => span.of_mut(self.store),
            other => panic!("argument {index} is {other:?}"),
        }
    }

    pub fn output(&mut self, index: usize) -> &mut [u8] {
        self.output_span(index).of_mut(self.reply)
    }

    pub fn output_span(&self, index: usize) -> Span {
        match self.call.arguments[index] {
            Argument::Output(span) | Argument::OutputVector(span) => span,
            other => panic!("argument {index} is {other:?}"),
        }
    }

    pub fn value(&self, index: usize) -> u64 {
        match self.call.arguments[index] {
            Argument::Value(value) => value,
            other => panic!("argument {index} is {other:?}"),
        }
    }
}

/// Ships a call to a proxy and returns the program's result. `execute` gives the call's result, and whether reading on
/// would not wait.
pub fn ship(
    memory: &Memory,
    number: u64,
    arguments: [u64; 6],
    execute: impl FnMut(&mut Seen<'_>) -> (i64, bool),
) -> i64 {
    ship_by(MESSAGE_BYTES, memory, number, arguments, execute)
}

/// The same by a node with a buffer of this length.
pub fn ship_by(
    buffer: usize,
    memory: &Memory,
    number: u64,
    arguments: [u64; 6],
    mut execute: impl FnMut(&mut Seen<'_>) -> (i64, bool),
) -> i64 {
    let mut shipment = match Shipment::new(number, arguments) {
        Ok(shipment) => shipment,
        Err(result) => return result,
    };
    let (mut message, mut reply) = (vec![0xaa; buffer], vec![0xbb; LARGE_MESSAGE_BYTES]);
    let mut store = vec![];
    for _ in 0..1000 {
        let used = match shipment.request(memory, &mut message) {
            Ok(used) => used,
            Err(errno) => return shipment.failed(errno),
        };
        let message = &message[..used];
        let used = match request(message).expect("an honest message") {
            Request::Keep { at, bytes } => {
                store.truncate(at);
                assert_eq!(store.len(), at, "parts follow each other");
                store.extend_from_slice(bytes);
                answer(&[], 0, &mut reply)
            }
            Request::Give { at, bytes } => answer(&store[at..at + bytes], 0, &mut reply),
            Request::Call { stored } => {
                let in_store = if stored { store.len() } else { 0 };
                let call = Call::decode_with_store(message, PROCESS, &mut reply, in_store).expect("an honest message");
                let mut seen = Seen { call, message, reply: &mut reply, store: &mut store };
                let (result, whole) = execute(&mut seen);
                let whole = whole && call.wants_whole();
                call.reply(result, 0, whole, &mut reply)
            }
        };
        if let Some(result) = shipment.finish(&reply[..used], memory).result {
            return result;
        }
    }
    panic!("call {number} does not end");
}

/// The program's result of a call that does not reach a proxy.
pub fn result_of(memory: &Memory, number: u64, arguments: [u64; 6]) -> i64 {
    ship(memory, number, arguments, |_| panic!("call {number} was shipped"))
}

pub fn error(errno: Errno) -> i64 {
    errno.result()
}
