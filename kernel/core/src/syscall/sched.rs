// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the thread runs, and whether others go first.

use super::call::Call;
use crate::base::escape::CallEnd;
use crate::host::{Affinity, Host, Thread};
use tacet_arch::UserState;

/// sched_yield(2). A thread that is alone on its CPU continues at once.
pub fn sched_yield<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    if call.uncontended { CallEnd::Done(0) } else { CallEnd::Yield(0) }
}

/// getcpu(2). The third argument has had no meaning since Linux 2.6.24.
// Otherwise the compiler makes it a function, because a call that continues is dispatched elsewhere (`crate::run`).
#[inline(always)]
pub fn getcpu<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [cpu, node, ..] = call.user.arguments();
    for (address, value) in [(cpu, call.cpu.host.cpu_number()), (node, call.cpu.host.node())] {
        if address != 0 && call.user_store(address, value).is_none() {
            return CallEnd::NOT_SERVED;
        }
    }
    CallEnd::Done(0)
}

/// sched_getaffinity(2) of the thread itself. The host looks up that of others.
pub fn sched_getaffinity<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [pid, bytes, address, ..] = call.user.arguments();
    let Affinity { cpus, bytes: most, least_bytes: least } = call.thread.affinity();
    let itself = pid as i32 == 0 || pid as i32 == call.thread.thread_id();
    // As Linux: an unsigned int, not below the number of CPUs, whole longs. Linux counts in bits, whose number overflows.
    let bytes = bytes as u32;
    if !itself || bytes.wrapping_mul(8) / 8 < least || !bytes.is_multiple_of(8) || most as usize > size_of_val(&cpus) {
        return CallEnd::NOT_SERVED;
    }
    let bytes = bytes.min(most);
    let halves = cpus.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
    for (index, half) in halves.take(bytes as usize / 4).enumerate() {
        if call.user_store(address.wrapping_add(4 * index as u64), half).is_none() {
            return CallEnd::NOT_SERVED;
        }
    }
    CallEnd::Done(bytes.into())
}
