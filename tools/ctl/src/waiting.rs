// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waits until the partition has no programs of another user, and hosts then.
//!
//! Called by `tacet run --wait` before the program begins. It changes nothing while it waits, so Ctrl-C just ends it. It
//! never prints: the caller says once for whom it waits.

use std::time::Duration;

use crate::{Error, Result};

/// Between two attempts: the end of a program takes some milliseconds, and nobody computes meanwhile.
const PAUSE: Duration = Duration::from_millis(200);

/// Attempts until it is not refused for another user's programs any more, at most for `limit`. `attempt` returns the
/// refusal; `pause` sleeps; `tell` is called once, after the first refusal.
pub fn until_free(
    limit: Option<Duration>,
    mut attempt: impl FnMut() -> Result<Option<Error>>,
    mut pause: impl FnMut(Duration),
    mut tell: impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut waited = Duration::ZERO;
    while let Some(refusal) = attempt()? {
        if waited.is_zero() {
            tell()?;
        }
        let left = limit.map_or(PAUSE, |limit| limit.saturating_sub(waited));
        if left.is_zero() {
            return Err(refusal);
        }
        pause(PAUSE.min(left));
        waited += PAUSE.min(left);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happened: attempts, the time slept, how often it was told; and the result.
    fn waited(limit: Option<Duration>, busy: u32) -> (u32, Duration, u32, Result<()>) {
        let (mut attempts, mut slept, mut told) = (0, Duration::ZERO, 0);
        let result = until_free(
            limit,
            || {
                attempts += 1;
                Ok((attempts <= busy).then(|| Error::new("partition", "another user's programs are there", "")))
            },
            |pause| slept += pause,
            || {
                told += 1;
                Ok(())
            },
        );
        (attempts, slept, told, result)
    }

    #[test]
    fn a_free_partition_is_taken_at_once() {
        assert_eq!(waited(None, 0), (1, Duration::ZERO, 0, Ok(())));
        assert_eq!(waited(Some(Duration::ZERO), 0), (1, Duration::ZERO, 0, Ok(())));
    }

    #[test]
    fn it_tells_once_and_goes_on_when_they_have_ended() {
        assert_eq!(waited(None, 50), (51, 50 * PAUSE, 1, Ok(())));
        assert_eq!(waited(Some(Duration::from_secs(60)), 3), (4, 3 * PAUSE, 1, Ok(())));
    }

    /// The last attempt is at the limit; its refusal is the error.
    #[test]
    fn a_limit_ends_the_waiting() {
        let limit = Duration::from_millis(500);
        let (attempts, slept, told, result) = waited(Some(limit), u32::MAX);
        assert_eq!((attempts, slept, told), (4, limit, 1));
        assert_eq!(result.unwrap_err().to_string(), "partition: another user's programs are there");
        let (attempts, slept, told, result) = waited(Some(Duration::ZERO), u32::MAX);
        assert!((attempts, slept, told) == (1, Duration::ZERO, 1) && result.is_err());
    }

    #[test]
    fn another_refusal_is_not_waited_for() {
        let other = || Err(Error::new("partition", "none is up", ""));
        assert!(until_free(None, other, |_| panic!("it waits"), || panic!("it tells")).is_err());
    }
}
