// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NUMA policies of the partition's memory (mbind(2), get_mempolicy(2)). The host keeps a thread's own policy and
//! tells it with the thread.
//!
//! Pages go where a policy wants them when it is set, also without `MPOL_MF_MOVE`: they are there before anybody has
//! touched them. What a policy wants and the partition does not have is the host's to give.

use super::call::Call;
use super::memory::serve;
use crate::base::escape::CallEnd;
use crate::host::{Host, Thread};
use crate::memory::range::{Extent, Range, Refusal, Result};
use tacet_arch::UserState;
use tacet_logic::frames::{BIND, DEFAULT, INTERLEAVE, LOCAL, PREFERRED, PREFERRED_MANY, Policy, WEIGHTED_INTERLEAVE};

/// include/uapi/linux/mempolicy.h
const MODE_FLAGS: u32 = 0xe000;
const STATIC_NODES: u32 = 1 << 15;
const STRICT: u64 = 1;
const MOVE_ALL: u64 = 4;
const MOVE_FLAGS: u64 = 7;
const OF_ADDRESS: u64 = 2;

/// How many nodes a call may name.
const MOST_NODES: u64 = 1024;

pub fn mbind<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [address, bytes, mode, mask, bits, flags] = call.user.arguments();
    serve(call, |range| {
        let span = match range.extent(address, bytes) {
            Extent::Inside(span) => span,
            Extent::Outside => return Err(Refusal::Elsewhere),
            Extent::Across => return Err(Refusal::Beyond),
        };
        let nodes = read_nodes(call, range, mask, bits).ok_or(Refusal::Beyond)?;
        let policy = wanted(call, range, mode, nodes, flags)?;
        range.bind(span, policy, flags & STRICT != 0)
    })
}

pub fn get_mempolicy<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [mode, mask, bits, address, flags, _] = call.user.arguments();
    serve(call, |range| {
        let Extent::Inside(page) = range.extent(address & !4095, 1) else { return Err(Refusal::Elsewhere) };
        let short = mask != 0 && (bits < range.node_ids().into() || bits > MOST_NODES + 1);
        if flags != OF_ADDRESS || short {
            return Err(Refusal::Elsewhere);
        }
        // If the page has no policy of its own, the host's mapping there has one.
        let policy = range.policy(page)?;
        if policy == Policy::default() {
            return Err(Refusal::Elsewhere);
        }
        let stored = mode == 0 || call.user_store(mode, policy.mode).is_some();
        let stored = stored && (mask == 0 || write_nodes(call, mask, bits, policy.nodes));
        if stored { Ok(0) } else { Err(Refusal::Beyond) }
    })
}

/// The policy that a call asks for. An error is the host's to report. If the partition cannot follow the policy, the
/// host gets the range too.
fn wanted<H: Host>(call: &Call<'_, '_, H>, range: &Range<'_, H>, mode: u64, nodes: u32, how: u64) -> Result<Policy> {
    let mode = mode as u32;
    let (plain, flags) = (mode & !MODE_FLAGS, mode & MODE_FLAGS);
    // As Linux: nodes that the thread may not have are ignored, unless there are no others.
    let (_, allowed) = call.thread.policy();
    let (effective, ours) = (nodes & allowed, nodes & allowed & range.nodes());
    let nameless = matches!(plain, DEFAULT | LOCAL);
    let optional = nameless || plain == PREFERRED;
    if plain > WEIGHTED_INTERLEAVE || how & !MOVE_FLAGS != 0 || nameless && nodes != 0 || !optional && effective == 0 {
        return Err(Refusal::Elsewhere);
    }
    let first = effective & effective.wrapping_neg();
    let (mode, nodes) = match plain {
        _ if flags & !STATIC_NODES != 0 || how & MOVE_ALL != 0 => return Err(Refusal::Beyond),
        DEFAULT => (DEFAULT, 0),
        LOCAL => (LOCAL, 0),
        PREFERRED if nodes == 0 => (LOCAL, 0),
        PREFERRED if first & ours != 0 => (PREFERRED, first),
        BIND | PREFERRED_MANY if ours != 0 => (plain, effective),
        INTERLEAVE if ours == effective => (plain, effective),
        _ => return Err(Refusal::Beyond),
    };
    if nodes == 0 && flags != 0 {
        return Err(Refusal::Elsewhere);
    }
    Ok(Policy { mode: mode | flags, nodes })
}

/// The nodes that a call names in `bits - 1` bits at `mask`. As on Linux, bits of no node are ignored.
fn read_nodes<H: Host>(call: &Call<'_, '_, H>, range: &Range<'_, H>, mask: u64, bits: u64) -> Option<u32> {
    let bits = bits.wrapping_sub(1);
    if mask == 0 || bits == 0 {
        return Some(0);
    }
    if bits > MOST_NODES {
        return None;
    }
    let mut nodes = 0;
    for word in 0..bits.div_ceil(32) {
        let within = bits - 32 * word;
        let part = call.user_load(mask.wrapping_add(4 * word))? & if within < 32 { (1 << within) - 1 } else { !0 };
        match word {
            0 => nodes = part,
            _ if part != 0 && range.node_ids() > u32::BITS => return None,
            _ => {}
        }
    }
    Some(nodes)
}

/// As Linux: whole longs, as many as `bits - 1` bits need. False: they cannot be written.
fn write_nodes<H: Host>(call: &Call<'_, '_, H>, mask: u64, bits: u64, nodes: u32) -> bool {
    let halves = 2 * (bits.wrapping_sub(1)).div_ceil(64);
    (0..halves).all(|half| {
        let value = if half == 0 { nodes } else { 0 };
        call.user_store(mask.wrapping_add(4 * half), value).is_some()
    })
}
