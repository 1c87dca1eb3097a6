// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One card: from its reset to frames. The first queue of each direction is used, and one message to the boot CPU.
//!
//! The card may come from a firmware that used it (a boot by PXE): all that it does is stopped before it is set up. A link
//! that is down stops nothing here: frames wait in the ring, and come out of it when the link is up again.

use super::registers::*;
use super::ring::{Arriving, Buffers, Descriptor, ENTRIES, Form, Leaving};
use crate::x86_64::cycles;
use crate::x86_64::machine::pci;
use crate::x86_64::machine::serial::log;
use crate::x86_64::machine::state::STATE;
use crate::x86_64::machine::tables::{DEVICE, DIRECT};
use crate::x86_64::machine::view::Machine;
use core::ptr::{NonNull, copy_nonoverlapping};
use core::sync::atomic::{Ordering, fence};
use virtio_drivers::transport::pci::bus::DeviceFunctionInfo;

const INTEL: u16 = 0x8086;
/// 82574L and 82574LA; 82576 with copper: the plain one, NS, quad, quad of the second edition.
const OF_82574: [u16; 2] = [0x10d3, 0x10f6];
const OF_82576: [u16; 4] = [0x10c9, 0x150a, 0x10e8, 0x1526];

/// How long the card may take for a step of its reset.
const PATIENCE_MS: u64 = 50;
/// After its reset a card answers nothing (both: "Software Reset").
const RESET_MS: u64 = 3;
const READING_MS: u64 = 10;
const PHY_MS: u64 = 2;

const EVERYTHING: u32 = u32::MAX;
const RECEIVES: u32 = RCTL_ENABLE | RCTL_STRIP_CHECKSUM;

/// Without its checksum. Longer ones must be allowed.
const FRAME_BYTES: usize = 1514;
const CHECKSUM_BYTES: usize = 4;
/// Of each buffer, for frames of Ethernet's size and for longer ones: sizes that both cards have.
const BUFFER_BYTES: usize = 2 << 10;
const LONG_BUFFER_BYTES: usize = 16 << 10;

/// A card.
pub struct Card {
    registers: Registers,
    arriving: Arriving,
    leaving: Leaving,
    /// `ENTRIES` buffers each.
    incoming: NonNull<u8>,
    outgoing: NonNull<u8>,
    /// Of each buffer.
    buffer_bytes: usize,
    /// The control of receiving, without broadcasts.
    receives: u32,
    address: [u8; 6],
    /// It can interrupt, and shall.
    interrupts: bool,
    listens: bool,
    hears_broadcasts: bool,
}

impl Card {
    /// Opens the first card on the PCI bus, for frames of at most so many bytes.
    pub fn open(machine: &mut Machine, frame_bytes: usize) -> Option<Self> {
        let form = |information: &DeviceFunctionInfo| match information.device_id {
            _ if information.vendor_id != INTEL => None,
            device if OF_82574.contains(&device) => Some(Form::Extended),
            device if OF_82576.contains(&device) => Some(Form::Advanced),
            _ => None,
        };
        let (device, form) = pci::exists().then(|| pci::find(form))??;
        let Some(window) = pci::window(device, 0) else {
            log(b"tacet: the firmware gave the network card no addresses");
            return None;
        };
        let window = STATE.with(|state| state.window(window, WINDOW_BYTES, DEVICE))?;
        // SAFETY: just mapped, for ever: the card's first window (both: "Base Address Registers"); this is its only driver.
        let registers = unsafe { Registers::new(window) };
        if !reset(registers, machine.tsc_khz()) {
            log(b"tacet: the network card does not come back from its reset");
            return None;
        }
        let Some(address) = address(registers) else {
            log(b"tacet: the network card has no address of its own");
            return None;
        };
        pci::give_memory(device);
        let interrupts = pci::route_message(device);
        let (ring, back) = (keep_ring(machine)?, keep_ring(machine)?);
        let is_long = frame_bytes > FRAME_BYTES;
        let buffer_bytes = if is_long { LONG_BUFFER_BYTES } else { BUFFER_BYTES };
        let (incoming, outgoing) = (keep_buffers(machine, buffer_bytes)?, keep_buffers(machine, buffer_bytes)?);
        begin(registers, form, (physical(ring), physical(back)), incoming.1.bytes);
        registers.write(RLPML, (frame_bytes + CHECKSUM_BYTES) as u32);
        Some(
            Self {
                registers,
                arriving: Arriving::new(ring, incoming.1),
                leaving: Leaving::new(back, outgoing.1, form),
                incoming: incoming.0,
                outgoing: outgoing.0,
                buffer_bytes,
                receives: receives(form, is_long),
                address,
                interrupts,
                listens: false,
                hears_broadcasts: true,
            }
            .start(form, machine.tsc_khz()),
        )
    }

