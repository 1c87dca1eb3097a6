// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of the partition: real page tables, frames without content. No frame is handed out twice, so that every use of
//! one that was given back is noticed. A CPU pauses while it zeroes, and while it waits for a lock.

use crate::processor::Seat;
use crate::range::FakeRange;
use crate::tlb::Tlb;
use crate::world::{CpuState, SPACES, World};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use tacet_arch::x86_64::paging::Entries;
use tacet_core::memory::{BREAK_PAGES, Flushed, Leaving, PartitionMemory, RANGE_BYTES};
use tacet_logic::frames::Policy;
use tacet_logic::paging::{
    AddressSpace, Attributes, Encoding, Entry, Memory, PageSize, Placement, Protection, Reach, Retired, Span, Tables,
};
use tacet_logic::ranges::Arenas;

/// Where every process's range is.
pub const BASE: u64 = 0x4000_0000_0000;
/// Frames that there are.
const FRAMES: u64 = 24_000;
/// A CPU pauses at every so-manieth small frame that it zeroes.
const SMALL_STEPS: u64 = 64;

/// The memory that all CPUs and Linux share.
pub struct Store {
    tables: RefCell<HashMap<u64, Box<[u64; 512]>>>,
    /// Runs that are out, with their orders.
    out: RefCell<BTreeMap<u64, u8>>,
    /// Of these, those that nobody has zeroed.
    garbage: RefCell<BTreeSet<u64>>,
    next: Cell<u64>,
    left: Cell<u64>,
    /// Frames below this are not where policies want them.
    wanted_from: Cell<u64>,
    /// Small frames that were zeroed.
    pub zeroed: Cell<u64>,
    /// Pages come with the call that maps them.
    pub eager: Cell<bool>,
    pub ranges: [RangeState; SPACES],
    /// Frames that Linux uses.
    held: RefCell<BTreeSet<u64>>,
    /// Of these, those that no program has any more.
    left_held: RefCell<BTreeSet<u64>>,
    /// Bells that were rung for flushes.
    pub flush_bells: Cell<u32>,
    /// Entries that were looked at since somebody took locks last, and the most between that and letting them go.
    pub looks: Cell<u32>,
    pub most_looks: Cell<u32>,
}

#[derive(Default)]
pub struct RangeState {
    pub root: Cell<u64>,
    /// Of whoever has this number now.
    pub serial: Cell<u64>,
    /// Pieces, and which CPU has the lock.
    pub held: RefCell<BTreeMap<u32, usize>>,
    pub owners: RefCell<HashMap<u32, u16>>,
    pub program_break: Cell<u64>,
    /// Pages above those of the break that mappings get; 0: eight pieces.
    pub above_break: Cell<u32>,
}

impl Store {
    pub fn new() -> Self {
        let store = Self {
            tables: RefCell::default(),
            out: RefCell::default(),
            garbage: RefCell::default(),
            next: Cell::new(1 << 20),
            left: Cell::new(FRAMES),
            wanted_from: Cell::new(0),
            zeroed: Cell::new(0),
            eager: Cell::new(false),
            ranges: Default::default(),
            held: RefCell::default(),
            left_held: RefCell::default(),
            flush_bells: Cell::new(0),
            looks: Cell::new(0),
            most_looks: Cell::new(0),
        };
        for range in &store.ranges {
            range.root.set(store.new_table());
            range.program_break.set(BASE);
        }
        store
    }

    fn new_table(&self) -> u64 {
        let table = self.next.replace(self.next.get() + 1);
        self.tables.borrow_mut().insert(table, Box::new([0; 512]));
        table
    }

    /// All memory that is mapped now is at the wrong place.
    pub fn misplace_all(&self) {
        self.wanted_from.set(self.next.get());
    }

    /// Frames at the wrong place.
    pub fn misplaced(&self) -> u64 {
        self.out.borrow().range(..self.wanted_from.get()).map(|(_, order)| 1 << order).sum()
    }

    /// Frames that are out, and pages of a range that are mapped, with and without one.
    pub fn used(&self, space: usize) -> (u64, u64) {
        (FRAMES - self.left.get(), self.mapped(self.ranges[space].root.get(), PageSize::Gib1))
    }

