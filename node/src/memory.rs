// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts the pages that the kernel uses without naming their class.
//!
//! It reads `/proc/zoneinfo` after the per-CPU counts were folded in: the managed pages, less those that are free (also in
//! per-CPU lists), cached, anonymous, slab, page tables and stacks. A partition's blocks are such pages, so a block that
//! is not given back is visible here, whatever caches and programs do meanwhile.

/// The classes that name a page's use.
const NAMED: [&str; 8] = [
    "nr_inactive_anon",
    "nr_active_anon",
    "nr_inactive_file",
    "nr_active_file",
    "nr_unevictable",
    "nr_slab_reclaimable",
    "nr_slab_unreclaimable",
    "nr_page_table_pages",
];

/// The number of unnamed pages, or what is missing in the text.
pub fn unnamed_pages(zoneinfo: &str) -> Result<i64, String> {
    let (mut managed, mut named) = (0, 0);
    for line in zoneinfo.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next().and_then(|word| word.parse::<i64>().ok())) else {
            continue;
        };
        match name {
            "managed" => managed += value,
            "nr_free_pages" | "count:" => named += value,
            // in KiB
            "nr_kernel_stack" => named += value / 4,
            _ if NAMED.contains(&name) => named += value,
            _ => (),
        }
    }
    if managed == 0 || named == 0 { Err("/proc/zoneinfo is not as expected".into()) } else { Ok(managed - named) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Node 0, zone    DMA32
  per-node stats
      nr_inactive_anon 10
      nr_slab_reclaimable 20
      nr_kernel_stack 400
  pages free     70
        managed  1000
      nr_free_pages 70
  pagesets
    cpu: 0
              count: 30
              high:  300
";

    #[test]
    fn counts_what_is_left_over() {
        assert_eq!(unnamed_pages(TEXT), Ok(1000 - 10 - 20 - 100 - 70 - 30));
        assert!(unnamed_pages("").is_err());
    }
}
