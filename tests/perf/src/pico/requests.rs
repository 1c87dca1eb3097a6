// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that the disk gets for a MiB, by Linux and by a core. Called by the bench `pico`, once for each limit of the
//! disk.
//!
//! A command is bounded by the disk (MDTS), by Linux's settings of the disk and its driver's number of segments, and at
//! a core by one page of addresses. Linux's memory is in as many pieces as the node happens to have, but for the rows
//! that have its pages apart.

use crate::Result;
use crate::guest::Guest;
use crate::metric::Metrics;

use super::reads::{DEVICE, Way, read, up};

/// Suffix, bytes of a read, reads, on Linux and on a core, the buffer.
const ROWS: [(&str, u64, usize, [Way; 2], &str); 4] = [
    ("", 1 << 20, 30, [Way::Native, Way::FastPath], "a plain buffer"),
    ("_2m", 2 << 20, 15, [Way::Native, Way::FastPath], "a plain buffer"),
    ("_scattered", 1 << 20, 30, [Way::NativeScattered, Way::FastScattered], "a buffer whose pages Linux has apart"),
    ("_2m_scattered", 2 << 20, 15, [Way::NativeScattered, Way::FastScattered], "a buffer whose pages Linux has apart"),
];

/// Adds the figures; `suffix` and `limit` tell the disk's own limit.
pub fn measure(guest: &Guest, metrics: &mut Metrics, suffix: &str, limit: &str) -> Result<()> {
    let bounds = bounds(guest)?;
    let all = |host: usize| -> Result<Vec<f64>> {
        let of = |(_, bytes, calls, ways, _): &(_, u64, usize, [Way; 2], _)| {
            Ok(read(guest, ways[host], *bytes, *calls, 1, false)?.requests_per_mib)
        };
        ROWS.iter().map(of).collect()
    };
    let native = all(0)?;
    up(guest)?;
    let fast = all(1)?;
    guest.down()?;
    for (index, (row, bytes, calls, _, buffer)) in ROWS.iter().enumerate() {
        let how = format!(
            "commands for a MiB, by {calls} reads of {bytes} bytes into {buffer}, the disk takes {limit}; baseline: \
             Linux's requests for pread, {bounds}"
        );
        let name = format!("pico_requests_per_mib{suffix}{row}");
        metrics.add(&name, fast[index], "requests", Some(native[index]), &how);
    }
    Ok(())
}

/// The bounds of Linux's requests.
fn bounds(guest: &Guest) -> Result<String> {
    let name = DEVICE.trim_start_matches("/dev/");
    let said = guest.shell(&format!(
        "cd /sys/block/{name}/queue; echo \"max_sectors_kb $(cat max_sectors_kb) of $(cat max_hw_sectors_kb), \
         max_segments $(cat max_segments), huge pages $(cat /sys/kernel/mm/transparent_hugepage/enabled)\""
    ))?;
    Ok(said.trim().to_owned())
}
