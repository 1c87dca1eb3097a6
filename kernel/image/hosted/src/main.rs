// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The co-kernel hosted by Linux: image header, entry and panic.
//!
//! Linux's module loads the flat file at `TACET_IMAGE_BASE`; nothing here runs
//! before `tacet_start`, once on every CPU.
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]

use core::ptr::NonNull;
use tacet_arch::signals::Signals;
use tacet_host_linux::image;

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
    MAGIC = const image::MAGIC,
    REVISION = const image::REVISION,
    HEADER_BYTES = const image::HEADER_BYTES,
);

/// First Rust of a CPU, called by `tacet_start` on the CPU's own stack.
#[unsafe(no_mangle)]
extern "C" fn tacet_main(page: NonNull<Signals>) -> ! {
    // SAFETY: the trampoline passes the CPU's own page, and this runs once.
    let cpu = unsafe { tacet_host_linux::adopt(page) };
    cpu.run();
    tacet_host_linux::halt(cpu.host())
}

#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    match information.location() {
        Some(at) => tacet_host_linux::die(format_args!("{}:{}: {}", at.file(), at.line(), information.message())),
        None => tacet_host_linux::die(format_args!("{}", information.message())),
    }
}
