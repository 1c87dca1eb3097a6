// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The PCI bus, by its oldest way in: two ports, which every PC has. Firmware has given the devices their addresses.

use super::interrupts::{message, write_first_message};
use super::locked::Locked;
use super::ports::{in32, out32};
use super::state::STATE;
use super::tables::DEVICE;
use tacet_logic::lock::Lock;
use virtio_drivers::transport::pci::bus::{
    Command, ConfigurationAccess, DeviceFunction, DeviceFunctionInfo, HeaderType, PciRoot,
};

const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;
const ENABLE: u32 = 1 << 31;
const NOBODY: u32 = u32::MAX;
/// A bridge's register with the number of the bus behind it.
const BUSES: u8 = 0x18;
/// Bridges behind bridges are followed so far.
const DEEPEST: u32 = 8;

/// Capability of messages without a table (MSI), and its bits in the word that it begins with.
const MESSAGE: u8 = 5;
const MESSAGE_ENABLED: u32 = 1 << 16;
const MESSAGES_WANTED: u32 = 7 << 20;
const WIDE: u32 = 1 << 23;
const MASKABLE: u32 = 1 << 24;

/// Capabilities: messages (MSI-X), and those of virtio; of these the one that says where the common registers are.
const MESSAGES: u8 = 0x11;
const VIRTIO: u8 = 9;
const COMMON: u16 = 1;
const ENABLED: u32 = 1 << 31;
const MASKED: u32 = 1 << 30;
/// Among the common registers.
const QUEUE_SELECT: usize = 0x16;
const QUEUE_MESSAGE: usize = 0x1a;

/// Both ports are one CPU's at a time.
static PORTS: Lock = Lock::new();

pub struct Configuration;

impl ConfigurationAccess for Configuration {
    fn read_word(&self, device: DeviceFunction, register: u8) -> u32 {
        let _held = PORTS.hold();
        // SAFETY: the ports of PCI's configuration; reading it has no effect.
        unsafe {
            out32(ADDRESS, address(device, register));
            in32(DATA)
        }
    }

    fn write_word(&mut self, device: DeviceFunction, register: u8, data: u32) {
        let _held = PORTS.hold();
        // SAFETY: the crate and this file write command registers and messages of devices that are driven here, and the
        // crate sizes their windows.
        unsafe {
            out32(ADDRESS, address(device, register));
            out32(DATA, data);
        }
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Self
    }
}

fn address(device: DeviceFunction, register: u8) -> u32 {
    let place = u32::from(device.bus) << 16 | u32::from(device.device) << 11 | u32::from(device.function) << 8;
    ENABLE | place | u32::from(register & 0xfc)
}

/// Whether the machine has a PCI bus: something is at its first place.
pub fn exists() -> bool {
    Configuration.read_word(DeviceFunction { bus: 0, device: 0, function: 0 }, 0) != NOBODY
}

/// Devices that may use memory: a link, and perhaps a second one that was tried.
static OPEN: Locked<[Option<DeviceFunction>; 4]> = Locked::new([None; 4]);

/// The first device of which `wanted` makes something. Its registers are there, and it has no line.
pub fn find<T>(wanted: impl Fn(&DeviceFunctionInfo) -> Option<T>) -> Option<(DeviceFunction, T)> {
    let found = find_on(&root(), 0, &wanted, 0)?;
    add_command(found.0, Command::MEMORY_SPACE | Command::INTERRUPT_DISABLE);
    Some(found)
}

pub fn root() -> PciRoot<Configuration> {
    PciRoot::new(Configuration)
}

fn add_command(device: DeviceFunction, more: Command) {
    let (_, command) = root().get_status_command(device);
    root().set_command(device, command | more);
}

/// The device may use memory from here on: what a firmware let it do has ended.
pub fn give_memory(device: DeviceFunction) {
    add_command(device, Command::BUS_MASTER);
    OPEN.with(|open| {
        if let Some(slot) = open.iter_mut().find(|slot| slot.is_none()) {
            *slot = Some(device);
        }
    });
}

