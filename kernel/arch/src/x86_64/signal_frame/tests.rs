// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of [`super`] that need no Linux; `tests/signal_frame.rs` compares with its frames.

use super::*;
use std::vec;
use std::vec::Vec;
use tacet_logic::signals::{Action, AlternateStack, Handler, Info, Set, codes, numbers};
extern crate std;

const STATE_BYTES: usize = 832;
const FEATURES: u64 = 7;

fn handler(flags: u64) -> Handler {
    let action = Action { handler: 0x40_1000, flags: flags | Action::RESTORER, restorer: 0x40_2000, mask: Set::EMPTY };
    let info = Info::fault(numbers::SEGV, codes::NOT_MAPPED, 0xdead_b000);
    Handler { info, action, blocked_before: Set(0x8000_0000_0000_0001) }
}

fn registers() -> Registers {
    let words = core::array::from_fn(|number| 0x1111 * (number as u64 + 1));
    Registers { rsp: 0x7000_0000_0123, rflags: 0x246, ..Registers::from_words(words) }
}

const NO_STACK: AlternateStack = AlternateStack::NONE;

fn built(flags: u64, stack: &AlternateStack) -> Option<Frame> {
    build(&handler(flags), &registers(), stack, STATE_BYTES, Trap { error: 6, number: 14, address: 0xdead_b000 })
}

#[test]
fn what_is_built_is_parsed_back() {
    let frame = built(0, &NO_STACK).unwrap();
    let restored = parse(&frame.bytes).unwrap();
    assert_eq!(restored.registers, registers());
    assert_eq!((restored.blocked, restored.stack), (Set(0x8000_0000_0000_0001), NO_STACK));
    assert_eq!((restored.extended_address, info(&frame.bytes)), (frame.extended_address, handler(0).info));
    let start = frame.registers;
    assert_eq!((start.rip, start.rsp, start.rdi), (0x40_1000, frame.address, 11));
    assert_eq!((start.rsi, start.rdx, start.rax), (frame.address + 312, frame.address + 8, 0));
    assert_eq!((frame.address % 16, frame.extended_address % 64), (8, 0));
    assert!(frame.extended_address + STATE_BYTES as u64 + 4 <= registers().rsp - 128);
    assert!(frame.address + FRAME_BYTES as u64 <= frame.extended_address);
}

#[test]
fn a_frame_keeps_within_the_alternate_stack() {
    let stack = |bytes| AlternateStack { base: 0x1000, flags: 0, bytes };
    let least = least_stack_bytes(STATE_BYTES);
    let frame = built(Action::ON_STACK, &stack(least)).unwrap();
    assert!(frame.address > 0x1000 && frame.extended_address < 0x1000 + least);
    assert_eq!(built(Action::ON_STACK, &stack(least - 200)), None);
    assert!(built(0, &stack(least - 200)).is_some());
    let deep = Registers { rsp: 0x1100, ..registers() };
    assert_eq!(build(&handler(Action::ON_STACK), &deep, &stack(least), STATE_BYTES, Trap::default()), None);
}

#[test]
fn without_room_or_return_there_is_no_frame() {
    let shallow = Registers { rsp: 1000, ..registers() };
    assert_eq!(build(&handler(0), &shallow, &NO_STACK, STATE_BYTES, Trap::default()), None);
    let mut lost = handler(0);
    lost.action.flags = 0;
    assert_eq!(build(&lost, &registers(), &NO_STACK, STATE_BYTES, Trap::default()), None);
}

#[test]
fn a_forged_frame_gives_no_rights() {
    let mut bytes = built(0, &NO_STACK).unwrap().bytes;
    let flags = 48 + 8 * 17;
    bytes[flags..flags + 8].fill(0xff);
    assert_eq!(parse(&bytes).unwrap().registers.rflags, 0x5_0fd7);
    let rip = 48 + 8 * 16;
    bytes[rip..rip + 8].copy_from_slice(&(1u64 << 47).to_le_bytes());
    assert_eq!(parse(&bytes), None);
}

#[test]
fn a_call_begins_again() {
    let mut registers = registers();
    let rip = registers.rip;
    registers.call_again(202);
    assert_eq!((registers.rip, registers.rax), (rip - 2, 202));
}

fn sealed() -> Vec<u8> {
    let mut area = vec![0; STATE_BYTES + EXTENDED_END_BYTES];
    area[512] = 6;
    area[24..28].copy_from_slice(&0x1f80u32.to_le_bytes());
    seal(&mut area, FEATURES).unwrap();
    area
}

#[test]
fn a_sealed_state_is_opened_whole() {
    let mut area = sealed();
    let before = area.clone();
    open(&mut area, FEATURES).unwrap();
    assert_eq!(area, before);
    assert_eq!(open(&mut area[..570], FEATURES), None);
    assert_eq!(seal(&mut area[..570], FEATURES), None);
}

#[test]
fn a_broken_state_is_made_one_that_the_processor_takes() {
    let opened = |at: usize, byte: u8| {
        let mut area = sealed();
        area[at] = byte;
        open(&mut area, FEATURES).unwrap();
        (area[512], u32::from_le_bytes(area[24..28].try_into().unwrap()), area[520..576].iter().all(|&byte| byte == 0))
    };
    // a feature that the processor does not have, a reserved byte, a control bit
    assert_eq!(opened(512, 0xff), (7, 0x1f80, true));
    assert_eq!(opened(530, 1), (6, 0x1f80, true));
    assert_eq!(opened(26, 0xff), (6, 0x1f80, true));
    // a broken mark, a second mark elsewhere, lengths too large and too small
    for (at, byte) in [(464, 0), (STATE_BYTES, 0), (481, 0xff), (481, 0)] {
        assert_eq!(opened(at, byte), (3, 0x1f80, true), "byte {at}");
    }
    // the frame says that it has no AVX
    assert_eq!(opened(472, 3), (2, 0x1f80, true));
}
