// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The protocols between cores, and between Linux and a core, that have no lock: each side's order of accesses to words
//! that both know.
//!
//! - [`doorbell`]: a core is asked to look.
//! - [`idle`]: a core that has nothing to run is not rung while it looks anyway.
//! - [`home`]: a proxy is told that its thread is back in the way in which it waits.
//! - [`mask`]: a signal is not held back that a thread has opened on its core.
//! - [`flush`]: a core is asked to forget translations, and says that it has.
//! - [`counters`]: a futex wake-up finds waiting threads on the other side.
//! - [`slot`]: Linux asks one core for something, and may take that back until the core has begun.
//! - [`crate::woken`]: the list of threads that others have woken for a core.
//!
//! The words are the host's; the order is this module's. In all of them one side writes A and then looks at B, the
//! other writes B and then looks at A, and one of them at least must see what the other wrote. `tests/handshakes` tries
//! every interleaving, with the other side's code as a model where it is C or assembly.

pub mod counters;
pub mod doorbell;
pub mod flush;
pub mod home;
pub mod idle;
pub mod mask;
pub mod slot;
