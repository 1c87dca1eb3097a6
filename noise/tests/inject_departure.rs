// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread that makes noise and loses its CPU makes no noise elsewhere. The test moves the thread as Linux does when a CPU
//! goes offline or leaves the cpuset; it has a process of its own, so that it moves no other test's thread.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tacet_noise::inject::{Distribution, Injection};
use tacet_noise::measure::{is_bound, machine};

/// A thread of this process that is bound to this CPU alone.
fn bound_to(cpu: u32) -> Option<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("threads");
    let mut numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    numbers.find(|thread| is_bound(*thread, cpu))
}

#[test]
fn noise_ends_where_its_thread_leaves() {
    let cpus = machine::allowed_cpus().expect("CPUs");
    assert!(cpus.len() >= 2, "this test needs two CPUs");
    let (stays, leaves) = (cpus[0], cpus[1]);
    let plan = Injection {
        cpus: vec![stays, leaves],
        length_ns: 50e3,
        interval_ns: 5e6,
        duration_ns: 2e9,
        distribution: Distribution::Fixed,
        realtime_priority: None,
        seed: 3,
        stop: Arc::default(),
    };
    let injected = thread::scope(|scope| {
        let injects = scope.spawn(|| plan.run().map_err(|error| error.to_string()));
        let began = Instant::now();
        let mut found = bound_to(leaves);
        while found.is_none() && began.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(1));
            found = bound_to(leaves);
        }
        let mut elsewhere = CpuSet::new();
        elsewhere.set(stays as usize).expect("a CPU");
        sched_setaffinity(Pid::from_raw(found.expect("a bound thread")), &elsewhere).expect("moved");
        injects.join().expect("no failure").expect("noise")
    });
    assert_eq!(injected.iter().map(|one| one.left).collect::<Vec<_>>(), [false, true]);
    assert!(injected[1].count < 400 && injected[0].count == 400, "{injected:?}");
}