    fn mapped(&self, table: u64, size: PageSize) -> u64 {
        let smaller = if size == PageSize::Gib1 { PageSize::Mib2 } else { PageSize::Kib4 };
        let mapped = |&raw| match Entries::decode(raw, size) {
            Entry::Table(next) => self.mapped(next, smaller),
            Entry::Absent => 0,
            _ => size.pages().into(),
        };
        self.tables.borrow()[&table].iter().map(mapped).sum()
    }

    /// Whether a program may touch a page without a fault, on a CPU that has cached nothing.
    pub fn is_there(&self, space: usize, address: u64) -> bool {
        self.touch(space, address, &Tlb::default())
    }

    /// Linux uses the frame behind a page of a process, if there is one, until [`clear`]: a pipe has it.
    pub fn hold(&self, space: usize, address: u64) {
        let tlb = Tlb::default();
        if self.touch(space, address, &tlb) {
            self.held.borrow_mut().extend(tlb.frame(address >> 12));
        }
    }

    /// Frames that a program gave back while Linux used them.
    pub fn left_to_linux(&self) -> usize {
        self.left_held.borrow().len()
    }

    fn is_held(&self, frame: u64, order: u8) -> bool {
        self.held.borrow().range(frame..frame + (1 << order)).next().is_some()
    }

    /// Whether a program may touch a page without a fault, on the CPU of this TLB. Panics if that would show it what nobody
    /// has zeroed, or what is not its own any more.
    pub fn touch(&self, space: usize, address: u64, tlb: &Tlb) -> bool {
        let page = (address - BASE) >> 12;
        if tlb.frame(address >> 12).is_some() {
            return true;
        }
        let mut table = self.ranges[space].root.get();
        let mut tables = Vec::new();
        for size in [PageSize::Gib1, PageSize::Mib2, PageSize::Kib4] {
            tables.push(table);
            let raw = self.tables.borrow()[&table][(page >> size.order() & 511) as usize];
            match Entries::decode(raw, size) {
                Entry::Table(next) => table = next,
                entry @ Entry::Leaf(leaf) if entry.is_valid() => {
                    assert_eq!(self.out.borrow().get(&leaf.frame), Some(&size.order()), "page {page:#x}: given back");
                    assert!(!self.garbage.borrow().contains(&leaf.frame), "page {page:#x}: never zeroed");
                    tlb.learn(address >> 12, leaf.frame + page % u64::from(size.pages()), tables);
                    return true;
                }
                _ => return false,
            }
        }
        false
    }

    /// A CPU that runs a program, or has given a thread back, holds no lock.
    pub fn check_unlocked(&self, cpu: usize) {
        let held = self.ranges.iter().any(|range| range.held.borrow().values().any(|&holder| holder == cpu));
        assert!(!held, "CPU {cpu} holds a lock for longer than it is at work");
    }

    fn split(&self, frame: u64, order: u8, to: u8) {
        let (mut out, mut garbage) = (self.out.borrow_mut(), self.garbage.borrow_mut());
        assert_eq!(out.remove(&frame), Some(order), "frame {frame:#x} is divided");
        let parts = (frame..frame + (1 << order)).step_by(1 << to);
        out.extend(parts.clone().map(|part| (part, to)));
        if garbage.remove(&frame) {
            garbage.extend(parts);
        }
    }

    fn forget(&self, frame: u64, order: u8) {
        assert_eq!(self.out.borrow_mut().remove(&frame), Some(order), "frame {frame:#x} comes back");
        self.garbage.borrow_mut().remove(&frame);
        self.left.set(self.left.get() + (1 << order));
    }
}

impl World {
    /// Maps pages with such a protection, each by an entry of its own, as they are if they have frames of their own.
    pub fn fill(&self, space: usize, pages: Range<u32>, protection: Protection) {
        let range = &self.memory.ranges[space];
        let nothing = |_| {};
        let mut memory = FakeMemory::new(Seat { world: self, cpu: usize::MAX, pause: &nothing });
        let mut table = AddressSpace::new(range.root.get(), &mut memory);
        let lazy = Attributes { protection, policy: 0, eager: false, small: false, undumped: false };
        for page in pages {
            table.reserve(Span::new(page, 1).expect("a page"), lazy).expect("it is free");
        }
    }

