// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A memory map as text: a table for people, lines for programs. Read by users and by messaging libraries, so the lines
//! of [`Map::text`] must never change their meaning.

use super::map::Map;
use super::segment::{Entries, bytes_of};
use crate::paging::Protection;
use core::fmt;

impl Map {
    /// One line for each segment of each process, and the TLB entries in all.
    pub fn table(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|out| {
            writeln!(
                out,
                "{:>7}  {:<13} {:>14} {:>14} {:>12}  {:<3} pages",
                "process", "part", "virtual", "physical", "KiB", ""
            )?;
            for process in 0..self.processes() {
                self.rows(process, out)?;
            }
            let least = (0..self.processes()).map(|process| self.entries(process));
            let most = least.max_by_key(Entries::all).unwrap_or_default();
            writeln!(out, "TLB entries of a process: at most {} ({most})", most.all())?;
            let all = self.all_entries();
            writeln!(out, "TLB entries of all processes: {} ({all})", all.all())?;
            writeln!(out, "unused: {} KiB", self.unused_bytes() / 1024)
        })
    }

    /// For each run of pages of a process: virtual and physical address (hexadecimal), bytes, bytes of a page, rights,
    /// name.
    pub fn text(&self, process: usize) -> impl fmt::Display + '_ {
        fmt::from_fn(move |out| {
            for segment in self.segments(process) {
                for run in segment.runs() {
                    let (from, to, page) = (run.virtual_address, run.physical_address, bytes_of(run.page));
                    let (rights, name) = (rights(segment.protection), segment.part.name());
                    writeln!(out, "{from:#x} {to:#x} {} {page} {rights} {name}", run.bytes)?;
                }
            }
            Ok(())
        })
    }

    fn rows(&self, process: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in self.segments(process) {
            let (part, from, to) = (segment.part, segment.virtual_address, segment.physical_address);
            let (kib, rights, entries) = (segment.bytes / 1024, rights(segment.protection), segment.entries());
            writeln!(out, "{process:>7}  {part:<13} {from:>14x} {to:>14x} {kib:>12}  {rights} {entries}")?;
        }
        Ok(())
    }
}

/// As in `/proc/self/maps`.
fn rights(protection: Protection) -> impl fmt::Display {
    fmt::from_fn(move |out| {
        let letter = |has: bool, letter: &'static str| if has { letter } else { "-" };
        let (read, write) = (letter(protection.read, "r"), letter(protection.write, "w"));
        write!(out, "{read}{write}{}", letter(protection.execute, "x"))
    })
}
