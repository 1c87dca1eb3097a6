// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The registers that `card.rs` uses, by their names in the datasheets ("Driver Programming Interface"). The 82576 has
//! those of its queue 0 also where the 82574 has its own ("Register Addresses": aliases).

use core::ptr::NonNull;

pub const WINDOW_BYTES: u64 = 0x2_0000;

pub const CTRL: u32 = 0x0000;
pub const CTRL_MASTER_DISABLE: u32 = 1 << 2;
pub const CTRL_AUTO_SPEED: u32 = 1 << 5;
pub const CTRL_LINK_UP: u32 = 1 << 6;
pub const CTRL_INVERT_LOSS: u32 = 1 << 7;
pub const CTRL_FORCE_SPEED: u32 = 1 << 11;
pub const CTRL_FORCE_DUPLEX: u32 = 1 << 12;
pub const CTRL_RESET: u32 = 1 << 26;

pub const STATUS: u32 = 0x0008;
pub const STATUS_LINK_UP: u32 = 1 << 1;
pub const STATUS_MASTER: u32 = 1 << 19;

pub const EECD: u32 = 0x0010;
pub const EECD_READ: u32 = 1 << 9;

/// The way to the PHY's registers: value, register, which PHY, what to do, and how it ended.
pub const MDIC: u32 = 0x0020;
pub const MDIC_OWN_PHY: u32 = 1 << 21;
pub const MDIC_WRITE: u32 = 1 << 26;
pub const MDIC_READY: u32 = 1 << 28;
/// The PHY's register 0 (IEEE 802.3, 22.2.4.1): negotiate, and begin now; full duplex and 1000 Mb/s where nobody answers.
pub const PHY_NEGOTIATE: u32 = 1 << 12 | 1 << 9 | 1 << 8 | 1 << 6;

pub const ICR: u32 = 0x00c0;
pub const IMS: u32 = 0x00d0;
pub const IMC: u32 = 0x00d8;
/// A frame has arrived: its descriptor was written.
pub const CAUSE_ARRIVED: u32 = 1 << 7;

pub const RCTL: u32 = 0x0100;
pub const RCTL_ENABLE: u32 = 1 << 1;
/// Frames of more than 1,522 bytes.
pub const RCTL_LONG: u32 = 1 << 5;
/// 82574: buffers of 16 KiB.
pub const RCTL_16_KIB: u32 = 1 << 16 | 1 << 25;
pub const RCTL_BROADCAST: u32 = 1 << 15;
pub const RCTL_STRIP_CHECKSUM: u32 = 1 << 26;

pub const TCTL: u32 = 0x0400;
pub const TCTL_ENABLE: u32 = 1 << 1;
pub const TCTL_PAD: u32 = 1 << 3;
/// Collisions: 15 tries, and the distance of full duplex.
pub const TCTL_COLLISIONS: u32 = 0x0f << 4 | 0x40 << 12;

/// 82576: the longest frame with its checksum, if long ones are received.
pub const RLPML: u32 = 0x5004;
pub const RXCSUM: u32 = 0x5000;
/// 82574: bit 15 chooses extended receive descriptors.
pub const RFCTL: u32 = 0x5008;
pub const RFCTL_EXTENDED: u32 = 1 << 15;
/// Hashes of multicast addresses that are received.
pub const MTA: u32 = 0x5200;
pub const MTA_WORDS: u32 = 128;
pub const RAL: u32 = 0x5400;
pub const RAH: u32 = 0x5404;
pub const RAH_VALID: u32 = 1 << 31;
/// How frames are spread over queues: not at all.
pub const MRQC: u32 = 0x5818;

/// A ring's registers, from these on.
pub const RECEIVE: u32 = 0x2800;
pub const TRANSMIT: u32 = 0x3800;
pub const BASE_LOW: u32 = 0x00;
pub const BASE_HIGH: u32 = 0x04;
pub const LENGTH: u32 = 0x08;
/// 82576, of a receive queue: a buffer's KiB, advanced descriptors with one buffer.
pub const SRRCTL: u32 = 0x0c;
pub const SRRCTL_ADVANCED: u32 = 1 << 25;
pub const HEAD: u32 = 0x10;
pub const TAIL: u32 = 0x18;
pub const DCTL: u32 = 0x28;
/// 82576: the queue is on.
pub const DCTL_ENABLE: u32 = 1 << 25;
/// 82574, of the transmit queue: reserved, and must be set ("Transmit Descriptor Control").
pub const DCTL_MUST_BE_ONE: u32 = 1 << 22;

/// The window of a card's registers, mapped for its only driver.
#[derive(Clone, Copy)]
pub struct Registers(NonNull<u8>);

impl Registers {
    /// # Safety
    /// `WINDOW_BYTES` bytes are mapped there for ever, uncached; they are the registers of such a card, and the caller is
    /// its only driver.
    pub unsafe fn new(window: NonNull<u8>) -> Self {
        Self(window)
    }

    pub fn read(self, register: u32) -> u32 {
        // SAFETY: within the window, as all constants above are; reading the registers named there changes at most the
        // card.
        unsafe { self.at(register).read_volatile() }
    }

    /// What is written to a ring's registers must be memory of the rings: the card writes there.
    pub fn write(self, register: u32, value: u32) {
        // SAFETY: as above; `card.rs` gives the card only memory that it took for it.
        unsafe { self.at(register).write_volatile(value) };
    }

    fn at(self, register: u32) -> *mut u32 {
        self.0.as_ptr().wrapping_add(register as usize).cast()
    }
}
