// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One measuring thread: binds itself to its CPU, prepares everything, and then executes only the loop.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};

use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_name;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use super::counters::Watch;
use super::departure::Stay;
use super::machine::pin;
use super::pages::Pages;
use super::sampling::{self, Vectors};
use crate::Result;
use crate::record::{Counters, Kernel, Method};
use crate::units::Nanoseconds;

/// The name of a thread while it measures; a trace recognises the measuring threads of this process by it.
const MEASURING: &CStr = c"measuring";

/// The work of every thread; times in ticks.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub method: Method,
    pub kernel: Kernel,
    /// Units in a quantum of fixed work.
    pub units: u64,
    /// The interval of fixed time, or the shortest detour.
    pub ticks: u64,
    /// Number of samples; for selfish detour and for fixed work with `end_ticks` the room for them.
    pub samples: usize,
    /// Duration of the whole measurement, for the progress.
    pub duration_ticks: u64,
    /// Only for fixed work: the measurement ends after this time, however many quanta it holds.
    pub end_ticks: Option<u64>,
    /// Duration of the warm-up before it.
    pub warm_up_ticks: u64,
    pub realtime_priority: Option<u8>,
    /// Only for fixed work: a quantum this long ends the measurement on all CPUs.
    pub limit_ticks: Option<u64>,
}

/// The results of one thread; times in ticks.
pub struct Found {
    pub cpu: u32,
    /// Beginning, length and work of each sample.
    pub samples: Vec<(u64, u64, u64)>,
    pub begin: u64,
    pub end: u64,
    pub shortest: u64,
    pub counters: Counters,
    pub memory_locked: bool,
    pub huge_pages: bool,
    /// The thread was moved to another CPU; the samples end before that.
    pub left: bool,
}

impl Found {
    /// Keeps the samples that ended until `last`, if the thread left its CPU after that.
    fn until(mut self, last: Option<u64>) -> Found {
        if let Some(last) = last {
            self.samples.retain(|(start, length, _)| start.saturating_add(*length) <= last);
            let end = self.samples.last().map_or(self.begin, |(start, length, _)| start + length);
            self.end = self.end.min(if self.shortest > 0 { last.max(self.begin) } else { end });
            self.left = true;
        }
        self
    }

    /// A sentence about a thread that left its CPU.
    pub fn departure(&self, origin_ticks: u64, ticks_per_second: f64) -> Option<String> {
        let after_ns = self.end.saturating_sub(origin_ticks) as f64 * 1e9 / ticks_per_second;
        self.left.then(|| {
            format!(
                "cpu {} went offline, or left the cpuset of this program: its thread stopped, and it was measured only \
                 for the first {}",
                self.cpu,
                Nanoseconds(after_ns)
            )
        })
    }
}

impl Work {
    fn vectors(&self) -> Option<Box<Vectors>> {
        (self.kernel == Kernel::Daxpy).then(Box::default)
    }

