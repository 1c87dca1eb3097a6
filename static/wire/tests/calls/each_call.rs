// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each shipped call of the table, with arguments made up by their kinds: the proxy sees exactly the inputs, and the
//! program's memory changes exactly where the call writes.

use crate::support::{BASE, Memory, PROCESS, Seen, ship};
use proptest::prelude::*;
use tacet_wire::calls::{Disposition, Kind, Size, disposition, kinds};
use tacet_wire::demarshal::Argument;

/// Where the program has its buffer for an argument.
fn buffer(index: usize) -> u64 {
    BASE + 0x1000 * index as u64 + 0x123
}

const ROOM: usize = 0x8000;
/// Some of its flags are refused.
const CLOSE_RANGE: u64 = 436;

/// The calls whose arguments' kinds are all plain, with the kinds.
fn plain_calls() -> Vec<(u64, Vec<Kind>)> {
    let special = |kind: &Kind| {
        use Kind::{
            Fcntl, Gather, Ioctl, MessageIn, MessageOut, MessagesIn, MessagesOut, OptionIn, OptionOut, Scatter,
        };
        matches!(
            kind,
            Fcntl
                | Gather(_)
                | Ioctl
                | MessageIn
                | MessageOut
                | MessagesIn
                | MessagesOut
                | OptionIn(_)
                | OptionOut(_)
                | Scatter(_)
        )
    };
    (0..500)
        .filter_map(|number| match disposition(number) {
            Disposition::Ship(kinds) if number != CLOSE_RANGE && !kinds.iter().any(special) => {
                Some((number, kinds.to_vec()))
            }
            _ => None,
        })
        .collect()
}

/// Values for the arguments: lengths are small, since buffers are.
fn arguments(kinds: &[Kind], memory: &Memory, values: [u16; 6], nulls: u8) -> [u64; 6] {
    let mut arguments = [0x1_2345_6789; 6];
    for (index, kind) in kinds.iter().enumerate() {
        arguments[index] = match kind {
            Kind::Value => u64::from(values[index]) % 64,
            Kind::Descriptor => u64::from(values[index]),
            Kind::Own => u64::from(PROCESS) * u64::from(values[index] % 2),
            Kind::Null => 7,
            _ if nulls & 1 << index != 0 => 0,
            _ => buffer(index),
        };
        if *kind == Kind::Text && arguments[index] != 0 {
            let length = usize::from(values[index]) % 200;
            memory.put(buffer(index), &[vec![b'x'; length], vec![0]].concat());
        }
        if let Kind::Out(Size::Pointed(length)) = kind {
            memory.put(buffer(usize::from(*length)), &(u32::from(values[index]) % 40).to_le_bytes());
        }
    }
    arguments
}

fn size(size: Size, arguments: &[u64; 6], memory: &Memory) -> usize {
    let at = |index: u8| arguments[usize::from(index)];
    match size {
        Size::Bytes(bytes) => bytes.into(),
        Size::Times(unit, index) => usize::from(unit) * at(index) as usize,
        Size::Int(index) => at(index) as usize,
        Size::Bits(index) => at(index).div_ceil(64) as usize * 8,
        Size::Pointed(index) => u32::from_le_bytes(memory.get(at(index), 4).try_into().unwrap()) as usize,
    }
}

/// What the result of a call counts that fills a buffer of this size.
fn unit(size: Size) -> usize {
    if let Size::Times(unit, _) = size { unit.into() } else { 1 }
}

