// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The static image: entry and panic.
//!
//! A boot loader starts it (PVH or Multiboot2); what runs before `main` is `tacet_arch::native::machine`'s.
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]

use tacet_arch::native::machine::{self, Machine};

tacet_arch::machine_entry!(main);

/// The first of our code with the kernel's own tables and exceptions, on the boot CPU.
fn main(machine: Machine) -> ! {
    // Tests of last words.
    match machine.option("tacet.test") {
        Some(b"fault") => machine::fault(),
        Some(b"panic") => panic!("tacet.test=panic"),
        _ => {}
    }
    tacet_host_static::main(machine)
}

#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    match information.location() {
        Some(at) => machine::die(format_args!("{}:{}: {}", at.file(), at.line(), information.message())),
        None => machine::die(format_args!("{}", information.message())),
    }
}