    /// Ticks of one quantum of `units` units: the shortest of a few.
    pub fn shortest_quantum(&self, units: u64) -> u64 {
        let (mut vectors, mut times) = (self.vectors(), [0; 9]);
        sampling::fixed_work(&mut times, units, vectors.as_deref_mut());
        times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0)
    }

    /// The number of units in a quantum of this many ticks, on the calling thread's CPU.
    pub fn calibrate(&self, quantum_ticks: f64) -> u64 {
        let mut units = 16;
        while (self.shortest_quantum(units) as f64) < quantum_ticks / 16.0 && units < 1 << 40 {
            units *= 2;
        }
        // Twice: the first time brings the clock to the frequency at which the second one measures.
        for _ in 0..2 {
            let took = self.shortest_quantum(units).max(1) as f64;
            units = ((units as f64 * quantum_ticks / took).round() as u64).max(1);
        }
        units
    }

    /// Runs in a thread of its own. Waits at `ready` twice: until all threads are ready, and until all have ended.
    /// Between them `room` has the pages of its samples, which another thread may read.
    pub fn measure(
        &self,
        cpu: u32,
        ready: &Barrier,
        watch: &sampling::Watch,
        stay: &Stay,
        room: &OnceLock<Pages>,
    ) -> Result<Found> {
        let prepared = self.prepare(cpu).map(|(pages, locked)| (room.get_or_init(|| pages), locked));
        stay.begin();
        ready.wait();
        let found = prepared.map(|(pages, locked)| self.run(cpu, pages, locked, watch));
        // Before the other thread looks no more: it may have looked too early to see that this one was moved.
        stay.look(cpu);
        ready.wait();
        found.map(|found| found.until(stay.left_after()))
    }

    fn prepare(&self, cpu: u32) -> Result<(Pages, bool)> {
        pin(&[cpu])?;
        if let Some(priority) = self.realtime_priority {
            be_realtime(priority)?;
        }
        let numbers = match self.method {
            Method::Fwq => self.samples + 1,
            Method::Ftq => self.samples,
            Method::Selfish | Method::Latency => 2 * self.samples,
        };
        let pages = Pages::new(numbers)?;
        let locked = mlockall(MlockAllFlags::MCL_CURRENT).is_ok();
        self.warm_up();
        Ok((pages, locked))
    }

    /// Warms up the code, the operands and the clock frequency.
    fn warm_up(&self) {
        let until = sampling::ticks() + self.warm_up_ticks;
        while sampling::ticks() < until {
            self.shortest_quantum(1000);
        }
    }

    fn run(&self, cpu: u32, pages: &Pages, memory_locked: bool, watch: &sampling::Watch) -> Found {
        let (mut vectors, huge_pages) = (self.vectors(), pages.huge);
        let (mut numbers, vectors) = (pages.numbers(), vectors.as_deref_mut());
        let value = |number: &AtomicU64| number.load(Ordering::Relaxed);
        // fails only for names that are too long
        set_name(MEASURING).ok();
        let counting = Watch::begin();
        let begin = sampling::ticks();
        let mut detours = sampling::Detours { found: 0, shortest: 0 };
        match self.method {
            Method::Fwq => {
                let end = self.end_ticks.unwrap_or(u64::MAX);
                let done = sampling::fixed_work_until(numbers, self.units, end, vectors, watch);
                numbers = &numbers[..=done];
            }
            Method::Ftq => {
                let done = sampling::fixed_time(numbers, begin, self.ticks, vectors, watch);
                numbers = &numbers[..done];
            }
            Method::Selfish | Method::Latency => {
                detours = sampling::selfish(numbers, begin + self.duration_ticks, self.ticks, watch)
            }
        }
        let end = sampling::ticks();
        let mut counters = Counters { cpu, ..counting.end() };
        let samples: Vec<(u64, u64, u64)> = match self.method {
            Method::Fwq => {
                let times = numbers.windows(2).map(|pair| (value(&pair[0]), value(&pair[1])));
                times.map(|(begin, end)| (begin, end - begin, self.units)).collect()
            }
            Method::Ftq => {
                let starts = (0..).map(|index| begin + index * self.ticks);
                starts.zip(numbers).map(|(start, work)| (start, self.ticks, value(work))).collect()
            }
            Method::Selfish | Method::Latency => {
                counters.lost = detours.found.saturating_sub(self.samples as u64);
                let stored = (detours.found - counters.lost) as usize;
                numbers.chunks_exact(2).take(stored).map(|pair| (value(&pair[0]), value(&pair[1]), 0)).collect()
            }
        };
        let (begin, end) = match (self.method, samples.first(), samples.last()) {
            (Method::Fwq, Some(first), Some(last)) => (first.0, last.0 + last.1),
            _ => (begin, end),
        };
        Found { cpu, samples, begin, end, shortest: detours.shortest, counters, memory_locked, huge_pages, left: false }
    }
}

/// Gives the calling thread a real-time priority.
pub fn be_realtime(priority: u8) -> Result<()> {
    let wrong = |why: String| format!("real-time priority {priority}: {why}; it needs 1 to 99 and CAP_SYS_NICE");
    let value = ThreadPriorityValue::try_from(priority).map_err(|why| wrong(why.to_string()))?;
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), fifo)
        .map_err(|_| tacet_words::Failure::machine(wrong("the kernel refuses it".to_owned())).into())
}
