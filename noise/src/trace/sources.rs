// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds the source of an event: its name in the kernel, and its origin, that is the sender or the unit behind it.

use std::collections::HashMap;

use super::event::{Event, Task, What, vector};
use super::names::{Symbols, Units};
use crate::record::thieves::Kind;

/// Identifies a source: events with the same identity have the same source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    pub kind: Kind,
    pub name: String,
    pub origin: Option<String>,
}

/// The trace's maps that contain names.
pub trait Tables {
    fn task(&self, thread: u32) -> Option<Task>;
    fn interrupt(&self, number: u32) -> Option<String>;
    /// Return addresses, innermost first.
    fn stack(&self, number: u64) -> Vec<u64>;
}

/// Names events, and remembers the interrupts that were sent to CPUs and have not arrived.
#[derive(Debug, Default)]
pub struct Namer {
    symbols: Symbols,
    units: Units,
    /// By CPU and class of interrupt: when it was sent, and its sender.
    on_the_way: HashMap<(u32, Class), Vec<(u64, String)>>,
    origins: HashMap<(u32, u64), String>,
    /// By worker: the task that queued its present work.
    queued: HashMap<u32, String>,
}

/// Interrupts between CPUs whose sender is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    Reschedule,
    Call,
}

/// The greatest difference of two CPUs' clocks.
const AGREEMENT_NS: u64 = 1000;
/// In the order of include/linux/interrupt.h.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
/// Prefixes of kernel functions that send an interrupt on behalf of another function. The first function on the stack
/// with none of these prefixes is the one that wanted the interrupt.
const MESSENGERS: [&str; 36] = [
    "__queue",
    "__bpf",
    "__resched",
    "__smp",
    "__traceiter",
    "__ttwu",
    "__wake_up",
    "arch_",
    "autoremove_wake",
    "bpf_",
    "check_preempt",
    "default_send",
    "default_wake",
    "ftrace_",
    "generic_exec",
    "kick_",
    "kvm_",
    "mod_delayed_work",
    "native_",
    "on_each_cpu",
    "queue_",
    "resched_",
    "schedule_on_each_cpu",
    "send_call",
    "smp_",
    "stop_machine",
    "stop_one",
    "swake_up",
    "try_to_wake",
    "ttwu_",
    "wake_q",
    "wake_up",
    "wakeup_preempt",
    "wq_worker",
    "x2apic",
    "complete",
];
/// Timers of the deadline server: whatever they send, by whichever function, is the server's.
const SERVERS: [&str; 2] = ["dl_task_timer", "dl_server_timer"];
/// Prefixes of functions below which a stack belongs to an interrupt, not to the task that it interrupted.
const INTERRUPTS: [&str; 5] = ["__do_softirq", "handle_softirqs", "irq_exit", "sysvec_", "common_interrupt"];

impl Namer {
    pub fn new(symbols: Symbols, units: Units) -> Namer {
        Namer { symbols, units, ..Namer::default() }
    }

    /// The source of an event; `None` if the event only reports that an interrupt was sent.
    pub fn identity(&mut self, cpu: u32, event: &Event, tables: &impl Tables) -> Option<Identity> {
        let of = |kind, name: String, origin| Some(Identity { kind, name, origin });
        match event.what {
            What::Sent => {
                self.send(cpu, event, tables);
                None
            }
            What::Queued => {
                self.queue(event, tables);
                None
            }
            What::Vector => Some(self.vector(cpu, event)),
            What::Interrupt => {
                let name = tables.interrupt(event.detail).unwrap_or_else(|| "unknown device".into());
                let kind = if name == "arch_timer" { Kind::Timer } else { Kind::Interrupt };
                of(kind, format!("{name} (irq {})", event.detail), None)
            }
            What::Softirq => {
                let name = SOFTIRQS.get(event.detail as usize).map(|name| (*name).to_owned());
                of(Kind::Softirq, name.unwrap_or_else(|| format!("softirq {}", event.detail)), None)
            }
            What::HighTimer | What::WheelTimer => of(Kind::Timer, self.symbols.name(event.address), None),
            What::Nmi => of(Kind::Nmi, self.symbols.name(event.address), None),
            What::Fault => of(Kind::PageFault, "page fault of the measured program".into(), None),
            What::Task => Some(self.task(event, tables)),
            What::Migration => {
                let task = tables.task(event.detail).map_or_else(|| "unknown".into(), |task| task.name);
                of(Kind::Migration, format!("{} came", common(&task)), None)
            }
        }
    }

