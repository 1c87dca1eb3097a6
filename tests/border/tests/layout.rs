// SPDX-License-Identifier: Apache-2.0 OR MIT
//! C and Rust must agree on the layout of the shared structures.

use std::mem::offset_of;

use tacet_abi as abi;

#[test]
fn sizes_and_offsets_are_the_same_in_both_languages() {
    let in_rust = [
        size_of::<abi::tacet_registers>(),
        size_of::<abi::tacet_context>(),
        size_of::<abi::tacet_cpu>(),
        size_of::<abi::tacet_ring>(),
        size_of::<abi::tacet_log>(),
        size_of::<abi::tacet_image_header>(),
        size_of::<abi::tacet_up>(),
        size_of::<abi::tacet_status>(),
        size_of::<abi::tacet_thread>(),
        offset_of!(abi::tacet_cpu, attention),
        offset_of!(abi::tacet_cpu, outbox),
        offset_of!(abi::tacet_context, state),
        abi::TACET_UP as usize,
        abi::TACET_TEST as usize,
    ];
    for (which, size) in in_rust.into_iter().enumerate() {
        assert_eq!(tacet_border::size_in_c(which as i32), size as u64, "number {which} of ends.c");
    }
}
