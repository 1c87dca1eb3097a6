// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A virtio device with one queue for what arrives and one for what leaves: a network interface, or a console.
//!
//! Of the crate `virtio-drivers` the queues and transports are used, not its drivers: the console's needs a heap, and
//! the network's negotiates event indices, which the crate's queue compares without their wrap-around, so that after
//! 65,536 packets the device is not told of a packet. Polled: devices are asked not to interrupt.

use super::filter::{CONTROL_QUEUE, Command};
use super::interrupts;
use super::view::Machine;
use super::pci;
use super::state::STATE;
use super::tables::{DEVICE, DIRECT, zero};
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::pci::bus::{DeviceFunction, DeviceFunctionInfo};
use virtio_drivers::transport::pci::{PciTransport, virtio_device_type};
use virtio_drivers::transport::{DeviceStatus, DeviceType, SomeTransport, Transport};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// Buffers of each direction, at most and at least; in between, one part in so many of the memory is for them.
const ENTRIES: usize = 16;
const LEAST_BUFFERS: u64 = 2;
const BUFFERS_PART: u64 = 64;

const ARRIVING: u16 = 0;
const LEAVING: u16 = 1;
/// Of a network device, if it has one.
const CONTROL: u16 = 2;

/// The device follows the standard, not what was before it.
pub const VERSION_1: u64 = 1 << 32;

/// Where QEMU's microvm has its devices, if its command line does not say it.
const MMIO_BASE: u64 = 0xfeb0_0000;
const MMIO_BYTES: u64 = 0x200;
const MMIO_DEVICES: u32 = 32;

/// The kernel's services for the crate.
pub struct Kernel;

