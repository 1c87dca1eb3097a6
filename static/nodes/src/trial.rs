// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program of the trial that decides about KVM (`tacet_node::accelerator`): it uses on its node what programs use.
//!
//! Runs as `tacet static trial` on a node of several CPUs: threads that compute with floating-point numbers beside each
//! other, copies by the vector registers (the C library's), a handled signal, a timer, memory, and shipped calls. Prints
//! [`ALIVE`] only if all of it is right.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, raise};
use tacet_ctl::{Error, Result};
use tacet_node::accelerator::ALIVE;

const THREADS: usize = 4;
const STEPS: u32 = 200_000;
const COPIED_BYTES: usize = 4 << 20;
const PAUSE: Duration = Duration::from_millis(2);

/// Does all of it, once.
pub fn run() -> Result<()> {
    let handled = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&handled)).map_err(|io| wrong(&io))?;
    let sums = together().ok_or_else(|| wrong(&"a thread failed"))?;
    if sums.windows(2).any(|pair| pair.first() != pair.last()) {
        return Err(wrong(&"threads computed different sums"));
    }
    let bytes: Vec<u8> = (0..COPIED_BYTES).map(|place| ((place * 31) >> 3) as u8).collect();
    if bytes.clone() != bytes {
        return Err(wrong(&"a copy differs"));
    }
    raise(Signal::SIGUSR1).map_err(|errno| wrong(&errno))?;
    if !handled.load(Ordering::SeqCst) {
        return Err(wrong(&"a signal was not handled"));
    }
    let before = Instant::now();
    thread::sleep(PAUSE);
    if before.elapsed() < PAUSE {
        return Err(wrong(&"a sleep was too short"));
    }
    io::stdout().write_all(ALIVE.as_bytes()).map_err(|io| wrong(&io))
}

/// The bits of the same sum, computed by threads that run beside each other and wait for each other.
fn together() -> Option<Vec<u64>> {
    let (barrier, (sender, sums)) = (Arc::new(Barrier::new(THREADS)), mpsc::channel());
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (barrier, sender) = (Arc::clone(&barrier), sender.clone());
            thread::spawn(move || {
                barrier.wait();
                let sum: f64 = (1..=STEPS).map(|step| 1.0 / f64::from(step).sqrt()).sum();
                raise(Signal::SIGUSR1).ok();
                barrier.wait();
                sender.send(sum.to_bits()).ok();
            })
        })
        .collect();
    drop(sender);
    threads.into_iter().map(thread::JoinHandle::join).collect::<thread::Result<Vec<()>>>().ok()?;
    let sums: Vec<u64> = sums.iter().collect();
    (sums.len() == THREADS).then_some(sums)
}

fn wrong(cause: &dyn std::fmt::Display) -> Error {
    Error::new("trial", cause, "")
}
