// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The address space against a naive model, with the entries of aarch64, and whether each valid one is broken before it
//! is made anew.

mod breaks;
mod broken;
mod failures;
mod forks;
mod histories;
mod machine;
mod model;
mod operation;
mod portions;
#[path = "../support/records.rs"]
mod records;
mod relocations;
mod searches;
mod single;
mod tlb;

use tacet_arch::aarch64::paging::Entries;

#[test]
fn a_large_page_is_broken_before_it_is_divided() {
    // Into 512 of 2 MiB, one of these into 512 small ones.
    assert_eq!(breaks::divide_a_large_page(), 2);
}

#[test]
fn a_page_is_broken_before_another_frame_comes() {
    assert_eq!(breaks::map_anew(), 1);
}

#[test]
fn a_table_is_broken_before_a_large_page_comes() {
    assert_eq!(breaks::map_where_a_table_was(), 1);
}
