// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each countermeasure is worth on this node: all are applied, then one after the other is switched off, and noise
//! is measured each time (Gerofi et al., SC '21, section 6.3, Table 2).
//!
//! `series` owns the order and leaves the node as it was; `laboratory` measures, by the noise laboratory's own program;
//! `table` judges; `picture` draws.

pub mod laboratory;
pub mod picture;
mod series;
mod table;

pub use series::series;
pub use table::{Effect, Row, Spread, Table};
