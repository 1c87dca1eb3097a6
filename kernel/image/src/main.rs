// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The co-kernel hosted by Linux: image header, entry and panic.
//!
//! Linux's module loads the flat file at `TACET_IMAGE_BASE`; nothing here runs
//! before `tacet_start`, once on every core.
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]

use core::ptr::NonNull;
use tacet_abi::tacet_cpu;

core::arch::global_asm!(
    ".section .text.header, \"a\"",
    ".quad {MAGIC}",
    ".long {REVISION}",
    ".long {HEADER_BYTES}",
    ".quad tacet_start",
    ".quad tacet_text_bytes",
    ".quad tacet_rodata_bytes",
    ".quad tacet_data_bytes",
    ".quad tacet_bss_bytes",
    MAGIC = const tacet_abi::TACET_IMAGE_MAGIC,
    REVISION = const tacet_abi::TACET_ABI_REVISION,
    HEADER_BYTES = const size_of::<tacet_abi::tacet_image_header>(),
);

/// First Rust of a core, called by `tacet_start` on the core's own stack.
#[unsafe(no_mangle)]
extern "C" fn tacet_main(shared: NonNull<tacet_cpu>) -> ! {
    // SAFETY: the trampoline passes the core's own page, and this runs once.
    let mut core = unsafe { tacet_metal::adopt(shared) };
    tacet_core::run(&mut core)
}

#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    match information.location() {
        Some(place) => tacet_metal::die(format_args!("{}:{}: {}", place.file(), place.line(), information.message())),
        None => tacet_metal::die(format_args!("{}", information.message())),
    }
}
