// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module's reader of kernel types (`pico/linux/layout.c`) outside of a kernel: built as a program with sanitizers, and
//! fed with the types of real kernels and with broken ones.
//!
//! Called by this crate's tests and by its program, which prints the table of `docs/pico-layouts.md`.

mod image;
mod kernels;
pub mod made;
mod packages;
mod reader;

pub use image::types;
pub use kernels::{Types, installed};
pub use packages::{Package, packages};
pub use reader::{Reader, Said};

/// The result of everything here; an error's text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
