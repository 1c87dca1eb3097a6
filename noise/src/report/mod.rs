// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures of records, and a page with all of them. Called by `commands/report.rs`.
//!
//! `Material` is the records with their statistics; each file in `figures` draws one figure from it; `render` writes a
//! figure as an SVG or PNG file; `page` makes the HTML page of all figures.

mod axis;
mod columns;
pub mod figures;
mod look;
mod material;
mod origin;
mod page;
mod render;
mod tables;

pub use look::{RECORDS_LIMIT, load_font};
pub use material::{Material, Pictured};
pub use page::page;
pub use render::{png, svg};