/// Checks the proxy's view of one argument; fills an output. Returns the bytes that the program must then have there.
fn look(
    seen: &mut Seen<'_>,
    index: usize,
    kind: Kind,
    arguments: &[u64; 6],
    memory: &Memory,
) -> Option<(u64, Vec<u8>)> {
    let address = arguments[index];
    let is_value = matches!(kind, Kind::Unused | Kind::Value | Kind::Descriptor | Kind::Own | Kind::Null);
    if is_value || address == 0 {
        let is_dropped = matches!(kind, Kind::Unused | Kind::Null);
        assert_eq!(seen.value(index), if is_dropped { 0 } else { address }, "argument {index}");
        return None;
    }
    if kind == Kind::Text {
        let text = seen.input(index);
        assert_eq!(text, memory.get(address, text.len()));
        assert_eq!(text.iter().position(|byte| *byte == 0), Some(text.len() - 1));
        return None;
    }
    if let Kind::In(of) | Kind::InOut(of) = kind {
        let expected = memory.get(address, size(of, arguments, memory));
        let seen = if matches!(kind, Kind::In(_)) { seen.input(index) } else { seen.output(index) };
        assert_eq!(seen, expected, "argument {index}");
    }
    if let Kind::Stream(length) = kind {
        assert_eq!(seen.input(index), memory.get(address, arguments[usize::from(length)] as usize));
    }
    let (Kind::Out(of) | Kind::InOut(of) | Kind::Fill(of)) = kind else { return None };
    let bytes = size(of, arguments, memory);
    let output = seen.output(index);
    assert_eq!(output.len(), bytes, "argument {index}");
    assert!(matches!(kind, Kind::InOut(_)) || output.iter().all(|byte| *byte == 0), "old bytes in argument {index}");
    let is_length = matches!(kind, Kind::InOut(Size::Bytes(4)));
    output.iter_mut().enumerate().for_each(|(at, byte)| *byte = if is_length { 0 } else { (at * 5 + index) as u8 });
    if is_length {
        output[0] = 9;
    }
    Some((address, output.to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_proxy_sees_the_call_and_the_program_its_outputs(values: [u16; 6], nulls: u8, succeeds: bool, part: u16) {
        for (number, declared) in plain_calls() {
            let memory = Memory::new(ROOM);
            let given = arguments(&declared, &memory, values, if nulls & 64 == 0 { 0 } else { nulls & nulls >> 1 });
            if declared.iter().enumerate().any(|(at, kind)| match kind {
                Kind::Out(Size::Pointed(length)) => (given[at] == 0) != (given[usize::from(*length)] == 0),
                _ => false,
            }) {
                continue;
            }
            let all = kinds(number as u32, &given).unwrap();
            let mut expected = memory.0.borrow().clone();
            let mut written = vec![];
            let result = ship(&memory, number, given, |seen| {
                assert_eq!(seen.call.number, number as u32);
                written = (0..6).filter_map(|at| Some((at, look(seen, at, all[at], &given, &memory)?))).collect();
                let most = all.iter().enumerate().find_map(|(at, kind)| match kind {
                    Kind::Fill(size) if given[at] != 0 => Some(seen.output_span(at).bytes / unit(*size)),
                    Kind::Stream(length) => Some(given[usize::from(*length)] as usize),
                    _ => None,
                });
                let result = most.map_or(3, |most| usize::from(part) % (most + 1));
                (if succeeds { result as i64 } else { -5 }, true)
            });
            prop_assert_eq!(result < 0, !succeeds, "call {}", number);
            for (at, (address, bytes)) in written.iter().filter(|_| succeeds) {
                let kept = match all[*at] {
                    Kind::Fill(size) => unit(size) * result as usize,
                    Kind::Out(Size::Pointed(_)) => bytes.len().min(9),
                    _ => bytes.len(),
                };
                let start = (address - BASE) as usize;
                expected[start..start + kept].copy_from_slice(&bytes[..kept]);
            }
            prop_assert!(*memory.0.borrow() == expected, "call {}: memory differs", number);
        }
    }
}

#[test]
fn most_calls_of_the_table_are_plain() {
    assert!(plain_calls().len() > 140, "{}", plain_calls().len());
}

/// No number that a program or a node gives ever becomes a pointer.
#[test]
fn pointers_never_pass_as_values() {
    for (number, declared) in plain_calls() {
        let memory = Memory::new(ROOM);
        let given = arguments(&declared, &memory, [3; 6], 0);
        ship(&memory, number, given, |seen| {
            for (index, kind) in declared.iter().enumerate() {
                let is_value = matches!(seen.call.arguments[index], Argument::Value(_));
                let may = matches!(kind, Kind::Value | Kind::Descriptor | Kind::Own | Kind::Null);
                assert_eq!(is_value, may, "call {number}, argument {index}");
            }
            (-1, false)
        });
    }
}