// SAFETY: (1) `dma_alloc` gives whole zeroed pages that were nobody's, mapped for ever; (2) `mmio_phys_to_virt` maps a
// device's registers for its only driver; (3) `share` gives the physical address of memory that is mapped directly.
unsafe impl Hal for Kernel {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let bytes = (pages * PAGE_SIZE) as u64;
        let Some(at) = STATE.with(|state| state.told.memory.take(bytes, PAGE_SIZE as u64)) else {
            return (0, NonNull::dangling()); // the crate's error
        };
        zero(at, bytes);
        (at, direct(at))
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0 // given away for good: devices stay open
    }

    unsafe fn mmio_phys_to_virt(at: PhysAddr, bytes: usize) -> NonNull<u8> {
        match STATE.with(|state| state.window(at, bytes as u64, DEVICE)) {
            Some(window) => window,
            None => super::end::die(format_args!("a device's registers at {at:#x}, {bytes} bytes, cannot be mapped")),
        }
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        match (buffer.cast::<u8>().as_ptr() as u64).checked_sub(DIRECT) {
            Some(at) if at < 1 << 46 => at,
            _ => super::end::die(format_args!("a device's buffer at {buffer:?} is not in the direct mapping")),
        }
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

fn direct(at: u64) -> NonNull<u8> {
    NonNull::new((DIRECT + at) as *mut u8).unwrap_or(NonNull::dangling())
}

type Queue = VirtQueue<Kernel, ENTRIES>;

/// A buffer, and by which number the queue knows it while the device has it.
struct Buffer {
    bytes: &'static mut [u8],
    token: Option<u16>,
}

/// The queue for commands to a network device, whose answers nobody waits for.
struct Control {
    queue: Queue,
    /// The command, its value, and the device's answer.
    words: &'static mut [u8; 4],
    token: Option<u16>,
}

/// The device.
pub struct Pair {
    transport: SomeTransport<'static>,
    arriving: Queue,
    leaving: Queue,
    control: Option<Control>,
    incoming: &'static mut [Buffer],
    outgoing: &'static mut [Buffer],
    /// Features that both sides have.
    pub features: u64,
    /// It can interrupt.
    interrupts: bool,
}

impl Pair {
    /// Opens the first device of this kind, with the features of `wanted` that it has. Its buffers have `bytes` bytes.
    pub fn open(machine: &mut Machine, kind: DeviceType, wanted: u64, bytes: usize) -> Option<Self> {
        let (mut transport, place) = find(machine, kind)?;
        let (begin, known) = (DeviceStatus::ACKNOWLEDGE | DeviceStatus::DRIVER, DeviceStatus::FEATURES_OK);
        transport.set_status(DeviceStatus::empty());
        transport.set_status(begin);
        let features = transport.read_device_features() & (wanted | VERSION_1);
        transport.write_driver_features(features);
        transport.set_status(begin | known);
        transport.set_guest_page_size(PAGE_SIZE as u32);
        let mut arriving = Queue::new(&mut transport, ARRIVING, false, false).ok()?;
        let mut leaving = Queue::new(&mut transport, LEAVING, false, false).ok()?;
        arriving.set_dev_notify(false);
        leaving.set_dev_notify(false);
        let control = match features & CONTROL_QUEUE {
            0 => None,
            _ => Some(Control::open(machine, &mut transport)?),
        };
        let count = machine.free_bytes() / BUFFERS_PART / bytes.max(1) as u64;
        let count = count.clamp(LEAST_BUFFERS, ENTRIES as u64) as usize;
        let (incoming, outgoing) = (buffers(machine, count, bytes)?, buffers(machine, count, bytes)?);
        let interrupts = match place {
            Place::Line(line) => line.is_some_and(interrupts::route),
            Place::Pci(device) => pci::route(device, ARRIVING),
        };
        transport.finish_init();
        let mut pair = Self { transport, arriving, leaving, control, incoming, outgoing, features, interrupts };
        for number in 0..count {
            pair.offer(number);
        }
        pair.transport.notify(ARRIVING);
        Some(pair)
    }

    /// Bytes of the device's configuration from its beginning on.
    pub fn configuration(&self) -> Option<[u8; 6]> {
        self.transport.read_config_space(0).ok()
    }

    /// Gives the device the command that `next` says, unless it has not done the last one yet, or has no queue for them.
    pub fn command(&mut self, next: impl FnOnce() -> Option<Command>) {
        let Self { transport, control: Some(control), .. } = self else { return };
        if control.is_idle()
            && let Some(command) = next()
            && control.give(command)
        {
            transport.notify(CONTROL);
        }
    }

    /// Wants an interrupt when something arrives, or none. True: nothing has arrived yet, and the interrupt will tell.
    pub fn listen(&mut self, wanted: bool) -> bool {
        if wanted && self.interrupts {
            self.transport.ack_interrupt(); // its line may rise again
        }
        self.arriving.set_dev_notify(wanted && self.interrupts);
        // The wish is written before the queue is looked at; the device does both the other way round.
        fence(Ordering::SeqCst);
        wanted && self.interrupts && !self.arriving.can_pop()
    }

    /// Whether the device can interrupt at all.
    pub fn interrupts(&self) -> bool {
        self.interrupts
    }

    /// Lets the device fill a buffer.
    fn offer(&mut self, number: usize) {
        let Some(buffer) = self.incoming.get_mut(number) else { return };
        // SAFETY: the buffer is the device's until `receive` finds its number used.
        buffer.token = unsafe { self.arriving.add(&[], &mut [&mut *buffer.bytes]) }.ok();
        if self.arriving.should_notify() {
            self.transport.notify(ARRIVING);
        }
    }

    /// Gives what arrived next to `take`, if there is something.
    pub fn receive<R>(&mut self, take: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let token = self.arriving.peek_used()?;
        let number = self.incoming.iter().position(|buffer| buffer.token == Some(token))?;
        let buffer = self.incoming.get_mut(number)?;
        // SAFETY: the buffer that was added under this number.
        let bytes = unsafe { self.arriving.pop_used(token, &[], &mut [&mut *buffer.bytes]) }.ok()?;
        buffer.token = None;
        let taken = take(buffer.bytes.get(..bytes as usize).unwrap_or(&[]));
        self.offer(number);
        Some(taken)
    }

    /// Whether a buffer is free to send.
    pub fn has_room(&mut self) -> bool {
        self.reclaim();
        self.outgoing.iter().any(|buffer| buffer.token.is_none())
    }

    /// Sends what `fill` writes into a buffer, so many bytes as it says. False: it says none, or the device has all
    /// buffers.
    pub fn send(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        self.reclaim();
        let Some(buffer) = self.outgoing.iter_mut().find(|buffer| buffer.token.is_none()) else { return false };
        let Some(used) = fill(buffer.bytes).and_then(|bytes| buffer.bytes.get(..bytes)) else { return false };
        // SAFETY: the buffer is the device's until `reclaim` finds its number used.
        buffer.token = unsafe { self.leaving.add(&[used], &mut []) }.ok();
        if self.leaving.should_notify() {
            self.transport.notify(LEAVING);
        }
        buffer.token.is_some()
    }

    /// Takes back what the device has sent.
    fn reclaim(&mut self) {
        while let Some(token) = self.leaving.peek_used() {
            let Some(buffer) = self.outgoing.iter_mut().find(|buffer| buffer.token == Some(token)) else { return };
            buffer.token = None;
            // SAFETY: the buffer that was added under this number; its length is not used.
            if unsafe { self.leaving.pop_used(token, &[&*buffer.bytes], &mut []) }.is_err() {
                return;
            }
        }
    }
}

impl Control {
    fn open(machine: &mut Machine, transport: &mut SomeTransport<'static>) -> Option<Self> {
        let mut queue = Queue::new(transport, CONTROL, false, false).ok()?;
        queue.set_dev_notify(false);
        Some(Self { queue, words: machine.keep_bytes(4)?.first_chunk_mut()?, token: None })
    }

    /// Whether the device has done its last command.
    fn is_idle(&mut self) -> bool {
        let Some(token) = self.token else { return true };
        if !self.queue.can_pop() {
            return false;
        }
        let (command, answer) = self.words.split_at_mut(3);
        let (class, value) = command.split_at(2);
        // SAFETY: the buffers that `give` added under this number.
        if unsafe { self.queue.pop_used(token, &[class, value], &mut [answer]) }.is_ok() {
            self.token = None;
        }
        self.token.is_none()
    }

    fn give(&mut self, command: Command) -> bool {
        let (words, answer) = self.words.split_at_mut(3);
        words.copy_from_slice(&command);
        let (class, value) = words.split_at(2);
        // SAFETY: the buffers are the device's until `is_idle` finds their number used.
        self.token = unsafe { self.queue.add(&[class, value], &mut [answer]) }.ok();
        self.token.is_some()
    }
}

fn buffers(machine: &mut Machine, count: usize, bytes: usize) -> Option<&'static mut [Buffer]> {
    let mut all = machine.keep_bytes(count * bytes)?.chunks_exact_mut(bytes);
    machine.keep(count, |_| Buffer { bytes: all.next().unwrap_or(&mut []), token: None })
}

