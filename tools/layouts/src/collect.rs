// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads files and finds the wanted types in them.

use std::fs;
use std::path::PathBuf;

use object::{Object, ObjectSection};

use crate::Result;
use crate::btf::Writer;
use crate::dwarf;
use crate::model::Type;

/// The types of one kernel.
pub struct Types {
    /// What GNU ld wrote into the first file, in hexadecimal digits: tells the kernel from each other one.
    pub build_id: String,
    pub btf: Vec<u8>,
}

/// The types of these names, all of which must be there. Different types of one name are all kept: the reader refuses
/// them if they disagree.
pub fn collect(files: &[PathBuf], wanted: &[&str]) -> Result<Types> {
    let mut found: Vec<Type> = Vec::new();
    let mut build_id = None;
    for path in files {
        let about = |e: Box<dyn std::error::Error>| format!("{}: {e}", path.display());
        let bytes = fs::read(path).map_err(|e| about(e.into()))?;
        let elf = object::File::parse(bytes.as_slice()).map_err(|e| about(e.into()))?;
        if elf.section_by_name(".debug_info").and_then(|section| section.data().ok()).is_none_or(<[u8]>::is_empty) {
            return Err(
                about("no debugging information (DWARF); use the file that the kernel's build left".into()).into()
            );
        }
        if build_id.is_none() {
            let id = elf.build_id()?.ok_or_else(|| about("no build ID".into()))?;
            build_id = Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        for one in dwarf::types(&elf, wanted).map_err(about)? {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    let missing: Vec<&str> = wanted.iter().copied().filter(|name| !found.iter().any(|one| is(one, name))).collect();
    if !missing.is_empty() {
        return Err(format!("{}: in none of the files", missing.join(", ")).into());
    }
    // a structure within another is the smaller one, and is written first
    found.sort_by_key(bytes);
    let mut writer = Writer::new(wanted);
    for one in &found {
        writer.number(one);
    }
    Ok(Types { build_id: build_id.unwrap_or_default(), btf: writer.bytes() })
}

fn is(one: &Type, wanted: &str) -> bool {
    match one {
        Type::Record(record) => record.name == wanted,
        Type::Enumeration { name, .. } => name == wanted,
        _ => false,
    }
}

fn bytes(one: &Type) -> u32 {
    match one {
        Type::Record(record) => record.bytes,
        _ => 0,
    }
}
