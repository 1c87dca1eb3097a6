// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RAM, and the page tables of programs: those of the real machine, in tables that are made up.

use super::world::{State, World};
use tacet_arch::x86_64::machine::directory::{Directory, Mapping, Pages, Refused, Segment, Stretch, user_range};
use tacet_arch::x86_64::machine::memory::Range;
use tacet_arch::x86_64::paging::Entries;
use tacet_logic::paging::{Attributes, Encoding, Entry, Leaf, Protection};

/// Where RAM begins.
pub(super) const RAM_BASE: u64 = 0x10_0000;

#[derive(Clone, Copy)]
pub struct Ram {
    ranges: &'static [Range],
}

impl Ram {
    pub(super) fn new(ranges: &'static [Range]) -> Self {
        Self { ranges }
    }

    pub fn ranges(&self) -> &'static [Range] {
        self.ranges
    }

    pub fn has(&self, at: u64, bytes: u64) -> bool {
        self.ranges.iter().any(|range| at >= range.base && at + bytes <= range.base + range.bytes)
    }

    fn with<T>(&self, at: u64, bytes: u64, work: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
        if !self.has(at, bytes) {
            return None;
        }
        let (world, _) = World::mine();
        let mut state = world.lock();
        Some(work(&mut state.ram[(at - RAM_BASE) as usize..][..bytes as usize]))
    }

    pub fn zero(&self, at: u64, bytes: u64) -> Option<()> {
        self.with(at, bytes, |ram| ram.fill(0))?;
        let (world, cpu) = World::mine();
        world.lock().cpus[cpu].zeroed += bytes;
        Some(())
    }

    pub fn read(&self, at: u64, to: &mut [u8]) -> Option<()> {
        self.with(at, to.len() as u64, |ram| to.copy_from_slice(ram))
    }

    pub fn write(&self, at: u64, from: &[u8]) -> Option<()> {
        self.with(at, from.len() as u64, |ram| ram.copy_from_slice(from))
    }

    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Option<()> {
        let copied = self.with(from, bytes, |ram| ram.to_vec())?;
        self.write(to, &copied)
    }

    pub fn load(&self, at: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read(at, &mut bytes)?;
        Some(u32::from_le_bytes(bytes))
    }

    pub fn compare_exchange(&self, at: u64, current: u32, new: u32) -> Option<Result<u32, u32>> {
        self.with(at, 4, |ram| {
            let found = u32::from_le_bytes(ram.try_into().expect("four bytes"));
            if found == current {
                ram.copy_from_slice(&new.to_le_bytes());
                Ok(found)
            } else {
                Err(found)
            }
        })
    }
}

#[derive(Clone, Copy)]
pub struct Tables;

impl Tables {
    pub(super) fn new(pages: u32) -> Self {
        World::mine().0.lock().free_tables = pages;
        Self
    }
}

/// The tables while the world is locked.
pub(super) struct Locked<'a>(pub &'a mut State);

impl Pages for Locked<'_> {
    fn load(&self, table: u64, index: usize) -> u64 {
        self.0.tables[&table][index]
    }

    fn store(&mut self, table: u64, index: usize, entry: u64) {
        self.0.tables.get_mut(&table).expect("a table")[index] = entry;
    }

    fn allocate(&mut self) -> Option<u64> {
        self.0.free_tables = self.0.free_tables.checked_sub(1)?;
        let table = self.0.next_table;
        self.0.next_table += 4096;
        self.0.tables.insert(table, Box::new([0; 512]));
        Some(table)
    }

    fn free(&mut self, table: u64) {
        assert!(self.0.tables.remove(&table).is_some(), "a table is freed twice");
        self.0.free_tables += 1;
    }
}

/// Where `address` is in the address space `root`.
pub(super) fn find(state: &mut State, root: u64, address: u64) -> Option<(u64, u64, Protection)> {
    if !state.tables.contains_key(&root) {
        return None;
    }
    Directory { root, pages: &mut Locked(state) }.find(address)
}

pub struct Space {
    root: u64,
}

impl Space {
    pub fn new(_: Tables, ram: Ram, segments: impl IntoIterator<Item = Segment>) -> Result<Self, Refused> {
        let (world, _) = World::mine();
        let root = Locked(&mut world.lock()).allocate().ok_or(Refused::NoTable)?;
        let mut space = Self { root };
        for segment in segments {
            if let Err(refused) = space.map(ram, segment) {
                space.end();
                return Err(refused);
            }
        }
        Ok(space)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Directory<'_, Locked<'_>>) -> T) -> T {
        let (world, _) = World::mine();
        let mut state = world.lock();
        work(&mut Directory { root: self.root, pages: &mut Locked(&mut state) })
    }

    pub fn map(&mut self, ram: Ram, segment: Segment) -> Result<(), Refused> {
        let Segment { address, physical, bytes, page, rights } = segment;
        user_range(address, bytes)?;
        if !ram.has(physical, bytes) {
            return Err(Refused::NotRam(physical));
        }
        let attributes = Attributes { protection: rights, policy: 0, eager: true, small: false, undumped: false };
        let leaf = |at: u64, size| {
            Entries::encode(Entry::Leaf(Leaf { frame: at >> 12, attributes, mirrored: false, pending: false }), size)
        };
        self.with(|directory| directory.map(Mapping { address, physical, bytes, largest: page }, leaf))
    }

    pub fn root(&self) -> u64 {
        self.root
    }

    pub fn protect(&mut self, address: u64, bytes: u64, rights: Protection) -> Result<(), Refused> {
        self.with(|directory| directory.protect(address, bytes, rights))
    }

    pub fn find(&self, address: u64) -> Option<(u64, u64, Protection)> {
        self.with(|directory| directory.find(address))
    }

    pub fn stretch(&self, address: u64, end: u64) -> Stretch {
        self.with(|directory| directory.stretch(address, end))
    }

    pub fn unmap(&mut self, address: u64, bytes: u64) -> Result<(), Refused> {
        self.with(|directory| directory.unmap(address, bytes))
    }

    pub fn end(self) {
        self.with(|directory| directory.end());
    }
}
