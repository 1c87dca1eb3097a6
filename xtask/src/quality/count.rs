// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is counted, and what a count found.

/// Path and text.
pub type Sources = [(String, String)];

/// What a count found. Of lengths the longest is first, and the count is its length.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub count: usize,
    pub offenders: Vec<String>,
}
