// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The address space against a naive model.

mod failures;
mod forks;
mod histories;
mod machine;
mod model;
mod operation;
#[path = "../support/records.rs"]
mod records;
mod relocations;
mod searches;
mod single;
