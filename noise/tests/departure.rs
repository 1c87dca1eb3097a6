// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A measuring thread that loses its CPU: its samples end before that, those of the other CPU go on, and the record says
//! so. The test moves the thread as Linux does when a CPU goes offline or leaves the cpuset.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use tacet_noise::measure::{Amount, Plan, machine, sampling};
use tacet_noise::record::{Kernel, Method};
use tacet_noise::units::Nanoseconds;

fn only(cpu: u32) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(cpu as usize).expect("a CPU");
    set
}

/// Moves this process's measuring thread from one CPU to another.
fn moved(from: u32, to: u32) -> Pid {
    let tasks = std::fs::read_dir("/proc/self/task").expect("threads");
    let threads = tasks.filter_map(|task| {
        let task = task.ok()?;
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let thread = Pid::from_raw(task.file_name().to_str()?.parse().ok()?);
        (name.trim() == "measuring" && sched_getaffinity(thread) == Ok(only(from))).then_some(thread)
    });
    let threads: Vec<Pid> = threads.collect();
    assert_eq!(threads.len(), 1, "one thread measures cpu {from}");
    sched_setaffinity(threads[0], &only(to)).expect("moved");
    threads[0]
}

/// Whether a thread of this process waits, as those do that have ended their loop.
fn sleeps(thread: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).expect("a thread");
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

#[test]
fn samples_end_where_their_thread_leaves() {
    let mut cpus = machine::allowed_cpus().expect("CPUs");
    assert!(cpus.len() >= 2, "this test needs two CPUs");
    cpus.truncate(2);
    let (stays, leaves) = (cpus[0], cpus[1]);
    let stop = Arc::new(AtomicBool::new(false));
    let plan = Plan {
        method: Method::Fwq,
        kernel: Kernel::Register,
        cpus,
        quantum: Nanoseconds(100e3),
        units: None,
        amount: Amount::For(Nanoseconds(60e9)),
        realtime_priority: None,
        label: "test".into(),
        until: None,
        stop: Some(Arc::clone(&stop)),
        trust_clock: true,
    };
    let (mut calls, mut moved_at, mut thread) = (0, 0, None);
    let measured = plan.measure(&[], &mut |_| {
        calls += 1;
        if calls == 2 {
            moved_at = sampling::ticks();
            thread = Some(moved(leaves, stays));
        }
        // it disturbs the CPU on which it is now until it ends; the other thread goes on
        let ended = calls > 2 && thread.is_some_and(sleeps);
        stop.store(ended || calls >= 100, Ordering::Relaxed);
    });
    let measured = measured.expect("a record");
    assert!(calls < 100, "the thread that left its CPU still measures");
    let (about, samples) = (&measured.record.about, &measured.record.samples);
    let moved_ns = (moved_at - measured.origin_ticks) as f64 * 1e9 / about.ticks_per_second;
    let end = |cpu: u32| {
        let (_, rows) = samples.by_cpu().into_iter().find(|(of, _)| *of == cpu).expect("samples of both");
        (samples.start_ns[rows.end - 1] + samples.length_ns[rows.end - 1]) as f64
    };
    assert!(end(leaves) <= moved_ns && moved_ns < end(stays), "{} {moved_ns} {}", end(leaves), end(stays));
    let counted = about.counters.iter().find(|counted| counted.cpu == leaves).expect("counters");
    assert!(counted.measured_ns as f64 <= moved_ns);
    let told = [format!("cpu {leaves} went offline, or left the cpuset"), "interrupted: measured for ".to_owned()];
    assert_eq!(about.warnings.len(), 2, "{:?}", about.warnings);
    assert!(about.warnings.iter().zip(told).all(|(warning, told)| warning.starts_with(&told)), "{:?}", about.warnings);
}
