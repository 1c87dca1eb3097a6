// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How deep a core's stack can get, from the machine code of the co-kernel's image.
//!
//! A function's frame is what it pushes and subtracts; a call adds the frames of what it calls. What the code does not say
//! is written in a file beside the image ([`written`]): whom an indirect call reaches, how often a function calls itself,
//! and what handwritten code has on the stack. A call that is neither clear nor written down is an error, and so is a
//! written line that is not needed any more. The image is only read.

mod code;
mod deepest;
mod heights;
mod image;
mod written;

#[cfg(test)]
mod tests;

use super::count::Count;
use code::{Functions, WORD};
use deepest::Deepest;
use written::Written;

/// What an exception in the co-kernel pushes, with the padding before it, its number and the error code.
const TRAP: usize = 8 * WORD;

/// The greatest depth of `roots` in the image's ELF file, with an exception at the deepest place, which `trap` serves;
/// and the path.
pub fn depth(elf: &[u8], written: &str, roots: &[&str], trap: &str) -> Result<Count, String> {
    count(image::functions(elf)?, &Written::read(written)?, roots, trap)
}

fn count(mut functions: Functions, written: &Written, roots: &[&str], trap: &str) -> Result<Count, String> {
    if let Some(stale) = written.apply(&mut functions)? {
        return Err(format!("stack: `{stale}` is written down and not needed"));
    }
    let all = Deepest::of(&functions, written)?;
    let (whole, path) = all.path(&functions, roots)?;
    let (trapped, rest) = all.path(&functions, &[trap])?;
    for function in functions.values_mut().filter(|function| written.is_last(&function.name)) {
        function.frame = 0;
        function.calls.clear();
    }
    let (living, mut before) = Deepest::of(&functions, written)?.path(&functions, roots)?;
    if living + TRAP + trapped <= whole {
        return Ok(Count { count: whole, offenders: path });
    }
    before.push(format!("{TRAP:>6} an exception there"));
    before.extend(rest);
    Ok(Count { count: living + TRAP + trapped, offenders: before })
}