    fn task(&self, event: &Event, tables: &impl Tables) -> Identity {
        let task = tables.task(event.detail).unwrap_or_else(|| Task { name: "unknown".into(), ..Task::default() });
        let bound = if task.name.starts_with("kworker/u") { "unbound worker" } else { "bound worker" };
        let (kind, name, origin) = match (event.address, event.kernel_thread) {
            (0, true) if task.name.starts_with("kworker/") => {
                (Kind::Kworker, "without work".into(), Some(bound.to_owned()))
            }
            (0, true) => (Kind::KernelThread, common(&task.name).to_owned(), None),
            (0, false) => (Kind::Task, task.name, self.units.name(task.cgroup)),
            (function, _) => {
                // an unbound worker may have begun on another CPU, where nobody saw it
                let sender = self.queued.get(&event.detail).filter(|_| bound == "bound worker");
                let origin = sender.map_or_else(|| bound.to_owned(), |sender| format!("{bound}, queued by {sender}"));
                (Kind::Kworker, self.symbols.name(function), Some(origin))
            }
        };
        Identity { kind, name, origin }
    }

    fn vector(&mut self, cpu: u32, event: &Event) -> Identity {
        let (kind, name, class) = match event.detail {
            vector::LOCAL_TIMER => (Kind::Timer, "local timer interrupt", None),
            vector::RESCHEDULE => (Kind::Ipi, "reschedule", Some(Class::Reschedule)),
            vector::CALL_FUNCTION | vector::CALL_FUNCTION_SINGLE => (Kind::Ipi, "function call", Some(Class::Call)),
            vector::IRQ_WORK => (Kind::Ipi, "irq_work", None),
            vector::THRESHOLD => (Kind::Hardware, "machine-check threshold interrupt", None),
            vector::DEFERRED_ERROR => (Kind::Hardware, "deferred machine error", None),
            vector::THERMAL => (Kind::Hardware, "thermal interrupt", None),
            vector::ERROR => (Kind::Hardware, "error of the interrupt controller", None),
            vector::SPURIOUS => (Kind::Hardware, "spurious interrupt", None),
            vector::PLATFORM => (Kind::Hardware, "platform interrupt", None),
            _ => (Kind::Ipi, "interrupt between CPUs", None),
        };
        let origin = class.and_then(|class| self.arrived(cpu, class, event.start_ns));
        Identity { kind, name: name.into(), origin }
    }

    fn send(&mut self, cpu: u32, event: &Event, tables: &impl Tables) {
        let class = match event.net_ns {
            vector::RESCHEDULE => Class::Reschedule,
            vector::CALL_FUNCTION | vector::CALL_FUNCTION_SINGLE => Class::Call,
            _ => return,
        };
        let sender = match self.origins.get(&(event.detail, event.address)) {
            Some(known) => known.clone(),
            None => {
                let sender = self.sender(event.detail, &self.calls(event.address, tables), tables);
                self.origins.insert((event.detail, event.address), sender.clone());
                sender
            }
        };
        self.on_the_way.entry((cpu, class)).or_default().push((event.start_ns, sender));
    }

    fn queue(&mut self, event: &Event, tables: &impl Tables) {
        let calls = self.calls(event.address, tables);
        let by_interrupt = calls.iter().any(|name| INTERRUPTS.iter().any(|begin| name.starts_with(begin)));
        if calls.is_empty() || by_interrupt {
            self.queued.remove(&event.detail);
        } else {
            let sender = self.sender(event.net_ns, &calls, tables);
            self.queued.insert(event.detail, sender);
        }
    }

    fn calls(&self, stack: u64, tables: &impl Tables) -> Vec<String> {
        tables.stack(stack).iter().map(|address| self.symbols.name(*address)).collect()
    }

    /// The sender, its unit and its purpose: `stress-ng (load.service): flush_tlb_mm_range`.
    fn sender(&self, thread: u32, calls: &[String], tables: &impl Tables) -> String {
        let (task, unit) = match thread {
            0 => ("idle".into(), None),
            thread => {
                let task = tables.task(thread).unwrap_or_else(|| Task { name: "unknown".into(), ..Task::default() });
                let unit = self.units.name(task.cgroup);
                (task.name, unit)
            }
        };
        let unit = unit.map_or_else(String::new, |unit| format!(" ({unit})"));
        let server = calls.iter().find(|name| SERVERS.contains(&name.as_str()));
        let wanted = calls.iter().find(|name| !MESSENGERS.iter().any(|begin| name.starts_with(begin)));
        let wanted = server.or(wanted);
        let purpose = wanted.map_or_else(String::new, |function| format!(": {function}"));
        format!("{}{unit}{purpose}", common(&task))
    }

    /// The senders of an interrupt that arrived; several senders may share one interrupt.
    fn arrived(&mut self, cpu: u32, class: Class, at_ns: u64) -> Option<String> {
        let waiting = self.on_the_way.get_mut(&(cpu, class))?;
        let due = waiting.iter().take_while(|(sent_ns, _)| *sent_ns <= at_ns + AGREEMENT_NS).count();
        let mut senders: Vec<String> = waiting.drain(..due).map(|(_, sender)| sender).collect();
        senders.sort();
        senders.dedup();
        let first = senders.first()?.clone();
        Some(if senders.len() > 1 { format!("{first} and others") } else { first })
    }
}

