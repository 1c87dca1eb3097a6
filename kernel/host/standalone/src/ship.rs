// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shipped calls: a thread's call becomes messages to the proxy of its process, one after the other if it is long, and
//! the replies its result.
//!
//! Called with the thread's CPU, which waits: as in CNK no other thread gets it meanwhile. Signals that the proxy has for
//! the process come with the replies. If the proxy is silent or gone, the process ends.

use crate::exchange::{Exchange, Lost, Message, Wish};
use crate::host::{Alone, Subject};
use crate::process::End;
use crate::user_memory::UserMemory;
use core::sync::atomic::Ordering;
use tacet_arch::native::alone::{Locked, log};
use tacet_logic::text::Text;
use tacet_shipping::ask::Refusal;
use tacet_shipping::errno::Errno;
use tacet_shipping::key::Key;
use tacet_shipping::marshal::{self, Finished, Shipment};

use tacet_shipping::packet::{Kind, Party};

/// Calls that the node itself makes, by number.
pub mod calls {
    pub const WRITE: u64 = 1;
    pub const CLOSE: u64 = 3;
    pub const LSEEK: u64 = 8;
    pub const PREAD: u64 = 17;
    pub const EXIT: u64 = 60;
    pub const FCNTL: u64 = 72;
    pub const EXIT_GROUP: u64 = 231;
    pub const OPENAT: u64 = 257;
    pub const READLINK: u64 = 89;
    pub const MEMFD_CREATE: u64 = 319;
}

pub const SIGKILL: u8 = 9;

/// Memory of a process as the program may use it.
impl marshal::UserMemory for UserMemory<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        Self::read(self, address, to)
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        Self::write(self, address, from)
    }

    fn is_writable(&self, address: u64, bytes: usize) -> bool {
        self.may_write(address, bytes as u64)
    }
}

/// The same, whatever the program may do there: for a file that is copied to memory which the program asked for.
struct AnyRights<'a>(&'a UserMemory<'a>);

impl marshal::UserMemory for AnyRights<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        self.0.read(address, to)
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        self.0.fill(address, from)
    }

    fn is_writable(&self, address: u64, bytes: usize) -> bool {
        let last = (bytes as u64).saturating_sub(1);
        self.0.process.find(address).is_some() && self.0.process.find(address.wrapping_add(last)).is_some()
    }
}

/// A text of the kernel.
pub struct KernelText<'a>(pub &'a [u8]);

impl KernelText<'_> {
    /// Its address: no null pointer.
    pub const AT: u64 = 4096;
}

impl marshal::UserMemory for KernelText<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        let offset = usize::try_from(address.checked_sub(Self::AT)?).ok()?;
        // Texts are read in portions: zeros follow.
        to.iter_mut().zip(offset..).for_each(|(byte, at)| *byte = self.0.get(at).copied().unwrap_or(0));
        Some(())
    }

    fn write(&self, _: u64, _: &[u8]) -> Option<()> {
        None
    }

    fn is_writable(&self, _: u64, _: usize) -> bool {
        false
    }
}

