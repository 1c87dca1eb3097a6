// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures what each countermeasure is worth on this node: all are applied, then one at a time is switched off, and
//! noise is measured each time (Gerofi et al., SC '21, section 6.3, Table 2).
//!
//! `series` owns the order and restores the node; `laboratory` measures, by executing the noise laboratory; `table`
//! draws the conclusions, `picture` the picture.

pub mod laboratory;
pub mod picture;
mod series;
mod table;

pub use series::{Found, series};
pub use table::{Effect, Row, Spread, Table};
