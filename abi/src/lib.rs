// SPDX-License-Identifier: GPL-2.0 OR MIT
//! The border between Linux and the co-kernel, for Rust.
//!
//! Owns nothing: `generated.rs` is made from `include/tacet/*.h` by
//! `generate.sh`, and its offsets are asserted by the compiler. Change the
//! headers, never the generated file.
#![no_std]

#[allow(
    non_camel_case_types,
    non_upper_case_globals,
    dead_code,
    clippy::all,
    missing_docs,
    reason = "generated from C: the names are the C names"
)]
#[rustfmt::skip]
mod generated;

pub mod ring;

pub use generated::*;
