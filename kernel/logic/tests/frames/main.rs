// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frames against a model that knows only which frames are out.

mod caches;
mod joined;
mod model;
mod owners;
mod policies;
#[path = "../support/records.rs"]
mod records;
mod single;
