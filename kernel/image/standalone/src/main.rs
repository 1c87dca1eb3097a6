// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The co-kernel alone on a machine: entry and panic.
//!
//! A boot loader starts it (PVH or Multiboot2); what runs before `main` is `tacet_arch::native::alone`'s.
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]

use tacet_arch::native::alone::{self, Machine};

tacet_arch::alone_entry!(main);

/// The first of our code with the kernel's own tables and exceptions, on the boot CPU.
fn main(machine: Machine) -> ! {
    // Tests of last words.
    match machine.option("tacet.test") {
        Some(b"fault") => alone::fault(),
        Some(b"panic") => panic!("tacet.test=panic"),
        _ => {}
    }
    tacet_host_standalone::main(machine)
}

#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    match information.location() {
        Some(at) => alone::die(format_args!("{}:{}: {}", at.file(), at.line(), information.message())),
        None => alone::die(format_args!("{}", information.message())),
    }
}
