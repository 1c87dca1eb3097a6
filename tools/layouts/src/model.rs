// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A type as far as the module's reader looks at it: names and sizes, and members where it searches.

/// Typedefs, const and volatile are gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    Void,
    Function,
    Integer {
        name: String,
        bytes: u32,
    },
    Float {
        name: String,
        bytes: u32,
    },
    Pointer(Box<Type>),
    Array(Box<Type>, u32),
    /// A structure or union behind a pointer: its name is all that counts.
    Declared {
        is_union: bool,
        name: String,
    },
    Record(Record),
    Enumeration {
        name: String,
        bytes: u32,
        values: Vec<(String, i64)>,
    },
}

/// A structure or union. Members of one that is neither wanted nor anonymous are left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    pub is_union: bool,
    pub name: String,
    pub bytes: u32,
    pub members: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Member {
    pub name: String,
    pub of: Type,
    pub offset_bits: u32,
    /// 0 unless a bit field.
    pub bits: u32,
}
