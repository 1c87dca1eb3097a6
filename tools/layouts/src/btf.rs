// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes types as BTF (Documentation/bpf/btf.rst), version 1 as of Linux 6.1: what every reader understands.

use std::collections::HashMap;

use crate::model::{Record, Type};

const HEADER_BYTES: u32 = 24;
/// Kinds as Linux numbers them.
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FORWARD: u32 = 7;
const PROTOTYPE: u32 = 13;
const FLOAT: u32 = 16;
const ENUM64: u32 = 19;
/// In a structure: its members' offsets have the sizes of bit fields in their upper byte. Forward: a union.
const FLAG: u32 = 1 << 31;

/// Types so far; each is written once.
pub struct Writer<'a> {
    wanted: &'a [&'a str],
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
    numbers: HashMap<Type, u32>,
    /// The wanted structures by name: one that contains another names it.
    complete: HashMap<String, u32>,
}

impl<'a> Writer<'a> {
    pub fn new(wanted: &'a [&'a str]) -> Writer<'a> {
        let (types, strings) = (Vec::new(), vec![0]);
        Writer { wanted, types, strings, count: 0, numbers: HashMap::new(), complete: HashMap::new() }
    }

    /// The number of a type, after writing it if it is new.
    pub fn number(&mut self, one: &Type) -> u32 {
        if let Some(number) = self.numbers.get(one) {
            return *number;
        }
        let number = self.write(one);
        self.numbers.insert(one.clone(), number);
        number
    }

    /// The buffer.
    pub fn bytes(&self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut out = vec![0x9f, 0xeb, 1, 0];
        out.extend([HEADER_BYTES, 0, types, types, strings].iter().flat_map(|word| word.to_le_bytes()));
        out.extend(&self.types);
        out.extend(&self.strings);
        out
    }

    fn write(&mut self, one: &Type) -> u32 {
        match one {
            Type::Void => 0,
            Type::Function => self.add(PROTOTYPE, "", 0, 0, &[]),
            Type::Integer { name, bytes } => self.add(INT, name, *bytes, 0, &[8 * bytes]),
            Type::Float { name, bytes } => self.add(FLOAT, name, *bytes, 0, &[]),
            Type::Pointer(to) => {
                let to = self.number(to);
                self.add(POINTER, "", to, 0, &[])
            }
            Type::Array(of, count) => {
                let of = self.number(of);
                self.add(ARRAY, "", 0, 0, &[of, of, *count])
            }
            Type::Declared { is_union, name } => self.add(FORWARD | if *is_union { FLAG } else { 0 }, name, 0, 0, &[]),
            Type::Record(record) => self.record(record),
            Type::Enumeration { name, bytes, values } => self.enumeration(name, *bytes, values),
        }
    }

    fn record(&mut self, record: &Record) -> u32 {
        let wanted = self.wanted.contains(&record.name.as_str());
        if let (true, true, Some(number)) = (wanted, record.members.is_empty(), self.complete.get(&record.name)) {
            return *number;
        }
        let fields = record.members.iter().any(|member| member.bits != 0);
        let mut words = Vec::new();
        for member in &record.members {
            let place = member.offset_bits | if fields { member.bits << 24 } else { 0 };
            words.extend([self.string(&member.name), self.number(&member.of), place]);
        }
        let kind = if record.is_union { UNION } else { STRUCT } | if fields { FLAG } else { 0 };
        let number = self.add(kind, &record.name, record.bytes, record.members.len(), &words);
        if wanted {
            self.complete.insert(record.name.clone(), number);
        }
        number
    }

    fn enumeration(&mut self, name: &str, bytes: u32, values: &[(String, i64)]) -> u32 {
        let signed = if values.iter().any(|(_, value)| *value < 0) { FLAG } else { 0 };
        let mut words = Vec::new();
        for (name, value) in values {
            words.extend([self.string(name), *value as u32]);
            if bytes == 8 {
                words.push((*value >> 32) as u32);
            }
        }
        self.add(if bytes == 8 { ENUM64 } else { ENUM } | signed, name, bytes, values.len(), &words)
    }

    fn add(&mut self, kind: u32, name: &str, value: u32, count: usize, details: &[u32]) -> u32 {
        let info = (kind & FLAG) | (kind & !FLAG) << 24 | count as u32;
        let name = self.string(name);
        self.types.extend([name, info, value].iter().chain(details).flat_map(|word| word.to_le_bytes()));
        self.count += 1;
        self.count
    }

    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.strings.len() as u32;
        self.strings.extend(text.bytes().chain([0]));
        at
    }
}