    /// Both directions begin, and the link.
    fn start(self, form: Form, tsc_khz: u64) -> Self {
        let registers = self.registers;
        let keep = !(CTRL_INVERT_LOSS | CTRL_FORCE_SPEED | CTRL_FORCE_DUPLEX | CTRL_MASTER_DISABLE);
        let auto = if form == Form::Extended { CTRL_AUTO_SPEED } else { 0 };
        registers.write(CTRL, registers.read(CTRL) & keep | CTRL_LINK_UP | auto);
        // A PHY whose link is up goes on; any other one may be off, or not negotiate (both: "MAC/PHY Link Setup"). Nobody
        // waits for it.
        if registers.read(STATUS) & STATUS_LINK_UP == 0 {
            registers.write(MDIC, PHY_NEGOTIATE | MDIC_OWN_PHY | MDIC_WRITE);
            until(tsc_khz, PHY_MS, &|| registers.read(MDIC) & MDIC_READY != 0);
        }
        registers.write(TCTL, TCTL_ENABLE | TCTL_PAD | TCTL_COLLISIONS);
        registers.write(RCTL, self.receives | RCTL_BROADCAST);
        // only a queue that is on takes a tail (82576: "Dynamic Enabling and Disabling of Receive Queues")
        if form == Form::Advanced {
            until(tsc_khz, PATIENCE_MS, &|| registers.read(RECEIVE + DCTL) & DCTL_ENABLE != 0);
        }
        registers.write(RECEIVE + TAIL, Arriving::FIRST_TAIL);
        self
    }

    /// Its Ethernet address.
    pub fn address(&self) -> [u8; 6] {
        self.address
    }

    pub fn interrupts(&self) -> bool {
        self.interrupts
    }

    /// As `Network::listen`.
    pub fn listen(&mut self, wanted: bool) -> bool {
        let wanted = wanted && self.interrupts;
        if wanted || self.listens {
            self.registers.write(IMC, EVERYTHING);
        }
        self.listens = wanted;
        if !wanted {
            return false;
        }
        // With no cause masked in, reading forgets all of them (both: "Interrupt Cause Read"); a frame that comes from here
        // on is a cause again, and interrupts when the mask says so. The reading also makes the card do the writes before.
        self.registers.read(ICR);
        if let Some(tail) = self.arriving.tell() {
            self.registers.write(RECEIVE + TAIL, tail);
        }
        self.registers.write(IMS, CAUSE_ARRIVED);
        fence(Ordering::SeqCst);
        self.arriving.next().is_none()
    }

    /// As `Network::hear_broadcasts`.
    pub fn hear_broadcasts(&mut self, wanted: bool) {
        if self.hears_broadcasts != wanted {
            self.hears_broadcasts = wanted;
            self.registers.write(RCTL, if wanted { self.receives | RCTL_BROADCAST } else { self.receives });
        }
    }

    pub fn has_room(&mut self) -> bool {
        self.leaving.free().is_some()
    }

    /// As `Network::send`.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        let Some(buffer) = self.leaving.free().filter(|_| frame.len() <= self.buffer_bytes) else { return false };
        // SAFETY: (1) within the buffers, as `free` names one of `ENTRIES`; (2) the card has done with this one, and
        // nobody else refers to it.
        unsafe { copy_nonoverlapping(frame.as_ptr(), self.at(self.outgoing, buffer), frame.len()) };
        let tail = self.leaving.send(frame.len());
        self.registers.write(TRANSMIT + TAIL, tail);
        true
    }

    /// As `Network::receive`.
    pub fn receive(&mut self, to: &mut [u8]) -> Option<usize> {
        loop {
            let Some(arrived) = self.arriving.next() else {
                self.tell(Arriving::tell);
                return None;
            };
            let room = to.get_mut(..arrived.bytes).filter(|room| !room.is_empty());
            let taken = room.map(|room| {
                // SAFETY: (1) within the buffers, as `next` names one of `ENTRIES` and at most a buffer's bytes; (2) the card
                // has done with it until `done`, and nobody refers to it.
                unsafe { copy_nonoverlapping(self.at(self.incoming, arrived.buffer), room.as_mut_ptr(), room.len()) };
                room.len()
            });
            self.tell(Arriving::done);
            if taken.is_some() {
                return taken;
            }
        }
    }

    fn at(&self, buffers: NonNull<u8>, number: usize) -> *mut u8 {
        buffers.as_ptr().wrapping_add(number * self.buffer_bytes)
    }

    fn tell(&mut self, step: fn(&mut Arriving) -> Option<u32>) {
        if let Some(tail) = step(&mut self.arriving) {
            self.registers.write(RECEIVE + TAIL, tail);
        }
    }
}

