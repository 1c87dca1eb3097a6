// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The time without progress after which the other end is asked. It grows from question to question, and is short again
//! after progress: a long message over a slow link is no reason to wait long when a packet of it is lost.

const FIRST_NS: u64 = 20_000_000;
const LONGEST_NS: u64 = 640_000_000;
/// After so many questions in a row without any sign the other end is lost: about half a minute. On a host with thirty times as
/// much to do as it has CPUs, proxies did nothing for fourteen seconds.
pub const QUESTIONS: u32 = 50;

#[derive(Debug, Clone, Copy)]
pub struct Patience {
    since: u64,
    ns: u64,
}

impl Patience {
    /// `now`: by the processor's counter.
    pub fn new(now: u64) -> Self {
        Self { since: now, ns: FIRST_NS }
    }

    /// Whether it is time to ask. `ticks` says how much the counter counts in so many nanoseconds.
    pub fn is_over(&mut self, now: u64, ticks: impl FnOnce(u64) -> u64) -> bool {
        let over = now.wrapping_sub(self.since) > ticks(self.ns);
        if over {
            *self = Self { since: now, ns: (2 * self.ns).min(LONGEST_NS) };
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_from_question_to_question_and_begins_anew() {
        let mut patience = Patience::new(5);
        let mut now = 5;
        for ns in [20, 40, 80, 160, 320, 640, 640].map(|ms| ms * 1_000_000) {
            assert!(!patience.is_over(now + 2 * ns, |ns| 2 * ns), "{ns}");
            now += 2 * ns + 1;
            assert!(patience.is_over(now, |ns| 2 * ns), "{ns}");
        }
        patience = Patience::new(now);
        assert!(patience.is_over(now + FIRST_NS + 1, |ns| ns));
    }
}
