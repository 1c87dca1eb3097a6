// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures of records, and a page that holds them all. `commands/report.rs` calls it.
//!
//! `Material` is what is known of the records; each file in `figures` draws one figure from it; `render` makes an SVG or
//! PNG file of a figure, `page` the HTML page of all of them.

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
pub use material::Material;
pub use page::page;
pub use render::{png, svg};
