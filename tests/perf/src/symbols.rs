// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names for addresses of the co-kernel, so that a stolen instruction has a culprit.
//!
//! Uses `nm` and the linked image where they are; an address without a name stays an address.

use std::path::Path;
use std::process::Command;

/// The co-kernel's symbols, by address.
#[derive(Debug, Default)]
pub struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Reads the image that `cargo xtask build` linked.
    pub fn read(top: &Path) -> Symbols {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top.join("target"), Into::into);
        let image = target.join("x86_64-unknown-none/release/tacet-image");
        let output = Command::new("nm").args(["--numeric-sort", "--demangle"]).arg(image).output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
        Symbols(text.lines().filter_map(symbol).collect())
    }

    /// `name+offset`, or the address.
    pub fn name(&self, address: u64) -> String {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        match self.0.get(after.wrapping_sub(1)) {
            Some((start, name)) if after < self.0.len() => format!("{name}+{:#x}", address - start),
            _ => format!("{address:#x}"),
        }
    }
}

fn symbol(line: &str) -> Option<(u64, String)> {
    let (address, rest) = line.split_once(' ')?;
    let (_, name) = rest.split_once(' ')?;
    Some((u64::from_str_radix(address, 16).ok()?, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_symbol_before_it() {
        let text = "ffffffffc0001980 T tacet_nmi\nffffffffc00019d7 t nmi_done\nffffffffc0002000 T end\n";
        let symbols = Symbols(text.lines().filter_map(symbol).collect());
        assert_eq!(symbols.name(0xffff_ffff_c000_199d), "tacet_nmi+0x1d");
        assert_eq!(symbols.name(0xffff_ffff_c000_3000), "0xffffffffc0003000");
        assert_eq!(symbols.name(1), "0x1");
    }
}
