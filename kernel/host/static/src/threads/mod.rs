// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happens to threads beside their calls: where they live, which signals they take, how they end, and how they go on
//! once they have left the core. Called by the calls and by the core's questions (`host.rs`).
//!
//! In the order of calls: `places` `signals`; `end`; `orders`; `masks` `waits` `shipped`; `clone` `exit` `delivery`
//! `outstanding`; `proceed`.

mod clone;
mod delivery;
mod end;
mod exit;
mod masks;
pub mod orders;
pub mod outstanding;
pub mod places;
mod proceed;
mod shipped;
pub mod signals;
mod waits;
