// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The functions of an image, from its ELF file.

use std::collections::{BTreeMap, HashMap};

use object::{Object, ObjectSection, ObjectSymbol, SectionIndex, SectionKind, SymbolKind};

use super::code::{Address, Functions, WORD};
use super::heights::{self, Surroundings};

/// Every function that has a name. Its code reaches to the next name, as handwritten code has no other end.
pub fn functions(elf: &[u8]) -> Result<Functions, String> {
    let wrong = |error: object::Error| format!("stack: the image: {error}");
    let file = object::File::parse(elf).map_err(wrong)?;
    let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let text: HashMap<SectionIndex, (Address, &[u8])> = text
        .map(|section| Ok((section.index(), (section.address(), section.data()?))))
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    let mut named = BTreeMap::<Address, (&str, &[u8])>::new();
    for symbol in file.symbols() {
        let is_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown | SymbolKind::Label);
        let section = symbol.section_index().and_then(|index| text.get(&index)).filter(|_| is_code);
        let Some(&(base, bytes)) = section else { continue };
        let Some(code) = symbol.address().checked_sub(base).and_then(|offset| bytes.get(offset as usize..)) else {
            continue;
        };
        let name = symbol.name().map_err(wrong)?;
        // the image's header, which is no code, comes first; of two names the function's own one counts, not a label's
        if symbol.address() != base
            && !code.is_empty()
            && (symbol.kind() == SymbolKind::Text || !named.contains_key(&symbol.address()))
        {
            named.insert(symbol.address(), (name, code));
        }
    }
    let heads: Vec<Address> = named.keys().copied().collect();
    let around = Surroundings { heads: &heads, pointer: &|at| pointer(&file, at) };
    let next = heads.iter().skip(1).copied().map(Some).chain([None]);
    let examined = named.into_iter().zip(next).map(|((address, (name, code)), next)| {
        let length = next.map_or(code.len(), |next| code.len().min((next - address) as usize));
        let name = format!("{:#}", rustc_demangle::demangle(name));
        Ok((address, heights::examine(name, address, code.get(..length).unwrap_or(code), &around)?))
    });
    examined.collect()
}

/// The constant at an address, which the linker wrote there.
fn pointer(file: &object::File, at: Address) -> Option<Address> {
    let holds = |section: &object::Section| (section.address()..section.address() + section.size()).contains(&at);
    let section = file.sections().filter(|section| section.address() != 0).find(holds)?;
    let word = section.data_range(at, WORD as u64).ok()??;
    Some(Address::from_le_bytes(word.try_into().ok()?))
}
