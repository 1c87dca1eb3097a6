// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The size of Tacet: of the image, of the module in memory, and of the source code.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::metric::Metrics;
use crate::programs::Programs;

/// The folders that count: both kernels' parts and the border, without tools, tests and nodes.
const SOURCES: [&str; 3] = ["abi", "kernel", "linux"];

/// Adds the figures.
pub fn sizes(metrics: &mut Metrics, programs: &Programs, release: &str) -> Result<()> {
    let image = fs::metadata(programs.image())?.len();
    metrics.add("image_bytes", image as f64, "bytes", None, "size of the flat co-kernel image");
    let module = allocated(&fs::read(programs.module(release))?).ok_or("tacet.ko: not a 64-bit ELF file")?;
    metrics.add(
        "module_bytes",
        module as f64,
        "bytes",
        None,
        "sum of the module's sections that are loaded (SHF_ALLOC)",
    );
    let mut lines = 0;
    for source in SOURCES {
        lines += lines_below(&programs.top().join(source))?;
    }
    let method = "lines of .rs, .c, .h and .S files in abi/, kernel/ and linux/ that are neither blank nor only comment, unit tests included";
    metrics.add("lines_of_code", lines as f64, "lines", None, method);
    Ok(())
}

/// The bytes of all sections with SHF_ALLOC, from an ELF64 file's section headers.
fn allocated(elf: &[u8]) -> Option<u64> {
    const ALLOC: u64 = 2;
    let word = |at: usize, bytes: usize| {
        let raw = elf.get(at..at + bytes)?;
        Some(raw.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    if elf.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let (table, entry, count) = (word(0x28, 8)? as usize, word(0x3a, 2)? as usize, word(0x3c, 2)? as usize);
    (0..count).try_fold(0, |sum, i| {
        let header = table + i * entry;
        let size = word(header + 0x20, 8)?;
        Some(if word(header + 8, 8)? & ALLOC != 0 { sum + size } else { sum })
    })
}

fn lines_below(directory: &Path) -> Result<usize> {
    let mut lines = 0;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            lines += lines_below(&path)?;
        } else if path.extension().is_some_and(|e| ["rs", "c", "h", "S"].iter().any(|known| e == *known)) {
            lines += code_lines(&fs::read_to_string(&path)?);
        }
    }
    Ok(lines)
}

fn code_lines(text: &str) -> usize {
    let mut inside = false;
    let code = |line: &&str| {
        let line = line.trim();
        if inside {
            inside = !line.contains("*/");
            return false;
        }
        if line.starts_with("/*") {
            inside = !line.contains("*/");
            return false;
        }
        !line.is_empty() && !line.starts_with("//")
    };
    text.lines().filter(code).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_are_no_code() {
        assert_eq!(code_lines("/* a\n * b\n */\nint x; /* c */\n\n// d\n#include <e>\n"), 2);
    }

    #[test]
    fn other_files_have_no_sections() {
        assert_eq!(allocated(b"\x7fELF\x01"), None);
        assert_eq!(allocated(b""), None);
    }
}
