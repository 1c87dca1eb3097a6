// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Room for a job's descriptors: `run` has some for each rank until the job is over.
//!
//! Called before anything of the job begins. The proxies get the caller's soft limit back, since their programs see it.

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

use crate::error::{Error, Result};

/// Of a rank: its proxy's socket and stream.
const OF_A_RANK: u64 = 2;
/// Of all: to daemons, for signals, and of a proxy while it begins.
const OF_ALL: u64 = 16;

/// The soft limit is raised as far as the job needs, until this is dropped.
#[derive(Debug)]
pub struct Room {
    /// The caller's.
    pub soft_limit: rlim_t,
}

impl Room {
    pub fn make(ranks: u64) -> Result<Self> {
        check(ranks)?;
        let (soft_limit, hard) = limits()?;
        if soft_limit < needed(ranks) {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_err(failed)?;
        }
        Ok(Self { soft_limit })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = set_soft_limit(self.soft_limit);
    }
}

/// Refuses a job whose proxies this process cannot have, in one line.
pub fn check(ranks: u64) -> Result<()> {
    let (needed, (_, hard)) = (needed(ranks), limits()?);
    if needed <= hard {
        return Ok(());
    }
    let cause = format!("`run` needs {needed} descriptors, and may have {hard}");
    Err(Error::new(format!("{ranks} ranks"), cause, "raise the hard limit (`ulimit -Hn`), or use fewer ranks"))
}

/// Leaves the hard limit as it is.
pub fn set_soft_limit(limit: rlim_t) -> Result<()> {
    let (soft, hard) = limits()?;
    if soft == limit { Ok(()) } else { setrlimit(Resource::RLIMIT_NOFILE, limit, hard).map_err(failed) }
}

fn needed(ranks: u64) -> u64 {
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |all| all.count() as u64);
    ranks.saturating_mul(OF_A_RANK).saturating_add(open + OF_ALL)
}

fn limits() -> Result<(rlim_t, rlim_t)> {
    getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)
}

fn failed(errno: nix::errno::Errno) -> Error {
    Error::new("limit of descriptors", errno, "the kernel must tell and set it")
}
