// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The events that the programs in the kernel report, in the layouts of `trace/event.h`.

/// `struct event`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// CLOCK_MONOTONIC
    pub start_ns: u64,
    pub address: u64,
    pub gross_ns: u32,
    pub net_ns: u32,
    pub detail: u32,
    pub what: What,
    /// The worker continues work that it began earlier.
    pub continued: bool,
    pub kernel_thread: bool,
}

/// `enum event_kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    Vector,
    Interrupt,
    Softirq,
    HighTimer,
    WheelTimer,
    Nmi,
    Task,
    Fault,
    Migration,
    Sent,
    Queued,
}

/// The members of `enum vector` that are distinguished here.
pub mod vector {
    pub const LOCAL_TIMER: u32 = 0;
    pub const RESCHEDULE: u32 = 1;
    pub const CALL_FUNCTION: u32 = 2;
    pub const CALL_FUNCTION_SINGLE: u32 = 3;
    pub const IRQ_WORK: u32 = 4;
    pub const THRESHOLD: u32 = 5;
    pub const DEFERRED_ERROR: u32 = 6;
    pub const THERMAL: u32 = 7;
    pub const ERROR: u32 = 8;
    pub const SPURIOUS: u32 = 9;
    pub const PLATFORM: u32 = 10;
}

const WHAT: [What; 11] = [
    What::Vector,
    What::Interrupt,
    What::Softirq,
    What::HighTimer,
    What::WheelTimer,
    What::Nmi,
    What::Task,
    What::Fault,
    What::Migration,
    What::Sent,
    What::Queued,
];

impl Event {
    /// Reads an event from the bytes of a ring; `None` if they are not an event.
    pub fn read(bytes: &[u8]) -> Option<Event> {
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let flags = half(30)?;
        Some(Event {
            start_ns: long(0)?,
            address: long(8)?,
            gross_ns: short(16)?,
            net_ns: short(20)?,
            detail: short(24)?,
            what: *WHAT.get(usize::from(half(28)?).checked_sub(1)?)?,
            continued: flags & 1 != 0,
            kernel_thread: flags & 2 != 0,
        })
    }
}

/// `struct task`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    pub name: String,
    pub cgroup: u64,
    pub process: u32,
}

impl Task {
    pub fn read(bytes: &[u8]) -> Option<Task> {
        Some(Task {
            name: text(bytes.get(..16)?),
            cgroup: u64::from_ne_bytes(bytes.get(16..24)?.try_into().ok()?),
            process: u32::from_ne_bytes(bytes.get(24..28)?.try_into().ok()?),
        })
    }
}

/// Text up to the first zero byte.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_events() {
        let mut bytes = Vec::new();
        bytes.extend(7u64.to_ne_bytes());
        bytes.extend(u64::MAX.to_ne_bytes());
        for number in [10u32, 9, 4711] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(7u16.to_ne_bytes());
        bytes.extend(3u16.to_ne_bytes());
        let event = Event::read(&bytes).expect("an event");
        assert_eq!((event.start_ns, event.gross_ns, event.net_ns, event.detail), (7, 10, 9, 4711));
        assert!(event.what == What::Task && event.continued && event.kernel_thread && event.address == u64::MAX);
        assert_eq!(Event::read(&bytes[..31]), None);
        for wrong in [0u16, 12, 65535] {
            bytes[28..30].copy_from_slice(&wrong.to_ne_bytes());
            assert_eq!(Event::read(&bytes), None);
        }
    }

    #[test]
    fn bytes_become_tasks() {
        let mut bytes = b"kworker/0:1\0xyz\0".to_vec();
        bytes.extend(5u64.to_ne_bytes());
        bytes.extend(6u32.to_ne_bytes());
        assert_eq!(Task::read(&bytes), Some(Task { name: "kworker/0:1".into(), cgroup: 5, process: 6 }));
        assert_eq!(Task::read(&bytes[..20]), None);
    }
}
