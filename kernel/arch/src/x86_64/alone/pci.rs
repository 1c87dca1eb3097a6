// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The PCI bus, by its oldest way in: two ports, which every PC has. Firmware has given the devices their addresses.

use super::ports::{in32, out32};
use super::virtio::Kernel;
use tacet_logic::lock::Lock;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::pci::bus::{Command, ConfigurationAccess, DeviceFunction, HeaderType, PciRoot};
use virtio_drivers::transport::pci::{PciTransport, virtio_device_type};

const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;
const ENABLE: u32 = 1 << 31;
const NOBODY: u32 = u32::MAX;
/// A bridge's register with the number of the bus behind it.
const BUSES: u8 = 0x18;
/// Bridges behind bridges are followed so far.
const DEEPEST: u32 = 8;

/// Both ports are one CPU's at a time.
static PORTS: Lock = Lock::new();

struct Configuration;

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
        // SAFETY: the crate writes command registers of devices that it drives, and sizes their windows.
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

/// The first virtio device of this kind.
pub fn find(kind: DeviceType) -> Option<PciTransport> {
    let mut root = PciRoot::new(Configuration);
    let device = find_on(&root, 0, kind, 0)?;
    let (_, command) = root.get_status_command(device);
    root.set_command(device, command | Command::MEMORY_SPACE | Command::BUS_MASTER | Command::INTERRUPT_DISABLE);
    PciTransport::new::<Kernel, _>(&mut root, device).ok()
}

fn find_on(root: &PciRoot<Configuration>, bus: u8, kind: DeviceType, depth: u32) -> Option<DeviceFunction> {
    root.enumerate_bus(bus).find_map(|(device, information)| {
        if virtio_device_type(&information) == Some(kind) {
            return Some(device);
        }
        let behind = (Configuration.read_word(device, BUSES) >> 8) as u8;
        if information.header_type != HeaderType::PciPciBridge || behind <= bus || depth == DEEPEST {
            return None;
        }
        find_on(root, behind, kind, depth + 1)
    })
}
