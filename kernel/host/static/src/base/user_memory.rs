// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies between the kernel and a process's memory. Each page is found in the process's page tables, so a program can
//! name no other memory than its own, and what it may not touch fails as it would for the program.

use super::process::Process;
use crate::machine::Ram;
use tacet_logic::paging::Protection;

/// A process's memory.
#[derive(Clone, Copy)]
pub struct UserMemory<'a> {
    pub process: &'a Process,
    pub ram: Ram,
}

/// Part of a request that lies in one page.
struct Part {
    physical: u64,
    bytes: usize,
}

impl UserMemory<'_> {
    /// Copies in. `None`: some of it is not readable; what could be read before that is in `to`.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        let (mut address, mut rest) = (address, to);
        while !rest.is_empty() {
            let part = self.part(address, rest.len(), |rights| rights.read)?;
            let (now, later) = rest.split_at_mut_checked(part.bytes)?;
            self.ram.read(part.physical, now)?;
            (address, rest) = (address + now.len() as u64, later);
        }
        Some(())
    }

    /// Copies out. `None`: some of it is not writable; what could be written before that is.
    pub fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        let (mut address, mut rest) = (address, from);
        while !rest.is_empty() {
            let part = self.part(address, rest.len(), |rights| rights.write)?;
            let (now, later) = rest.split_at_checked(part.bytes)?;
            self.ram.write(part.physical, now)?;
            (address, rest) = (address + now.len() as u64, later);
        }
        Some(())
    }

    /// Copies out, whatever the program may do there.
    pub fn fill(&self, address: u64, from: &[u8]) -> Option<()> {
        let (mut address, mut rest) = (address, from);
        while !rest.is_empty() {
            let part = self.part(address, rest.len(), |_| true)?;
            let (now, later) = rest.split_at_checked(part.bytes)?;
            self.ram.write(part.physical, now)?;
            (address, rest) = (address + now.len() as u64, later);
        }
        Some(())
    }

    /// Whether the program may write all of it.
    pub fn may_write(&self, address: u64, bytes: u64) -> bool {
        let (mut address, mut left) = (address, bytes);
        while left > 0 {
            match self.process.find(address) {
                Some((_, here, rights)) if rights.write => {
                    let now = here.min(left);
                    (address, left) = (address.wrapping_add(now), left - now);
                }
                _ => return false,
            }
        }
        true
    }

    /// Up to the first NUL, which is not counted; at most `to` is filled. `None`: not readable, or longer.
    pub fn read_text(&self, address: u64, to: &mut [u8]) -> Option<usize> {
        let (mut address, mut used) = (address, 0);
        loop {
            let rest = to.get_mut(used..).filter(|rest| !rest.is_empty())?;
            let part = self.part(address, rest.len(), |rights| rights.read)?;
            let now = rest.get_mut(..part.bytes)?;
            self.ram.read(part.physical, now)?;
            if let Some(end) = now.iter().position(|&byte| byte == 0) {
                return Some(used + end);
            }
            (address, used) = (address + part.bytes as u64, used + part.bytes);
        }
    }

    pub fn read_u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }

    pub fn read_u32(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Some(u32::from_le_bytes(bytes))
    }

    pub fn write_u64(&self, address: u64, value: u64) -> Option<()> {
        self.write(address, &value.to_le_bytes())
    }

    pub fn write_u32(&self, address: u64, value: u32) -> Option<()> {
        self.write(address, &value.to_le_bytes())
    }

    /// Fills with zeros, whatever the program may do there.
    pub fn zero(&self, address: u64, bytes: u64) -> Option<()> {
        let (mut address, mut left) = (address, bytes);
        while left > 0 {
            let (physical, here, _) = self.process.find(address)?;
            let now = here.min(left);
            self.ram.zero(physical, now)?;
            (address, left) = (address + now, left - now);
        }
        Some(())
    }

    /// Copies within the process's memory, whatever the program may do there. The two do not overlap.
    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Option<()> {
        let mut done = 0;
        while done < bytes {
            let (source, readable, _) = self.process.find(from + done)?;
            let (target, writable, _) = self.process.find(to + done)?;
            let now = readable.min(writable).min(bytes - done);
            self.ram.copy(source, target, now)?;
            done += now;
        }
        Some(())
    }

    fn part(&self, address: u64, bytes: usize, may: impl Fn(Protection) -> bool) -> Option<Part> {
        let (physical, here, rights) = self.process.find(address)?;
        let bytes = usize::try_from(here).map_or(bytes, |here| here.min(bytes));
        may(rights).then_some(Part { physical, bytes })
    }
}
