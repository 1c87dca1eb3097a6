// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole machine of a static node: from the boot loader's entry to CPUs, memory, address spaces and devices
//! that a host uses without `unsafe`.
//!
//! Called by `kernel/host/static` and its image. It never decides what runs: it knows no process, and no call.
//! The order of a machine's life: the entry makes the [`Machine`]; its host takes memory for good ([`Machine::keep`],
//! [`Machine::contexts`], [`Machine::tables`]) and opens the devices; [`Machine::ram`] hands out the rest;
//! [`Machine::start`] starts the CPUs.
//!
//! The pure files build and are tested on every host. The machine itself builds for the bare target alone, with the
//! feature `machine`: an image that Linux boots has nothing of it.

pub mod acpi;
mod bytes;
pub mod directory;
pub mod filter;
pub mod intel;
pub mod loader;
pub mod memory;

macro_rules! machine {
    ($($item:item)*) => { $(#[cfg(all(feature = "machine", target_os = "none"))] $item)* };
}

machine! {
    mod boot;
    mod clock;
    mod cable;
    mod console;
    mod contexts;
    mod cpus;
    mod end;
    mod interrupts;
    mod locked;
    mod view;
    mod network;
    mod pci;
    mod ports;
    mod ram;
    mod serial;
    mod settings;
    mod space;
    mod state;
    mod tables;
    mod virtio;
    mod virtio_network;

    pub use cable::Cable;
    pub use console::Console;
    pub use contexts::{Context, Contexts};
    pub use directory::{Refused, Segment, Stretch};
    pub use end::{die, fault, power_off, reset};
    pub use locked::Locked;
    pub use view::Machine;
    pub use memory::Range;
    pub use network::Network;
    pub use ram::Ram;
    pub use serial::log;
    pub use space::{Space, Tables};
}

/// The host's code that has the [`Machine`] first: a function that takes it and never returns.
#[macro_export]
macro_rules! machine_entry {
    ($main:path) => {
        #[unsafe(no_mangle)]
        fn tacet_machine_main(machine: $crate::native::machine::Machine) -> ! {
            $main(machine)
        }
    };
}
