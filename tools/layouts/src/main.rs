// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet-layouts VMLINUX [MODULE.ko…]`: writes the types that the module needs from a kernel's debugging information
//! (DWARF), for kernels that were built without BTF.
//!
//! The output is C text for `pico/linux/types_of_kernel.h`: the module that is built with it reads these types where the
//! kernel has none of its own. Must never guess: what DWARF does not say plainly is an error.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tacet_layouts::{Result, c_text, collect};

/// Structures and enumerations that the tables of `pico/` name.
const WANTED: [&str; 5] = ["nvme_ctrl", "nvme_ctrl_state", "nvme_dev", "nvme_ns", "nvme_ns_head"];

/// Take the types that the module needs from a kernel's DWARF
#[derive(Parser)]
struct Arguments {
    /// vmlinux, then modules of the same build
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Other structures and enumerations than the module's
    #[arg(long = "type", value_name = "NAME")]
    types: Vec<String>,
    /// The bytes alone, as BTF
    #[arg(long)]
    raw: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tacet-layouts: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let named: Vec<&str> = arguments.types.iter().map(String::as_str).collect();
    let wanted = if named.is_empty() { &WANTED } else { named.as_slice() };
    let types = collect(&arguments.files, wanted)?;
    let mut out = std::io::stdout().lock();
    let bytes = if arguments.raw { types.btf } else { c_text(&types).into_bytes() };
    Ok(std::io::Write::write_all(&mut out, &bytes)?)
}
