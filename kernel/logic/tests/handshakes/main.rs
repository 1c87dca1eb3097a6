// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every interleaving of the two sides of each protocol between cores, and between Linux and a core.
//!
//! What is Rust on a core is the real code, over `loom`'s atomics. What is C in `linux/` or assembly in the entry code
//! is modelled here, access by access, and says what it is a model of. Nothing here waits in a loop: a thread that
//! would wait ends instead, and the test looks at the end whether what it waits for is on its way.
//!
//! Each protocol is also tried with something taken away, and must then be found to fail. That matters: `loom` leaves
//! out orders in which it sees no conflict, and it remembers but the last access to each atomic. A model in which one
//! thread reads an atomic right before it writes it hides from `loom` that another has read it before.

mod atomics;
mod counters;
mod doorbell;
mod flush;
mod home;
mod idle;
mod looks;
mod mask;
mod slot;
mod woken;

/// Runs `model` in every order of its threads' steps, but for those with more than so many preemptions: what has more
/// than two threads has too many.
fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}