/// A thread's name without the number of its CPU or pool.
fn common(name: &str) -> &str {
    match name.split_once('/') {
        Some((common, rest)) if rest.starts_with(|c: char| c.is_ascii_digit() || c == 'u') => common,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Examples;

    impl Tables for Examples {
        fn task(&self, thread: u32) -> Option<Task> {
            let name = ["idle", "kworker/3:1", "kworker/u8:2", "ksoftirqd/3", "cron"].get(thread as usize)?;
            Some(Task { name: (*name).into(), cgroup: 9, process: thread })
        }

        fn interrupt(&self, number: u32) -> Option<String> {
            (number == 24).then(|| "virtio0-req.3".into())
        }

        fn stack(&self, number: u64) -> Vec<u64> {
            if number == 7 { vec![0x10, 0x20] } else { vec![] }
        }
    }

    fn event(what: What, detail: u32) -> Event {
        let (kernel_thread, continued) = (false, false);
        Event { start_ns: 100, address: 0, gross_ns: 5, net_ns: 5, detail, what, continued, kernel_thread }
    }

    fn named(namer: &mut Namer, event: Event) -> (Kind, String, Option<String>) {
        let identity = namer.identity(3, &event, &Examples).expect("a source");
        (identity.kind, identity.name, identity.origin)
    }

    #[test]
    fn each_kind_has_its_name() {
        let mut namer = Namer::default();
        let thread = |detail| Event { kernel_thread: true, ..event(What::Task, detail) };
        let cases = [
            (event(What::Vector, vector::LOCAL_TIMER), Kind::Timer, "local timer interrupt"),
            (event(What::Interrupt, 24), Kind::Interrupt, "virtio0-req.3 (irq 24)"),
            (event(What::Interrupt, 25), Kind::Interrupt, "unknown device (irq 25)"),
            (event(What::Softirq, 9), Kind::Softirq, "RCU"),
            (event(What::Softirq, 10), Kind::Softirq, "softirq 10"),
            (thread(3), Kind::KernelThread, "ksoftirqd"),
            (thread(1), Kind::Kworker, "without work"),
            (Event { address: 0xabc, ..thread(2) }, Kind::Kworker, "0xabc"),
            (event(What::Task, 4), Kind::Task, "cron"),
            (event(What::Task, 77), Kind::Task, "unknown"),
            (event(What::Migration, 4), Kind::Migration, "cron came"),
        ];
        for (event, kind, name) in cases {
            assert_eq!(named(&mut namer, event).0, kind, "{event:?}");
            assert_eq!(named(&mut namer, event).1, name);
        }
        let worker = Event { address: 1, ..thread(2) };
        assert_eq!(named(&mut namer, worker).2.as_deref(), Some("unbound worker"));
    }

    #[test]
    fn an_interrupt_has_the_senders_before_it() {
        let mut namer = Namer::default();
        let sent =
            |start_ns, detail| Event { start_ns, net_ns: vector::CALL_FUNCTION_SINGLE, ..event(What::Sent, detail) };
        let arrives = |start_ns| Event { start_ns, ..event(What::Vector, vector::CALL_FUNCTION) };
        assert_eq!(namer.identity(3, &sent(100, 4), &Examples), None);
        assert_eq!(namer.identity(3, &sent(5000, 3), &Examples), None);
        assert_eq!(namer.identity(2, &sent(100, 3), &Examples), None, "another CPU's");
        assert_eq!(named(&mut namer, arrives(200)).2.as_deref(), Some("cron"));
        assert_eq!(named(&mut namer, arrives(300)).2, None, "sent once");
        namer.identity(3, &sent(5100, 4), &Examples);
        assert_eq!(named(&mut namer, arrives(6000)).2.as_deref(), Some("cron and others"));
    }

    /// The server's timer puts its threads into the queue, which tells a CPU without a tick: the timer wanted it.
    #[test]
    fn the_deadline_server_is_named() {
        let namer = Namer::default();
        let stack = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let calls = stack(&["__smp_call_single_queue", "irq_work_queue_on", "enqueue_dl_entity", "dl_task_timer", "x"]);
        assert_eq!(namer.sender(0, &calls, &Examples), "idle: dl_task_timer");
        let calls = stack(&["__smp_call_single_queue", "irq_work_queue_on", "posix_cpu_timer_set", "x"]);
        assert_eq!(namer.sender(0, &calls, &Examples), "idle: irq_work_queue_on");
    }

    #[test]
    fn bound_work_has_the_task_that_queued_it() {
        let mut namer = Namer::default();
        let queued = |address| Event { address, net_ns: 4, ..event(What::Queued, 1) };
        let works = |worker| Event { address: 1, kernel_thread: true, ..event(What::Task, worker) };
        assert_eq!(namer.identity(3, &queued(7), &Examples), None);
        assert_eq!(named(&mut namer, works(1)).2.as_deref(), Some("bound worker, queued by cron: 0x10"));
        assert_eq!(namer.identity(3, &queued(u64::MAX), &Examples), None);
        assert_eq!(named(&mut namer, works(1)).2.as_deref(), Some("bound worker"), "nobody was seen");
    }
}
