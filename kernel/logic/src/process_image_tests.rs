// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of [`super`]: a stack is read back as a C library reads it.

use super::*;
use crate::elf::tests::{Header, MACHINE, head};
use proptest::prelude::*;
use std::format;
use std::vec;
use std::vec::Vec;
extern crate std;

const TOP: u64 = 0x1000_4000_0000;

/// A stack of some bytes below [`TOP`].
struct Stack {
    bytes: Vec<u8>,
}

impl Stack {
    fn new(bytes: usize) -> Self {
        // not zero: what is not written shows
        Self { bytes: vec![0xaa; bytes] }
    }

    fn bottom(&self) -> u64 {
        TOP - self.bytes.len() as u64
    }

    fn word(&self, address: u64) -> u64 {
        let at = (address - self.bottom()) as usize;
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    fn string(&self, address: u64) -> &[u8] {
        self.bytes[(address - self.bottom()) as usize..].split(|&byte| byte == 0).next().unwrap()
    }

    /// The strings that a list of pointers leads to, and what is behind its null pointer.
    fn strings(&self, mut at: u64) -> (Vec<&[u8]>, u64) {
        let mut found = Vec::new();
        while self.word(at) != 0 {
            found.push(self.string(self.word(at)));
            at += 8;
        }
        (found, at + 8)
    }
}

impl Sink for Stack {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        let at = usize::try_from(address.checked_sub(self.bottom())?).ok()?;
        self.bytes.get_mut(at..at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
        Some(())
    }
}

fn program() -> Program {
    let text: Header = (1, 5, 0, 0, 0x1000, 0x1000, 0x1000);
    Program::parse(&head(3, 0x123, &[text]), 0x1000, MACHINE).unwrap()
}

fn image(program: &Program) -> Image<'_> {
    Image {
        program,
        program_place: 0x5555_4000_0000,
        interpreter_place: 0x7ffe_0000_0000,
        path: b"/bin/hello",
        platform: b"some processor",
        hardware: [0x0bad_cafe, 2],
        least_signal_stack_bytes: 3632,
        user: 1000,
        effective_user: 1000,
        group: 100,
        effective_group: 100,
        random: *b"0123456789abcdef",
    }
}

fn built(arguments: &[&[u8]], environment: &[&[u8]], bytes: usize) -> Result<(Stack, u64), Failure> {
    let program = program();
    let mut stack = Stack::new(bytes);
    let limits = (stack.bottom(), TOP);
    let pointer = write(&image(&program), arguments.iter().copied(), environment.iter().copied(), limits, &mut stack)?;
    Ok((stack, pointer))
}

#[test]
fn a_library_finds_everything() {
    let (stack, pointer) = built(&[b"hello", b"", b"world"], &[b"HOME=/", b"A=b"], 4096).unwrap();
    assert!(pointer.is_multiple_of(16));
    assert_eq!(stack.word(pointer), 3);
    let (arguments, next) = stack.strings(pointer + 8);
    assert_eq!(arguments, [&b"hello"[..], b"", b"world"]);
    let (environment, mut next) = stack.strings(next);
    assert_eq!(environment, [&b"HOME=/"[..], b"A=b"]);
    // setproctitle writes over them: they lie one behind the other
    assert_eq!(stack.word(pointer + 8) + 13, stack.word(pointer + 8 * 5));
    let mut entries = Vec::new();
    while stack.word(next) != names::NULL {
        entries.push((stack.word(next), stack.word(next + 8)));
        next += 16;
    }
    let value = |name| entries.iter().find(|entry| entry.0 == name).unwrap().1;
    assert_eq!(stack.string(value(names::PATH)), b"/bin/hello");
    assert_eq!(stack.string(value(names::PLATFORM)), b"some processor");
    let random = (value(names::RANDOM) - stack.bottom()) as usize;
    assert_eq!(stack.bytes[random..random + 16], *b"0123456789abcdef");
    assert_eq!((value(names::ENTRY), value(names::HEADERS)), (0x5555_4000_0123, 0x5555_4000_0040));
    assert_eq!((value(names::HEADER_BYTES), value(names::HEADER_COUNT)), (56, 1));
    assert_eq!((value(names::HARDWARE), value(names::HARDWARE_2)), (0x0bad_cafe, 2));
    assert_eq!((value(names::INTERPRETER), value(names::PAGE_BYTES)), (0x7ffe_0000_0000, 4096));
    assert_eq!((value(names::USER), value(names::EFFECTIVE_GROUP), value(names::SECURE)), (1000, 100, 0));
    assert_eq!((value(names::LEAST_SIGNAL_STACK), value(names::TICKS)), (3632, 100));
    assert_eq!(stack.bytes[4088..], [0; 8]);
}

#[test]
fn a_changed_user_is_secure() {
    let program = program();
    let secure =
        |image: Image<'_>| image.entries(0, 0, 0).into_iter().find(|entry| entry[0] == names::SECURE).unwrap()[1];
    assert_eq!(secure(Image { effective_user: 0, ..image(&program) }), 1);
    assert_eq!(secure(Image { effective_group: 0, ..image(&program) }), 1);
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let large = vec![b'x'; 5000];
    let failure = built(&[&large], &[], 4096).err().unwrap();
    let Failure::TooLarge { needed_bytes, stack_bytes: 4096 } = failure else { panic!("{failure}") };
    assert!(built(&[&large], &[], needed_bytes as usize).is_ok());
    assert!(built(&[&large], &[], needed_bytes as usize - 1).is_err());
    assert_eq!(format!("{failure}"), format!("arguments and environment need {needed_bytes} bytes of a stack of 4096"));
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let program = program();
    let none = || core::iter::empty::<&[u8]>();
    let mut stack = Stack::new(64);
    let result = write(&image(&program), none(), none(), (TOP - 4096, TOP), &mut stack);
    assert!(matches!(result, Err(Failure::NotMemory(_))), "{result:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 500 }))]

    #[test]
    fn any_strings_come_back(
        arguments in prop::collection::vec("[^\0]{0,20}", 0..8),
        environment in prop::collection::vec("[^\0]{0,20}", 0..8),
    ) {
        let first: Vec<&[u8]> = arguments.iter().map(|string| string.as_bytes()).collect();
        let second: Vec<&[u8]> = environment.iter().map(|string| string.as_bytes()).collect();
        let (stack, pointer) = built(&first, &second, 16384).unwrap();
        prop_assert!(pointer.is_multiple_of(16));
        let (found, next) = stack.strings(pointer + 8);
        prop_assert_eq!(found, first);
        prop_assert_eq!(stack.strings(next).0, second);
    }
}
