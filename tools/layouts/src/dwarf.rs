// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds types by name in DWARF.
//!
//! Units of a vmlinux describe the same header's types again and again; each description counts. Must never follow a
//! reference without bound: a chain of modifiers has at most [`STEPS`] parts.

use std::borrow::Cow;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Reader as _, SectionId, Unit,
};
use object::{Object, ObjectSection};

use crate::Result;
use crate::model::{Member, Record, Type};

/// Through typedef, const and the like, and through anonymous structures in one another.
const STEPS: u32 = 32;

type Slice<'a> = gimli::RelocateReader<EndianSlice<'a, LittleEndian>, &'a Relocations>;
type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// Modules are relocatable: references between their sections are empty until they are relocated.
#[derive(Debug, Default)]
struct Relocations(object::read::RelocationMap);

impl gimli::Relocate for &Relocations {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        Ok(self.0.relocate(offset as u64, value))
    }

    fn relocate_offset(&self, offset: usize, value: usize) -> gimli::Result<usize> {
        Ok(self.0.relocate(offset as u64, value as u64) as usize)
    }
}

struct Section<'data> {
    data: Cow<'data, [u8]>,
    relocations: Relocations,
}

/// Every description of a type with one of these names.
pub fn types(elf: &object::File<'_>, wanted: &[&str]) -> Result<Vec<Type>> {
    let load = |id: SectionId| -> Result<Section<'_>> {
        let Some(section) = elf.section_by_name(id.name()) else {
            return Ok(Section { data: Cow::Borrowed(&[]), relocations: Relocations::default() });
        };
        // a linked file's relocations, if it kept them, were applied
        let linked = elf.kind() != object::ObjectKind::Relocatable;
        let map = if linked { Default::default() } else { object::read::RelocationMap::new(elf, &section)? };
        Ok(Section { data: section.uncompressed_data()?, relocations: Relocations(map) })
    };
    let sections = gimli::DwarfSections::load(load)?;
    let dwarf = sections.borrow(|section| {
        gimli::RelocateReader::new(EndianSlice::new(&section.data, LittleEndian), &section.relocations)
    });
    let mut found = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        Finder { dwarf: &dwarf, unit: &unit, wanted }.find(&mut found)?;
    }
    Ok(found)
}

struct Finder<'u, 'a> {
    dwarf: &'u Dwarf<Slice<'a>>,
    unit: &'u Unit<Slice<'a>>,
    wanted: &'u [&'u str],
}

