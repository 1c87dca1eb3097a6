// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The smallest memory with which a node boots and runs a program that prints a line.
//!
//! Tries one size after the other. Must never take a failure of the host for one of the memory: the next size must work.

use super::Bench;
use super::emulator::Shape;
use crate::Result;
use crate::metric::Metrics;

/// The command refuses less than the first.
const SIZES_MIB: [u32; 8] = [2, 3, 4, 5, 6, 8, 12, 16];
const PROGRAM: &str = "hello-static";
const SAYS: &str = "hello\n";

/// Adds the figure.
pub fn memory(bench: &Bench, metrics: &mut Metrics) -> Result<()> {
    let program = bench.programs.test_program(PROGRAM);
    let mut last = String::new();
    for mib in SIZES_MIB {
        let size = format!("{mib}M");
        match bench.job(&Shape { flags: &["--node-memory", &size], plugin: None }, &[&program]) {
            Ok(ran) if ran.text == SAYS => {
                let how = format!(
                    "smallest memory of {SIZES_MIB:?} MiB (-m) of an emulated node that runs {PROGRAM} of tests/static, a \
                     static program of glibc; with less: {last}"
                );
                metrics.add("static_memory_min_mib", f64::from(mib), "MiB", None, &how);
                return Ok(());
            }
            Ok(ran) => last = format!("it printed `{}`", ran.text.trim()),
            Err(error) => last = error.to_string(),
        }
        eprintln!("  {size}: {last}");
    }
    Err(last.into())
}
