// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A time limit for what an emulator does, which a busy host does not use up.
//!
//! While the emulator's threads could run and had no CPU of the host, the limit does not come nearer. So a limit that
//! is meant for an idle host says the same on a busy one: a node that does nothing, or the wrong thing, meets it.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// At most so many times the limit is added, so that a host without any CPU to spare does not wait for ever.
const AT_MOST: u32 = 4;

/// Counted from where this is made.
pub(crate) struct Patience {
    emulator: u32,
    limit: Duration,
    started: Instant,
    /// How long each thread had waited by then.
    before: HashMap<String, Duration>,
}

impl Patience {
    /// `emulator` is a process of this host.
    pub fn new(emulator: u32, limit: Duration) -> Patience {
        Patience { emulator, limit, started: Instant::now(), before: waits(emulator) }
    }

    /// So much later the limit comes.
    pub fn extend(&mut self, more: Duration) {
        self.limit += more;
    }

    /// How long to wait before asking again; zero once the limit is reached.
    pub fn left(&self) -> Duration {
        let elapsed = self.started.elapsed();
        match self.limit.saturating_sub(elapsed) {
            Duration::ZERO => left_with(self.limit, self.waited(), elapsed),
            left => left,
        }
    }

    /// How long the thread that waited longest has waited for a CPU: together they would count one moment twice.
    fn waited(&self) -> Duration {
        let since = |(thread, wait): (String, Duration)| {
            wait.saturating_sub(self.before.get(&thread).copied().unwrap_or_default())
        };
        waits(self.emulator).into_iter().map(since).max().unwrap_or_default()
    }
}

fn left_with(limit: Duration, waited: Duration, elapsed: Duration) -> Duration {
    (limit + waited.min(limit * AT_MOST)).saturating_sub(elapsed)
}

/// How long each thread of the process has waited on a run queue. A host that does not say so, or a process that is
/// gone, has no waits.
fn waits(process: u32) -> HashMap<String, Duration> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return HashMap::new() };
    let wait = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        Some((thread.file_name().to_string_lossy().into_owned(), wait_of(&text)?))
    };
    threads.flatten().filter_map(wait).collect()
}

/// The second field of `schedstat` (Linux, Documentation/scheduler/sched-stats.rst), in nanoseconds.
fn wait_of(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_are_the_second_field() {
        assert_eq!(wait_of("10 1500000000 7\n"), Some(Duration::from_millis(1500)));
        assert_eq!(wait_of(""), None);
    }

    #[test]
    fn what_the_emulator_waits_is_added_up_to_a_point() {
        let left = |waited, elapsed| left_with(SECOND * 10, SECOND * waited, SECOND * elapsed).as_secs();
        assert_eq!([left(0, 9), left(0, 10), left(3, 11), left(3, 13)], [1, 0, 2, 0]);
        assert_eq!([left(1000, 49), left(1000, 50)], [1, 0]);
    }

    #[test]
    fn a_process_that_is_gone_has_the_plain_limit() {
        let mut patience = Patience::new(u32::MAX, SECOND);
        assert!(patience.before.is_empty() && waits(std::process::id()).len() > 1);
        patience.started -= SECOND * 2;
        assert_eq!(patience.left(), Duration::ZERO);
        patience.extend(SECOND * 3600);
        assert_ne!(patience.left(), Duration::ZERO);
    }
}
