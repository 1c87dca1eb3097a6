// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The co-kernel alone on a machine: entry and panic.
//!
//! A boot loader starts it (PVH or Multiboot2); what runs before [`main`] is `tacet_arch::native::alone`'s.
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]

use tacet_arch::Processor;
use tacet_arch::native::Cpu;
use tacet_arch::native::alone::{self, Machine};

tacet_arch::alone_entry!(main);

static NOTHING: () = ();

fn main(mut machine: Machine) -> ! {
    alone::log(machine.command_line());
    say(format_args!("cpus {} khz {} free {}", machine.cpus(), machine.tsc_khz(), machine.free_bytes()));
    for range in machine.ram().ranges() {
        say(format_args!("{range:x?}"));
    }
    machine.start(&NOTHING, run)
}

fn run(cpu: Cpu, _: &'static ()) -> ! {
    say(format_args!("cpu {}", cpu.index()));
    if cpu.index() == 0 {
        cpu.spin(300_000_000, || false);
        alone::power_off(3);
    }
    loop {
        cpu.halt(None);
    }
}

fn say(text: core::fmt::Arguments<'_>) {
    alone::log(tacet_logic::text::Text::<200>::format(text).as_bytes());
}

#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    match information.location() {
        Some(at) => alone::die(format_args!("{}:{}: {}", at.file(), at.line(), information.message())),
        None => alone::die(format_args!("{}", information.message())),
    }
}
