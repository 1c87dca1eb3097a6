// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many there may be of what.

/// Threads are numbered below this.
pub const THREADS: usize = 2048;

/// CPUs are numbered below this.
pub const CPUS: usize = 1024;

/// Threads of a CPU: as many as a host can take back at once.
pub const QUEUE: usize = 256;