impl Alone {
    /// Lets the proxy make a call of the thread.
    pub fn ship_call(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> i64 {
        self.ship(subject, number, arguments, &subject.memory)
    }

    /// Writes a line to the user's standard error.
    pub fn tell_user(&self, subject: &Subject<'_>, line: &[u8]) {
        let memory = KernelText(line);
        let _ = self.ship(subject, calls::WRITE, &[2, KernelText::AT, line.len() as u64, 0, 0, 0], &memory);
    }

    /// Reads from a file to memory of the process, whatever the program may do there.
    pub fn read_file(
        &self,
        subject: &Subject<'_>,
        descriptor: u64,
        offset: u64,
        address: u64,
        bytes: u64,
    ) -> Result<u64, Errno> {
        let memory = AnyRights(&subject.memory);
        result(self.ship(subject, calls::PREAD, &[descriptor, address, bytes, offset, 0, 0], &memory))
    }

    /// Lets the proxy make a call, with memory of any kind.
    pub fn ship(
        &self,
        subject: &Subject<'_>,
        number: u64,
        arguments: &[u64; 6],
        memory: &impl marshal::UserMemory,
    ) -> i64 {
        let mut shipment = match Shipment::new(number, *arguments) {
            Ok(shipment) => shipment,
            Err(result) => return result,
        };
        let key = subject.process.key.with(|key| key.clone());
        loop {
            match self.ship_piece(subject, &mut shipment, &key, memory, number == calls::EXIT_GROUP) {
                Ok(Some(result)) => return result,
                Ok(None) => {}
                Err(errno) => return shipment.failed(errno),
            }
        }
    }

    /// One message and its reply. `None`: there is more to ship. `last`: the last words of a process, which nobody ends.
    fn ship_piece(
        &self,
        subject: &Subject<'_>,
        shipment: &mut Shipment,
        key: &Key,
        memory: &impl marshal::UserMemory,
        last: bool,
    ) -> Result<Option<i64>, Errno> {
        let exchange = self.exchange();
        let bytes = exchange.with(|exchange| shipment.request(memory, exchange.message))?;
        let message = self.message(subject, key);
        let thread = subject.thread;
        let wish = || {
            self.look_for_orders();
            match thread.is_wanted() {
                _ if last && subject.process.orphaned.load(Ordering::Acquire) => Wish::GiveUp,
                true if last => Wish::Wait,
                // Also if it ended before the call began: the thread may have come here meanwhile.
                true if subject.process.end().is_some() => Wish::GiveUp,
                true => Wish::Interrupt,
                false => Wish::Wait,
            }
        };
        match self.node.converse(exchange, &message, bytes, &self.cpu, wish) {
            Ok(bytes) => {
                let Finished { result, pending } =
                    exchange.with(|exchange| shipment.finish(exchange.message.get(..bytes).unwrap_or(&[]), memory));
                if pending != 0 {
                    self.take_signals_of_proxy(subject, pending);
                }
                Ok(result)
            }
            Err(lost) => {
                self.lose_proxy(subject, lost);
                Err(Errno::EIO)
            }
        }
    }

    /// The same without the wait: the first packets of a piece are ready to be sent.
    pub fn begin_piece(
        &self,
        subject: &Subject<'_>,
        exchange: &Locked<Exchange>,
        shipment: &mut Shipment,
        memory: &impl marshal::UserMemory,
    ) -> Result<(), Errno> {
        let bytes = exchange.with(|exchange| shipment.request(memory, exchange.message))?;
        let key = subject.process.key.with(|key| key.clone());
        let message = self.message(subject, &key);
        exchange.with(|exchange| exchange.begin(&message, bytes)).ok_or(Errno::EIO)
    }

    /// The thread's next message.
    fn message<'k>(&self, subject: &Subject<'_>, key: &'k Key) -> Message<'k> {
        let sequence = subject.thread.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        let (party, port) = (self.party(subject), self.port(subject));
        Message { kind: Kind::Call, party, sequence, port, key, refuser: key }
    }

    fn party(&self, subject: &Subject<'_>) -> Party {
        Party {
            node: self.node.settings.node,
            job: self.node.job.with(|job| job.id),
            process: subject.process.rank.load(Ordering::Relaxed),
            thread: subject.thread.serial.load(Ordering::Relaxed),
        }
    }

    pub fn port(&self, subject: &Subject<'_>) -> u16 {
        subject.process.port.load(Ordering::Relaxed) as u16
    }

    /// The proxy does not answer: the process ends, if it does not end already.
    pub fn lose_proxy(&self, subject: &Subject<'_>, lost: Lost) {
        let why = match lost {
            Lost::GivenUp => return,
            Lost::Refused(Refusal::NoJob) => "its proxy is gone",
            Lost::Refused(Refusal::NoSession) => "its proxy does not know it",
            Lost::Silent => "its proxy is silent",
            Lost::TooLong => "a call is too long",
        };
        if lost == Lost::TooLong {
            return;
        }
        let orphaned = subject.process.orphaned.swap(true, Ordering::AcqRel);
        if !orphaned && subject.process.end().is_none() {
            let rank = subject.process.rank.load(Ordering::Relaxed);
            log(Text::<80>::format(format_args!("process {rank} ends: {why}")).as_bytes());
        }
        self.end_process(subject.thread.process(), End::Signal(SIGKILL));
    }
}

/// A call's result.
pub fn result(result: i64) -> Result<u64, Errno> {
    match u64::try_from(result) {
        Ok(result) => Ok(result),
        Err(_) => Err(Errno(u16::try_from(result.unsigned_abs()).unwrap_or(5))),
    }
}