/// How a device interrupts.
enum Place {
    /// By a line, if it is known.
    Line(Option<u32>),
    Pci(DeviceFunction),
}

/// The first device of this kind: on the PCI bus if the machine has one, else where hypervisors without PCI have it.
fn find(machine: &Machine, kind: DeviceType) -> Option<(SomeTransport<'static>, Place)> {
    if pci::exists() {
        let wanted = |information: &DeviceFunctionInfo| virtio_device_type(information).filter(|&found| found == kind);
        let (device, _) = pci::find(wanted)?;
        pci::give_memory(device);
        let transport = PciTransport::new::<Kernel, _>(&mut pci::root(), device).ok()?;
        return Some((SomeTransport::Pci(transport), Place::Pci(device)));
    }
    let open = |(at, line)| Some((SomeTransport::Mmio(mmio(at, kind)?), Place::Line(line)));
    let mut named = machine.words().filter_map(parameter).peekable();
    if named.peek().is_some() {
        return named.find_map(open);
    }
    let first_line = interrupts::first_line_of_microvm();
    let known = |number: u32| (MMIO_BASE + u64::from(number) * MMIO_BYTES, Some(first_line + number));
    (0..MMIO_DEVICES).map(known).find_map(open)
}

fn mmio(at: u64, kind: DeviceType) -> Option<MmioTransport<'static>> {
    let page = STATE.with(|state| state.device_page(at & !(PAGE_SIZE as u64 - 1)))?;
    // SAFETY: within the page, as devices are aligned to their size.
    let header = unsafe { page.add((at % PAGE_SIZE as u64) as usize) }.cast::<VirtIOHeader>();
    // SAFETY: registers of a virtio device, or nothing, which reads as ones, and is refused.
    let transport = unsafe { MmioTransport::new(header, MMIO_BYTES as usize) }.ok()?;
    (transport.device_type() == kind).then_some(transport)
}

/// Address and line in Linux's parameter `virtio_mmio.device=512@0xfeb02e00:12`, which QEMU gives.
fn parameter(word: &[u8]) -> Option<(u64, Option<u32>)> {
    let text = core::str::from_utf8(word.strip_prefix(b"virtio_mmio.device=")?).ok()?;
    let (_, place) = text.split_once("@0x")?;
    let (address, line) = place.split_once(':')?;
    let address = u64::from_str_radix(address, 16).ok().filter(|at| at % MMIO_BYTES == 0)?;
    Some((address, line.parse().ok()))
}
