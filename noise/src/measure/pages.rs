// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages for samples, populated before the measurement, so that storing a sample never causes a page fault.

use std::sync::atomic::AtomicU64;

use memmap2::{Advice, MmapMut, MmapOptions};

use super::sampling;
use crate::Result;

/// Stands where no loop has stored yet: neither a time, nor a count, nor a length.
pub const EMPTY: u64 = u64::MAX;

/// Size of the requested huge pages: 2 MiB.
const HUGE_BITS: u8 = 21;

/// Numbers in populated memory of their own.
pub struct Pages {
    map: MmapMut,
    count: usize,
    /// Whether they are huge pages from the kernel's pool.
    pub huge: bool,
}

impl Pages {
    /// Room for `count` numbers, all EMPTY, on the NUMA node of the calling thread.
    pub fn new(count: usize) -> Result<Pages> {
        let bytes = count.max(1).checked_mul(8).ok_or("too many samples")?;
        let huge_bytes = bytes.next_multiple_of(1 << HUGE_BITS);
        let pool = MmapOptions::new().len(huge_bytes).huge(Some(HUGE_BITS)).populate().map_anon();
        let (mut map, huge) = match pool {
            Ok(map) => (map, true),
            Err(_) => {
                let plain = MmapOptions::new().len(huge_bytes).map_anon();
                let map = plain.map_err(|error| format!("no memory for {count} samples: {error}"))?;
                // Uses transparent huge pages if the kernel has them.
                let _ = map.advise(Advice::HugePage);
                (map, false)
            }
        };
        map.fill(0xff);
        Ok(Pages { map, count, huge })
    }

    pub fn numbers(&self) -> &[AtomicU64] {
        &sampling::numbers(&self.map)[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn as_many_as_asked_for() {
        for count in [0, 1, 5, 1 << 18, (1 << 18) + 1] {
            let pages = Pages::new(count).expect("pages");
            assert_eq!(pages.numbers().len(), count);
            assert!(pages.numbers().iter().all(|number| number.load(Ordering::Relaxed) == EMPTY));
        }
        assert!(Pages::new(usize::MAX).is_err() && Pages::new(usize::MAX / 16).is_err());
    }
}