/// Stops what the card does, and makes it new (both: "Interrupts During Initialization", "Master Disable",
/// "Software Reset"). False: it does not answer.
fn reset(registers: Registers, tsc_khz: u64) -> bool {
    let until = |ms, done: &dyn Fn() -> bool| until(tsc_khz, ms, done);
    registers.write(IMC, EVERYTHING);
    registers.write(RCTL, 0);
    registers.write(TCTL, TCTL_PAD);
    registers.write(CTRL, registers.read(CTRL) | CTRL_MASTER_DISABLE);
    // A card that goes on is reset nevertheless, as the datasheets say.
    until(PATIENCE_MS, &|| registers.read(STATUS) & STATUS_MASTER == 0);
    registers.write(CTRL, registers.read(CTRL) | CTRL_RESET);
    until(RESET_MS, &|| false);
    let done = until(PATIENCE_MS, &|| {
        let control = registers.read(CTRL);
        control != EVERYTHING && control & CTRL_RESET == 0
    });
    // it reads its own memory; one that has none never says that it has done so
    until(READING_MS, &|| registers.read(EECD) & EECD_READ != 0);
    // a reset masks nothing that it did not mask before
    registers.write(IMC, EVERYTHING);
    registers.read(ICR);
    done
}

/// Waits until `done`, for so long at most. Whether it was done.
fn until(tsc_khz: u64, ms: u64, done: &dyn Fn() -> bool) -> bool {
    let begun = cycles();
    while !done() {
        if cycles().wrapping_sub(begun) > ms * tsc_khz {
            return false;
        }
        core::hint::spin_loop();
    }
    true
}

/// The address that the card has read from its own memory.
fn address(registers: Registers) -> Option<[u8; 6]> {
    let (low, high) = (registers.read(RAL), registers.read(RAH));
    let [a, b, c, d] = low.to_le_bytes();
    let [e, f, ..] = high.to_le_bytes();
    let address = [a, b, c, d, e, f];
    let is_own = address != [0; 6] && a & 1 == 0;
    (high & RAH_VALID != 0 && is_own).then_some(address)
}

/// Tells the card of its rings, and that it receives its own address alone.
fn begin(registers: Registers, form: Form, (ring, back): (u64, u64), buffer_bytes: usize) {
    (0..MTA_WORDS).for_each(|word| registers.write(MTA + 4 * word, 0));
    registers.write(MRQC, 0);
    registers.write(RXCSUM, 0);
    for (queue, at) in [(RECEIVE, ring), (TRANSMIT, back)] {
        registers.write(queue + BASE_LOW, at as u32);
        registers.write(queue + BASE_HIGH, (at >> 32) as u32);
        registers.write(queue + LENGTH, size_of::<[Descriptor; ENTRIES]>() as u32);
        registers.write(queue + HEAD, 0);
        registers.write(queue + TAIL, 0);
    }
    match form {
        Form::Extended => {
            registers.write(RFCTL, RFCTL_EXTENDED);
            registers.write(TRANSMIT + DCTL, DCTL_MUST_BE_ONE);
        }
        Form::Advanced => {
            registers.write(RECEIVE + SRRCTL, SRRCTL_ADVANCED | (buffer_bytes >> 10) as u32);
            registers.write(RECEIVE + DCTL, DCTL_ENABLE);
            registers.write(TRANSMIT + DCTL, DCTL_ENABLE);
        }
    }
}

fn keep_ring(machine: &mut Machine) -> Option<&'static [Descriptor]> {
    Some(machine.keep(ENTRIES, |_| Descriptor::new())?)
}

/// The buffers of a direction, where they are mapped, and where they are.
fn keep_buffers(machine: &mut Machine, bytes: usize) -> Option<(NonNull<u8>, Buffers)> {
    let all = machine.keep_bytes(ENTRIES * bytes)?;
    let buffers = Buffers { at: physical(all), bytes };
    Some((NonNull::from(all).cast(), buffers))
}

/// Memory that `Machine::keep` gave is in one piece, in the direct mapping.
fn physical<T>(memory: &[T]) -> u64 {
    memory.as_ptr() as u64 - DIRECT
}

/// The control of receiving: frames to the card's own address alone, until broadcasts are wanted.
fn receives(form: Form, is_long: bool) -> u32 {
    match (is_long, form) {
        (false, _) => RECEIVES,
        (true, Form::Extended) => RECEIVES | RCTL_LONG | RCTL_16_KIB,
        (true, Form::Advanced) => RECEIVES | RCTL_LONG,
    }
}
