// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine as its host sees it.
//!
//! The boot code makes the one [`Machine`] and gives it to the image's entry. Whoever has it is alone: no other CPU
//! runs before [`Machine::start`].

use super::contexts::Contexts;
use super::link::{Console, Network};
use super::ram::{Ram, Range};
use super::space::Tables;
use crate::native::Cpu;
use core::fmt::Arguments;

/// The machine, before its CPUs run programs.
pub struct Machine {
    _private: (),
}

impl Machine {
    /// The command line that the boot loader gave, without a terminating zero.
    pub fn command_line(&self) -> &'static [u8] {
        &[]
    }

    /// The value of `name=value` on the command line. Of several the last counts.
    pub fn option(&self, name: &str) -> Option<&'static [u8]> {
        self.command_line()
            .split(|&byte| byte == b' ')
            .filter_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
            .next_back()
    }

    /// How many CPUs [`Machine::start`] starts. They have the numbers from 0 on.
    pub fn cpus(&self) -> u32 {
        1
    }

    /// What [`Processor::cycles`](crate::Processor::cycles) counts in a millisecond.
    pub fn tsc_khz(&self) -> u64 {
        1
    }

    /// Bytes that nobody can guess, if the processor makes some (RDSEED or RDRAND); other bytes with each call. `None`:
    /// this processor has no such instruction.
    pub fn entropy(&self) -> Option<[u8; 32]> {
        None
    }

    /// The RAM that is left, in bytes.
    pub fn free_bytes(&self) -> u64 {
        0
    }

    /// Takes memory for `count` values for good, and makes them. `None`: so much is not left in one piece.
    pub fn keep<T>(&mut self, count: usize, make: impl FnMut(usize) -> T) -> Option<&'static mut [T]> {
        let _ = (count, make);
        None
    }

    /// Takes memory for the user state of `count` threads, 16 KiB each.
    pub fn contexts(&mut self, count: u32) -> Option<Contexts> {
        let _ = count;
        None
    }

    /// Takes `pages` pages of 4 KiB for the page tables of programs.
    pub fn tables(&mut self, pages: u32) -> Option<Tables> {
        let _ = pages;
        None
    }

    /// The first network interface (virtio-net), if there is one that nobody has opened yet.
    pub fn network(&mut self) -> Option<Network> {
        None
    }

    /// A console for data: the first port of a virtio console. `None`: there is none, or it is open already.
    pub fn console(&mut self) -> Option<Console> {
        None
    }

    /// The second serial port (COM2) as a console for data. `None`: there is none, or it is open already.
    pub fn serial_link(&mut self) -> Option<Console> {
        None
    }

    /// Hands out all RAM that is left: what the machine calls usable and nothing here uses. From here on there is none to take.
    pub fn ram(&mut self) -> Ram {
        Ram::new(&[] as &'static [Range])
    }

    /// Starts all CPUs. Each calls `main` once, on a stack of its own of 32 KiB, with interrupts off and no address
    /// space loaded. This CPU is number 0.
    pub fn start<T: Sync>(self, shared: &'static T, main: fn(Cpu, &'static T) -> !) -> ! {
        let _ = (shared, main);
        power_off(1)
    }
}

/// Writes a line to the serial port; the line's end is added. Any CPU, at any time.
pub fn log(line: &[u8]) {
    let _ = line;
}

/// The kernel's last words: a line on the serial port, then the end of the machine with status 70.
pub fn die(reason: Arguments<'_>) -> ! {
    let _ = reason;
    power_off(70)
}

/// Ends the machine, with `status` where an emulator takes one (QEMU's isa-debug-exit at port 0xf4 ends QEMU with
/// 2 × status + 1); otherwise by ACPI.
pub fn power_off(status: u8) -> ! {
    let _ = status;
    crate::native::stop()
}