    /// A process has only so many pages for its mappings, and every second one is taken.
    pub fn crowd(&self, space: usize, pages: u32) {
        let range = &self.memory.ranges[space];
        range.above_break.set(pages);
        let nothing = |_| {};
        let mut memory = FakeMemory::new(Seat { world: self, cpu: usize::MAX, pause: &nothing });
        let mut table = AddressSpace::new(range.root.get(), &mut memory);
        let lazy = Attributes { protection: Protection::READ, policy: 0, eager: false, small: false, undumped: false };
        for page in (BREAK_PAGES..BREAK_PAGES + pages).step_by(2) {
            table.reserve(Span::new(page, 1).expect("a page"), lazy).expect("it is free");
        }
    }
}

/// The processes have ended: everything comes back.
pub fn clear(world: &World) {
    let nothing = |_| {};
    let seat = Seat { world, cpu: usize::MAX, pause: &nothing };
    for range in &world.memory.ranges {
        assert!(range.held.borrow().is_empty(), "a lock is held for ever");
        let (mut memory, mut retired) = (FakeMemory::new(seat), Vec::new());
        AddressSpace::new(range.root.get(), &mut memory).clear(0, |old| retired.push(old), |_| false);
        let left = world.memory.left_held.take().into_iter();
        retired.extend(left.map(|frame| Retired { frame, order: 0, mirrored: false }));
        retired.iter().for_each(|old| world.memory.forget(old.frame, old.order));
    }
    assert_eq!((world.memory.left.get(), world.memory.out.borrow().len()), (FRAMES, 0), "frames are lost");
}

/// One CPU's way to it.
pub struct FakeMemory<'s> {
    seat: Seat<'s>,
    arenas: Arenas,
    tables: Vec<u64>,
}

impl<'s> FakeMemory<'s> {
    pub fn new(seat: Seat<'s>) -> Self {
        Self { seat, arenas: Arenas::new(), tables: Vec::new() }
    }

    fn check_not_lent(&self, frame: u64, order: u8) {
        let run = frame..frame + (1 << order);
        let lent = |cpu: &CpuState| cpu.device.reaches(|lent| run.contains(&lent));
        assert!(!self.seat.world.cpus.iter().any(lent), "frame {frame:#x} is taken from a device");
    }

    /// Whoever gets the frame or uses it as another table finds no trace of it in any TLB.
    fn check_forgotten(&self, frame: u64, order: u8) {
        let run = frame..frame + (1 << order);
        let reaches = |cpu: &CpuState| cpu.tlb.reaches(run.clone()) || cpu.tlb.walks(frame);
        assert!(!self.seat.world.cpus.iter().any(reaches), "frame {frame:#x} is given back, and a TLB has it");
    }

    /// What was unmapped is nobody's, or Linux's alone.
    fn give_back(&self, old: &Retired) {
        self.check_not_lent(old.frame, old.order);
        self.check_forgotten(old.frame, old.order);
        if !self.store().is_held(old.frame, old.order) {
            return self.store().forget(old.frame, old.order);
        }
        self.store().split(old.frame, old.order, 0);
        for frame in old.frame..old.frame + (1 << old.order) {
            if self.store().is_held(frame, 0) {
                self.store().left_held.borrow_mut().insert(frame);
            } else {
                self.store().forget(frame, 0);
            }
        }
    }

    fn store(&self) -> &'s Store {
        &self.seat.world.memory
    }
}

impl Tables for FakeMemory<'_> {
    type Encoding = Entries;

    fn load(&self, table: u64, index: u16) -> u64 {
        self.store().looks.set(self.store().looks.get() + 1);
        self.store().tables.borrow()[&table][usize::from(index)]
    }

    fn store(&self, table: u64, index: u16, entry: u64) {
        self.store().tables.borrow_mut().get_mut(&table).expect("a live table")[usize::from(index)] = entry;
    }

    fn compare_exchange(&self, table: u64, index: u16, current: u64, new: u64) -> bool {
        let same = self.load(table, index) == current;
        if same {
            Tables::store(self, table, index, new);
        }
        same
    }

    fn allocate_table(&mut self) -> Option<u64> {
        Some(self.store().new_table())
    }

    fn free_table(&mut self, table: u64) {
        self.tables.push(table);
    }

    fn free_unused_table(&mut self, table: u64) {
        self.store().tables.borrow_mut().remove(&table).expect("freed once");
    }
}

