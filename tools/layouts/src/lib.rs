// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types from DWARF, written as BTF: the form that `pico/linux/layout.c` reads, so that a kernel without BTF gets the same
//! checks of each field's type. Called by this crate's program and its tests.

mod btf;
mod c_text;
mod collect;
mod dwarf;
mod model;

pub use c_text::c_text;
pub use collect::{Types, collect};

/// The result of everything here; an error's text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
