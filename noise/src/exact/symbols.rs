// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of functions for addresses, to identify the code that stole instructions.
//!
//! Reads the output of `nm` and /proc/kallsyms. An address without a name is shown as a number.

/// Symbols of a kernel, by address.
#[derive(Debug, Default)]
pub struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Reads lines of `ADDRESS TYPE NAME`, optionally followed by a module's name in brackets; skips other lines.
    pub fn parse(text: &str) -> Symbols {
        let mut symbols: Vec<(u64, String)> = text.lines().filter_map(symbol).collect();
        // keep the first of several names for one address
        symbols.sort_by_key(|(address, _)| *address);
        symbols.dedup_by_key(|(address, _)| *address);
        Symbols(symbols)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The symbol that begins at or before the address, and its start. Addresses at or after the last symbol have none.
    pub fn symbol(&self, address: u64) -> Option<(u64, &str)> {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.0.get(after.checked_sub(1)?)?;
        (after < self.0.len()).then_some((*start, name.as_str()))
    }

    /// `name+offset`, or the address.
    pub fn name(&self, address: u64) -> String {
        match self.symbol(address) {
            Some((start, name)) => format!("{name}+{:#x}", address - start),
            None => format!("{address:#x}"),
        }
    }
}

fn symbol(line: &str) -> Option<(u64, String)> {
    let (address, rest) = line.split_once(' ')?;
    let (_, name) = rest.split_once(' ')?;
    Some((u64::from_str_radix(address, 16).ok()?, name.replace('\t', " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_symbol_before_it() {
        let text = "ffffffffc0002000 T end\nffffffffc0001980 T tacet_nmi\nffffffffc0001980 T alias\n\
                    ffffffffc00019d7 t nmi_done\t[tacet]\nno symbol\n";
        let symbols = Symbols::parse(text);
        assert_eq!(symbols.name(0xffff_ffff_c000_199d), "tacet_nmi+0x1d");
        assert_eq!(symbols.symbol(0xffff_ffff_c000_19d7), Some((0xffff_ffff_c000_19d7, "nmi_done [tacet]")));
        assert_eq!(symbols.name(0xffff_ffff_c000_3000), "0xffffffffc0003000");
        assert_eq!(symbols.name(1), "0x1");
    }
}