impl<'a> Finder<'_, 'a> {
    /// Types of one unit stand directly in it: C has no others.
    fn find(&self, found: &mut Vec<Type>) -> Result<()> {
        let mut tree = self.unit.entries_tree(None)?;
        let mut entries = tree.root()?.children();
        while let Some(node) = entries.next()? {
            let entry = node.entry();
            let kind = [gimli::DW_TAG_structure_type, gimli::DW_TAG_enumeration_type].contains(&entry.tag());
            if !kind || is_set(entry, gimli::DW_AT_declaration) || !self.wanted.contains(&self.name(entry)?.as_str()) {
                continue;
            }
            let one = self.type_at(entry.offset(), 0, true)?;
            if !found.contains(&one) {
                found.push(one);
            }
        }
        Ok(())
    }

    /// `whole`: with members. Anonymous structures have them always, since the reader looks for members in them.
    fn type_at(&self, at: gimli::UnitOffset, depth: u32, whole: bool) -> Result<Type> {
        if depth == STEPS {
            return Err("a type refers to itself without an end".into());
        }
        let entry = self.unit.entry(at)?;
        let (name, bytes) = (self.name(&entry)?, number(&entry, gimli::DW_AT_byte_size));
        Ok(match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => self.target(&entry, depth + 1)?,
            gimli::DW_TAG_base_type
                if number(&entry, gimli::DW_AT_encoding) == u64::from(gimli::DW_ATE_float.0).into() =>
            {
                Type::Float { name, bytes: size(bytes)? }
            }
            gimli::DW_TAG_base_type => Type::Integer { name, bytes: size(bytes)? },
            gimli::DW_TAG_pointer_type => Type::Pointer(Box::new(self.behind(&entry, depth + 1)?)),
            gimli::DW_TAG_subroutine_type => Type::Function,
            gimli::DW_TAG_array_type => self.array(&entry, depth)?,
            gimli::DW_TAG_enumeration_type => Type::Enumeration { name, bytes: size(bytes)?, values: self.values(at)? },
            gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type => {
                let is_union = entry.tag() == gimli::DW_TAG_union_type;
                if is_set(&entry, gimli::DW_AT_declaration) {
                    return Ok(Type::Declared { is_union, name });
                }
                let members = if whole || name.is_empty() { self.members(at, depth)? } else { Vec::new() };
                Type::Record(Record { is_union, name, bytes: size(bytes)?, members })
            }
            other => return Err(format!("a type of kind {other} is not understood").into()),
        })
    }

    /// Of a pointer: the name of a structure is enough, and another pointer's may lead back here.
    fn behind(&self, pointer: &Entry<'a>, depth: u32) -> Result<Type> {
        let mut entry = pointer.clone();
        for _ in depth..STEPS {
            let Some(at) = reference(&entry)? else {
                return Ok(Type::Void);
            };
            entry = self.unit.entry(at)?;
            match entry.tag() {
                gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type => {
                    let is_union = entry.tag() == gimli::DW_TAG_union_type;
                    return Ok(Type::Declared { is_union, name: self.name(&entry)? });
                }
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => {}
                _ => return self.type_at(at, depth + 1, false),
            }
        }
        Err("a pointer leads nowhere".into())
    }

    /// The type that an entry names; none is void.
    fn target(&self, entry: &Entry<'a>, depth: u32) -> Result<Type> {
        reference(entry)?.map_or(Ok(Type::Void), |at| self.type_at(at, depth, false))
    }

    fn array(&self, entry: &Entry<'a>, depth: u32) -> Result<Type> {
        let mut of = self.target(entry, depth + 1)?;
        let mut counts = Vec::new();
        self.children(entry.offset(), |child| {
            if child.tag() == gimli::DW_TAG_subrange_type {
                let bound = number(child, gimli::DW_AT_upper_bound).map(|last| last.wrapping_add(1));
                // none: a flexible array
                counts.push(number(child, gimli::DW_AT_count).or(bound).unwrap_or(0));
            }
            Ok(())
        })?;
        for count in counts.into_iter().rev() {
            of = Type::Array(Box::new(of), size(Some(count))?);
        }
        Ok(of)
    }

    fn members(&self, at: gimli::UnitOffset, depth: u32) -> Result<Vec<Member>> {
        let mut members = Vec::new();
        self.children(at, |child| {
            if child.tag() != gimli::DW_TAG_member {
                return Ok(());
            }
            let bits = number(child, gimli::DW_AT_bit_size).unwrap_or(0);
            let offset = offset_bits(child, bits).unwrap_or(u64::MAX);
            if offset >= 1 << 24 || bits >= 1 << 8 {
                return Err(format!("member {}: its place is not understood", self.name(child)?).into());
            }
            members.push(Member {
                name: self.name(child)?,
                of: self.target(child, depth + 1)?,
                offset_bits: offset as u32,
                bits: bits as u32,
            });
            Ok(())
        })?;
        Ok(members)
    }

    fn values(&self, at: gimli::UnitOffset) -> Result<Vec<(String, i64)>> {
        let mut values = Vec::new();
        self.children(at, |child| {
            if child.tag() == gimli::DW_TAG_enumerator {
                let value = child.attr_value(gimli::DW_AT_const_value);
                // one byte of 255 is 255: negative values have a form of their own
                let unsigned = value.as_ref().and_then(|value| value.udata_value()).map(|number| number as i64);
                let value = unsigned.or_else(|| value.and_then(|value| value.sdata_value()));
                values.push((self.name(child)?, value.ok_or("an enumerator has no value")?));
            }
            Ok(())
        })?;
        Ok(values)
    }

    fn children(&self, at: gimli::UnitOffset, mut each: impl FnMut(&Entry<'a>) -> Result<()>) -> Result<()> {
        let mut tree = self.unit.entries_tree(Some(at))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            each(child.entry())?;
        }
        Ok(())
    }

    /// Empty for what has no name.
    fn name(&self, entry: &Entry<'a>) -> Result<String> {
        match entry.attr_value(gimli::DW_AT_name) {
            Some(value) => Ok(self.dwarf.attr_string(self.unit, value)?.to_string_lossy()?.into_owned()),
            None => Ok(String::new()),
        }
    }
}

fn reference(entry: &Entry<'_>) -> Result<Option<gimli::UnitOffset>> {
    match entry.attr_value(gimli::DW_AT_type) {
        None => Ok(None),
        Some(AttributeValue::UnitRef(at)) => Ok(Some(at)),
        Some(_) => Err("a type stands in another unit (LTO or dwz), which is not understood".into()),
    }
}

fn number(entry: &Entry<'_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}

/// Where a member begins, by whichever attributes tell it; `None`: they do not.
fn offset_bits(member: &Entry<'_>, bits: u64) -> Option<u64> {
    if let Some(offset) = number(member, gimli::DW_AT_data_bit_offset) {
        return Some(offset);
    }
    // a union's members have no place
    let bytes = match member.attr(gimli::DW_AT_data_member_location) {
        Some(_) => number(member, gimli::DW_AT_data_member_location)?,
        None => 0,
    };
    let start = bytes.checked_mul(8)?;
    // DWARF 3 counts a bit field from the upper end of its storage
    match number(member, gimli::DW_AT_bit_offset) {
        Some(from_top) => {
            let storage = number(member, gimli::DW_AT_byte_size)?.checked_mul(8)?;
            start.checked_add(storage)?.checked_sub(from_top)?.checked_sub(bits)
        }
        None => Some(start),
    }
}

fn is_set(entry: &Entry<'_>, name: gimli::DwAt) -> bool {
    matches!(entry.attr_value(name), Some(AttributeValue::Flag(true)))
}

fn size(bytes: Option<u64>) -> Result<u32> {
    Ok(bytes.ok_or("a type has no size")?.try_into()?)
}
