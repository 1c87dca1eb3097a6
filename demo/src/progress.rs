// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints one line for each step, with its number and, at its end, its time: plain text, so that a log can keep it.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Instant;

/// Counts the steps.
pub struct Progress {
    done: usize,
    all: usize,
}

impl Progress {
    pub fn new(all: usize) -> Progress {
        Progress { done: 0, all }
    }

    /// Does one step. Prints its error and returns it.
    pub fn step<T, E: Display>(&mut self, name: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.done += 1;
        print!("[{:>2}/{}] {name:<76} ", self.done, self.all);
        io::stdout().flush().ok();
        let started = Instant::now();
        let result = work();
        let seconds = started.elapsed().as_secs_f32();
        match &result {
            Ok(_) => println!("{seconds:>6.1} s"),
            Err(error) => println!("{seconds:>6.1} s\n        {error}"),
        }
        result
    }
}
