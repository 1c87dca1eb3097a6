// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shipped calls: a call becomes messages to the proxy of its process, one after the other if it is long, and the replies
//! its result.
//!
//! Called with the thread's CPU, which waits: as in CNK no other thread gets it meanwhile. Says what came back, or that the
//! proxy is lost; signals that the proxy has for the process come with the replies, and go to the [`Caller`]. Ends nobody.

pub mod memory;

use crate::base::thread::ThreadState;
use crate::link::Link;
use crate::link::exchange::{Exchange, Lost, Message, Wish};
use crate::machine::Cpu;
use crate::machine::Locked;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_wire::errno::Errno;
use tacet_wire::key::Key;
use tacet_wire::marshal::{Finished, Shipment, UserMemory};
use tacet_wire::packet::{Kind, Party};

/// The proxy of a process, as one thread reaches it.
pub struct Proxy<'a> {
    pub link: &'a Link,
    pub thread: &'a ThreadState,
    pub party: Party,
    pub port: u16,
    pub key: Key,
}

/// The upper floors, for as long as a call is under way.
pub trait Caller {
    /// Asked between two looks at the link.
    fn wish(&self) -> Wish;

    /// Signals that the proxy has received for the process: bit n - 1 is signal n.
    fn take_signals(&self, pending: u64);

    /// Whether a call that a signal has ended early goes on: nobody takes the signal.
    fn goes_on(&self) -> bool;
}

impl Proxy<'_> {
    /// Lets the proxy make a call: its result, or why there is none and the result that the call has then.
    pub fn call(
        &self,
        cpu: &Cpu,
        mut shipment: Shipment,
        memory: &impl UserMemory,
        caller: &impl Caller,
    ) -> Result<i64, (Lost, i64)> {
        let exchange = self.link.of_cpu(cpu.index());
        loop {
            let bytes = match exchange.with(|exchange| shipment.request(memory, exchange.message)) {
                Ok(bytes) => bytes,
                Err(errno) => return Ok(shipment.failed(errno)),
            };
            let bytes = self.link.converse(exchange, &self.message(), bytes, cpu, || caller.wish());
            let bytes = bytes.map_err(|lost| (lost, shipment.failed(Errno::EIO)))?;
            let finished = exchange.with(|exchange| shipment.finish(exchange.text(bytes), memory));
            let Finished { result, unfinished, pending } = finished;
            if pending != 0 {
                caller.take_signals(pending);
            }
            match result {
                Some(_) if unfinished && caller.goes_on() => shipment.go_on(),
                Some(result) => return Ok(result),
                None => {}
            }
        }
    }

    /// The same without the wait: the first packets of a piece are ready to be sent.
    pub fn begin_piece(
        &self,
        exchange: &Locked<Exchange>,
        shipment: &mut Shipment,
        memory: &impl UserMemory,
    ) -> Result<(), Errno> {
        let bytes = exchange.with(|exchange| shipment.request(memory, exchange.message))?;
        exchange.with(|exchange| exchange.begin(&self.message(), bytes)).ok_or(Errno::EIO)
    }

    /// The thread's next message.
    fn message(&self) -> Message<'_> {
        let sequence = self.thread.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        let Self { party, port, ref key, .. } = *self;
        Message { kind: Kind::Call, party, sequence, port, key, refuser: key }
    }
}

/// A call's result.
pub fn result(result: i64) -> Result<u64, Errno> {
    match u64::try_from(result) {
        Ok(result) => Ok(result),
        Err(_) => Err(Errno(u16::try_from(result.unsigned_abs()).unwrap_or(5))),
    }
}
