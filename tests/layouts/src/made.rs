// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types written by hand, so that tests have what no compiler writes. A number names a type: 1 is the first one.

/// BTF in the making.
#[derive(Default)]
pub struct Made {
    types: Vec<u8>,
    strings: Vec<u8>,
    first_string: u32,
}

/// Kinds as Linux numbers them.
pub mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FORWARD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const CONST: u32 = 10;
    pub const ENUM64: u32 = 19;
    /// Bit 31 of a type's second word.
    pub const FLAG: u32 = 1 << 7;
}

impl Made {
    /// Linux's own types, whose first string is empty.
    pub fn new() -> Made {
        Made { strings: vec![0], ..Made::default() }
    }

    /// A driver's types on top of `base`.
    pub fn on(base: &Made) -> Made {
        Made { first_string: base.first_string + base.strings.len() as u32, ..Made::default() }
    }

    /// One type; `value` is its size or the number of another type, `details` the words after it.
    pub fn add(mut self, kind: u32, name: &str, value: u32, count: usize, details: &[u32]) -> Made {
        let name = self.string(name);
        for word in [name, kind << 24 | count as u32, value].iter().chain(details) {
            self.types.extend(word.to_le_bytes());
        }
        self
    }

    pub fn int(self, name: &str, bytes: u32) -> Made {
        self.add(kind::INT, name, bytes, 0, &[8 * bytes])
    }

    /// A structure or union: members with their types and offsets in bits.
    pub fn record(mut self, kind: u32, name: &str, bytes: u32, members: &[(&str, u32, u32)]) -> Made {
        let words: Vec<u32> =
            members.iter().flat_map(|(member, number, bits)| [self.string(member), *number, *bits]).collect();
        self.add(kind, name, bytes, members.len(), &words)
    }

    pub fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.first_string + self.strings.len() as u32;
        self.strings.extend(text.bytes().chain([0]));
        at
    }

    /// The buffer.
    pub fn bytes(&self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut out = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types, types, strings] {
            out.extend(word.to_le_bytes());
        }
        out.extend(&self.types);
        out.extend(&self.strings);
        out
    }

    /// The same with the table of kinds' sizes that Linux 7 appends: bytes once and bytes per element.
    pub fn bytes_with_sizes(&self, sizes: &[(u8, u8)]) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut out = vec![0x9f, 0xeb, 1, 0];
        for word in [32, 0, types, types, strings, types + strings, 4 * sizes.len() as u32] {
            out.extend(word.to_le_bytes());
        }
        out.extend(&self.types);
        out.extend(&self.strings);
        out.extend(sizes.iter().flat_map(|(once, each)| [*once, *each, 0, 0]));
        out
    }
}
