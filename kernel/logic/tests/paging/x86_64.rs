// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The address space against a naive model, with the entries of x86-64.

mod breaks;
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

use tacet_arch::x86_64::paging::Entries;

// These processors bear it. Here it shows that the fake one finds whatever is not broken first.

#[test]
#[should_panic(expected = "takes the place of")]
fn a_large_page_is_divided_in_place() {
    breaks::divide_a_large_page();
}

#[test]
#[should_panic(expected = "takes the place of")]
fn another_frame_comes_at_once() {
    breaks::map_anew();
}

#[test]
#[should_panic(expected = "takes the place of")]
fn a_large_page_comes_at_once_where_a_table_was() {
    breaks::map_where_a_table_was();
}