/// Takes the memory away from all open devices: before the machine ends, so that nothing is written to memory that is
/// somebody else's then. Works from any state: both locks are held only by the boot CPU while it looks for devices.
pub fn stop_devices() {
    let open = OPEN.try_with(|open| *open).unwrap_or_default();
    for device in open.into_iter().flatten() {
        let (_, command) = root().get_status_command(device);
        root().set_command(device, command - Command::BUS_MASTER);
    }
}

fn find_on<T>(
    root: &PciRoot<Configuration>,
    bus: u8,
    wanted: &dyn Fn(&DeviceFunctionInfo) -> Option<T>,
    depth: u32,
) -> Option<(DeviceFunction, T)> {
    root.enumerate_bus(bus).find_map(|(device, information)| {
        if let Some(found) = wanted(&information) {
            return Some((device, found));
        }
        let behind = (Configuration.read_word(device, BUSES) >> 8) as u8;
        if information.header_type != HeaderType::PciPciBridge || behind <= bus || depth == DEEPEST {
            return None;
        }
        find_on(root, behind, wanted, depth + 1)
    })
}

/// Lets a device's queue interrupt the boot CPU by a message (MSI-X), the first of its table. False: it cannot. Called
/// after the queue was made, and before the device is told that its driver is ready.
pub fn route(device: DeviceFunction, queue: u16) -> bool {
    try_route(device, queue).is_some()
}

fn try_route(device: DeviceFunction, queue: u16) -> Option<()> {
    let root = root();
    let word = |at: u8| Configuration.read_word(device, at);
    let messages = root.capabilities(device).find(|capability| capability.id == MESSAGES)?;
    let common = root.capabilities(device).find(|capability| {
        capability.id == VIRTIO && capability.private_header >> 8 == COMMON && word(capability.offset + 4) & 0xff < 6
    })?;
    let table = word(messages.offset + 4);
    if !write_first_message(window(device, table as u8 & 7)? + u64::from(table & !7)) {
        return None;
    }
    Configuration.write_word(device, messages.offset, word(messages.offset) & !MASKED | ENABLED);
    let registers = window(device, word(common.offset + 4) as u8)? + u64::from(word(common.offset + 8));
    let registers = STATE.with(|state| state.window(registers, 0x38, DEVICE))?.cast::<u16>();
    // SAFETY: the common registers of a device that the boot CPU alone uses (virtio 1.2, 4.1.4.3), just mapped.
    unsafe {
        registers.add(QUEUE_SELECT / 2).write_volatile(queue);
        registers.add(QUEUE_MESSAGE / 2).write_volatile(0);
        (registers.add(QUEUE_MESSAGE / 2).read_volatile() == 0).then_some(())
    }
}

/// Lets a device interrupt the boot CPU by its one message (MSI), instead of by others. False: it cannot.
pub fn route_message(device: DeviceFunction) -> bool {
    try_route_message(device).is_some()
}

fn try_route_message(device: DeviceFunction) -> Option<()> {
    let root = root();
    let word = |at: u8| Configuration.read_word(device, at);
    let write = |at: u8, value: u32| Configuration.write_word(device, at, value);
    let offset = |id: u8| Some(root.capabilities(device).find(|capability| capability.id == id)?.offset);
    if let Some(messages) = offset(MESSAGES) {
        write(messages, word(messages) & !ENABLED);
    }
    let (address, data) = message()?;
    let at = offset(MESSAGE)?;
    let control = word(at) & !(MESSAGE_ENABLED | MESSAGES_WANTED);
    let data_at = if control & WIDE != 0 { at + 12 } else { at + 8 };
    write(at, control);
    write(at + 4, address as u32);
    if control & WIDE != 0 {
        write(at + 8, (address >> 32) as u32);
    }
    write(data_at, data);
    if control & MASKABLE != 0 {
        write(data_at + 4, 0);
    }
    write(at, control | MESSAGE_ENABLED);
    Some(())
}

/// Where the device's window `number` is, as firmware has put it.
pub fn window(device: DeviceFunction, number: u8) -> Option<u64> {
    const FIRST: u8 = 0x10;
    let low = Configuration.read_word(device, FIRST + 4 * number);
    let high = match low & 7 {
        0 | 2 => 0,
        4 if number < 5 => Configuration.read_word(device, FIRST + 4 * number + 4),
        _ => return None,
    };
    Some(u64::from(high) << 32 | u64::from(low & !0xf)).filter(|&at| at != 0)
}
