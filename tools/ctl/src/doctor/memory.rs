// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of memory: how much is available in large blocks, and what limits it.
//!
//! Called by `examine`. The figures are estimates: Linux moves pages out of the way on request, and may fail.

use super::Check;
use crate::size::LARGE_PAGE;
use crate::{Machine, format_bytes};

const ENOUGH: u64 = 64 << 20;
const PAGE: u64 = 4096;

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    vec![contiguous(machine), reserved(machine), transparent(machine)]
}

fn contiguous(machine: &Machine) -> Check {
    const NAME: &str = "memory";
    let free = machine.text("proc/buddyinfo").map(|text| large_blocks(&text)).unwrap_or_default();
    let available = meminfo(machine, "MemAvailable");
    let finding = format!(
        "{} free in blocks of 2 MiB and more, {} available if Linux moves pages",
        mebibytes(free),
        mebibytes(available)
    );
    if free >= ENOUGH {
        Check::ok(NAME, finding)
    } else if available >= ENOUGH {
        Check::warning(NAME, finding, "`sysctl vm.compact_memory=1` makes more blocks; take memory soon after boot")
    } else {
        Check::problem(NAME, finding, "free memory, or use a machine with more")
    }
}

/// Free bytes in blocks of at least 2 MiB, in the zones from which a partition can get memory.
pub(super) fn large_blocks(buddyinfo: &str) -> u64 {
    let unusable = |line: &&str| line.contains("zone      DMA ") || line.contains("zone  Movable ");
    let zones = buddyinfo.lines().filter(|line| !unusable(line));
    zones.map(zone_large_blocks).sum()
}

/// `Node 0, zone   Normal   12 4 …`: one column for each order, from one page.
fn zone_large_blocks(line: &str) -> u64 {
    let counts = line.split_whitespace().skip(4);
    let bytes = counts.enumerate().map(|(order, count)| (PAGE << order, count.parse().unwrap_or(0)));
    bytes.filter(|(block, _)| *block >= LARGE_PAGE).map(|(block, count): (u64, u64)| block * count).sum()
}

/// A field of `/proc/meminfo`, in bytes.
fn meminfo(machine: &Machine, field: &str) -> u64 {
    let text = machine.text("proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// A partition cannot get pages of the hugetlb pool.
fn reserved(machine: &Machine) -> Check {
    const NAME: &str = "hugepages";
    let (pool, total) = (meminfo(machine, "Hugetlb"), meminfo(machine, "MemTotal"));
    if pool > total / 2 {
        let finding = format!("the hugetlb pool holds {} of {}", mebibytes(pool), mebibytes(total));
        return Check::warning(NAME, finding, "shrink it (vm.nr_hugepages): a partition cannot take from it");
    }
    Check::ok(NAME, format!("the hugetlb pool holds {}", mebibytes(pool)))
}

fn transparent(machine: &Machine) -> Check {
    const NAME: &str = "transparent-hugepages";
    match machine.text("sys/kernel/mm/transparent_hugepage/enabled") {
        Some(text) if !text.contains("[never]") => Check::ok(NAME, "on: hosted programs get large pages"),
        _ => Check::warning(
            NAME,
            "off: hosted programs get small pages, with more misses of address translation",
            "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`, or `always`",
        ),
    }
}

fn mebibytes(bytes: u64) -> String {
    format_bytes(bytes >> 20 << 20)
}
