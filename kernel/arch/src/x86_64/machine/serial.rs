// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Serial ports of the kind of the 16550: the first one is the log, the second one can be a link (`console.rs`).
//!
//! Polled. Where there is no port, reads give ones, which look as if there were room, so that nothing waits.

use super::interrupts;
use super::ports::{in8, out8};
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};
use tacet_logic::lock::Lock;

const DATA: u16 = 0;
const INTERRUPTS: u16 = 1;
const FIFO: u16 = 2;
const LINE: u16 = 3;
const MODEM: u16 = 4;
const STATUS: u16 = 5;
const SCRATCH: u16 = 7;
const HAS_DATA: u8 = 1;
const HAS_ROOM: u8 = 1 << 5;

/// How long a full transmitter is waited for: longer than any line needs for a byte.
const PATIENCE: u32 = 1_000_000;

/// A port by its first register.
#[derive(Clone, Copy)]
pub struct Port(u16);

pub const COM1: Port = Port(0x3f8);
pub const COM2: Port = Port(0x2f8);

/// The second port's line, as every PC has it.
const COM2_LINE: u32 = 3;
/// It interrupts.
static LISTENS: AtomicBool = AtomicBool::new(false);

static WRITING: Lock = Lock::new();

impl Port {
    /// 115,200 bits per second, 8 bits, no parity, no interrupts, queues of 16 bytes that count as full at 14.
    pub fn begin(self) {
        for (register, value) in
            [(INTERRUPTS, 0), (LINE, 0x80), (DATA, 1), (INTERRUPTS, 0), (LINE, 3), (FIFO, 0xc7), (MODEM, 3)]
        {
            // SAFETY: a serial port's registers, at the addresses where every PC has them; nothing else is there.
            unsafe { out8(self.0 + register, value) };
        }
    }

    /// Whether there is a port: its scratch register remembers.
    pub fn exists(self) -> bool {
        [0x5a, 0xa5].into_iter().all(|value| {
            // SAFETY: as in `begin`.
            unsafe {
                out8(self.0 + SCRATCH, value);
                in8(self.0 + SCRATCH) == value
            }
        })
    }

    /// Leads its line to the boot CPU, as far as a line is known.
    pub fn route(self) {
        LISTENS.store(interrupts::route(COM2_LINE), Ordering::Relaxed);
    }

    /// Wants an interrupt when a byte comes, or none. True: none has come yet, and the interrupt will tell.
    pub fn listen(self, wanted: bool) -> bool {
        let wanted = wanted && LISTENS.load(Ordering::Relaxed);
        // SAFETY: as in `begin`.
        unsafe { out8(self.0 + INTERRUPTS, wanted.into()) };
        wanted && self.status() & HAS_DATA == 0
    }

    /// Whether its line leads anywhere.
    pub fn interrupts(self) -> bool {
        LISTENS.load(Ordering::Relaxed)
    }

    pub fn write(self, byte: u8) {
        for _ in 0..PATIENCE {
            if self.status() & HAS_ROOM != 0 {
                break;
            }
            spin_loop();
        }
        // SAFETY: as in `begin`.
        unsafe { out8(self.0 + DATA, byte) };
    }

    pub fn read(self) -> Option<u8> {
        // SAFETY: as in `begin`.
        (self.status() & HAS_DATA != 0).then(|| unsafe { in8(self.0 + DATA) })
    }

    fn status(self) -> u8 {
        // SAFETY: as in `begin`.
        unsafe { in8(self.0 + STATUS) }
    }
}

/// Writes a line to the serial port; the line's end is added. Any CPU, at any time.
pub fn log(line: &[u8]) {
    let _held = WRITING.hold();
    write_line(line);
}

/// The same of a kernel that dies: it does not wait for a CPU that may have died while it wrote.
pub fn log_at_the_end(line: &[u8]) {
    let mut held = WRITING.try_hold();
    for _ in 0..PATIENCE {
        if held.is_some() {
            break;
        }
        spin_loop();
        held = WRITING.try_hold();
    }
    write_line(line);
}

fn write_line(line: &[u8]) {
    for &byte in line.iter().chain(b"\r\n") {
        COM1.write(byte);
    }
}
