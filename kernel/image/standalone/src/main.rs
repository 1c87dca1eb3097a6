// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The co-kernel alone on a machine: entry and panic.
//!
//! A boot loader starts it (PVH or Multiboot2); what runs before `main` is `tacet_arch::native::alone`'s.
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]

use tacet_arch::native::alone;

tacet_arch::alone_entry!(tacet_host_standalone::main);

#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    match information.location() {
        Some(at) => alone::die(format_args!("{}:{}: {}", at.file(), at.line(), information.message())),
        None => alone::die(format_args!("{}", information.message())),
    }
}
