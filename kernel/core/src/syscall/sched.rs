// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the thread runs, and whether others go first.

use super::Call;
use tacet_abi::TACET_CPU_WORDS;
use tacet_metal::Served;

/// sched_yield(2): alone on the core there is nobody to let go first.
pub fn sched_yield(call: &Call<'_>) -> Served {
    if call.alone { Served::Done(0) } else { Served::Yield(0) }
}

/// getcpu(2). The third argument has had no meaning since Linux 2.6.24.
pub fn getcpu(call: &Call<'_>) -> Served {
    let [cpu, node, ..] = call.context.arguments();
    for (address, value) in [(cpu, call.core.number()), (node, call.core.node())] {
        if address != 0 && call.core.user_store(address, value).is_none() {
            return Served::Forward;
        }
    }
    Served::Done(0)
}

/// sched_getaffinity(2) of the thread itself. Another's is Linux's to look up.
pub fn sched_getaffinity(call: &Call<'_>) -> Served {
    let [pid, bytes, address, ..] = call.context.arguments();
    let (cpus, most, least) = call.context.affinity();
    let itself = pid as i32 == 0 || pid as i32 == call.context.thread_id();
    // As Linux: an unsigned int, not below the number of CPUs, whole longs.
    let bytes = bytes as u32;
    if !itself || bytes < least || !bytes.is_multiple_of(8) || most as usize > 8 * TACET_CPU_WORDS as usize {
        return Served::Forward;
    }
    let bytes = bytes.min(most);
    let halves = cpus.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
    for (index, half) in halves.take(bytes as usize / 4).enumerate() {
        if call.core.user_store(address.wrapping_add(4 * index as u64), half).is_none() {
            return Served::Forward;
        }
    }
    Served::Done(bytes.into())
}