impl Memory for FakeMemory<'_> {
    fn allocate(&mut self, order: u8, _: Placement, _: Reach) -> Option<u64> {
        let store = self.store();
        let left = store.left.get().checked_sub(1 << order).filter(|_| order <= 9)?;
        let frame = store.next.get().next_multiple_of(1 << order);
        store.left.set(left);
        store.next.set(frame + (1 << order));
        store.out.borrow_mut().insert(frame, order);
        store.garbage.borrow_mut().insert(frame);
        Some(frame)
    }

    fn suits(&self, frame: u64, _: u8, _: Placement) -> bool {
        frame >= self.store().wanted_from.get()
    }

    fn is_held(&self, frame: u64, order: u8) -> bool {
        self.store().is_held(frame, order)
    }

    fn free(&mut self, frame: u64, order: u8) {
        self.check_not_lent(frame, order);
        self.check_forgotten(frame, order);
        self.store().forget(frame, order);
    }

    fn split(&mut self, frame: u64, order: u8, to: u8) {
        self.store().split(frame, order, to);
    }

    fn zero(&mut self, frame: u64, order: u8) {
        if order > 0 || frame.is_multiple_of(SMALL_STEPS) {
            self.seat.pause();
        }
        assert_eq!(self.store().out.borrow().get(&frame), Some(&order), "frame {frame:#x} is zeroed");
        assert!(self.store().garbage.borrow_mut().remove(&frame), "zeroed without need");
        self.store().zeroed.set(self.store().zeroed.get() + (1 << order));
    }

    fn copy(&mut self, from: u64, to: u64, order: u8) {
        self.seat.pause();
        self.check_not_lent(from, order);
        // It may be the first part of a larger one.
        assert!(self.store().out.borrow().contains_key(&from), "frame {from:#x} is copied");
        assert_eq!(self.store().out.borrow().get(&to), Some(&order), "frame {to:#x} is copied to");
        assert!(self.store().garbage.borrow_mut().remove(&to), "copied to without need");
    }
}

impl<'s> PartitionMemory for FakeMemory<'s> {
    type Range = FakeRange<'s>;
    type Leaving = FakeLeaving;

    fn range(&self, number: u32) -> Option<FakeRange<'s>> {
        ((number as usize) < SPACES).then_some(FakeRange::new(self.seat, number as usize))
    }

    fn begin(&mut self, _: FakeRange<'s>, _: Policy, _: u32) {}

    fn most(&self) -> u32 {
        FRAMES as u32
    }

    fn nodes(&self) -> u32 {
        1
    }

    fn node_ids(&self) -> u32 {
        1
    }

    fn leaving(&self) -> FakeLeaving {
        FakeLeaving(Vec::new())
    }

    fn tables_left(&self) -> bool {
        !self.tables.is_empty()
    }

    fn free_left(&mut self, left: Flushed<FakeLeaving>) {
        left.into_inner().0.iter().for_each(|old| self.give_back(old));
        self.tables.iter().for_each(|&table| self.check_forgotten(table, 0));
        let mut tables = self.store().tables.borrow_mut();
        self.tables.drain(..).for_each(|table| drop(tables.remove(&table).expect("freed once")));
    }

    fn free_held(&mut self, _: u64) -> bool {
        false
    }

    fn drain(&mut self) {}

    fn join(&mut self, _: u32, _: u64, _: u8, _: u8) -> bool {
        false
    }

    fn leave(&mut self, _: u32) -> Option<bool> {
        None
    }

    fn give(&mut self, _: u32, _: u8) -> bool {
        false
    }

    fn take(&mut self, _: u32) -> bool {
        false
    }

    fn arenas(&mut self) -> &mut Arenas {
        &mut self.arenas
    }
}

pub struct FakeLeaving(Vec<Retired>);

impl Leaving for FakeLeaving {
    fn retire(&mut self, old: Retired) {
        self.0.push(old);
    }

    fn is_slow(&self) -> bool {
        false
    }
}

/// All of a range that calls may name.
pub fn is_inside(address: u64, bytes: u64) -> bool {
    (BASE..BASE + RANGE_BYTES).contains(&address) && Span::of_bytes(BASE, address, bytes).is_ok()
}
