// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every interleaving of one core that changes its tables with one Linux thread that mirrors a page.
//!
//! The Linux thread here is the walk that the header of `paging` describes. What
//! must hold whatever the order: a frame that Linux maps in the end is still
//! mapped at that address, or was reported as mirrored, so that the core's
//! caller has Linux unmap it; and no freed table is ever read or written.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use loom::thread;
use tacet_logic::paging::{
    AddressSpace, Attributes, Encoding, Entry, Leaf, Memory, PageSize, Placement, Protection, Reach, Retired, Span,
    Tables,
};

use crate::Entries;

const ROOT: u64 = 1;
const PAGE: u32 = 5;
const ATTRIBUTES: Attributes =
    Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };

/// The tables that both see. Entries for [`PAGE`] are what loom explores; all others only the core touches.
struct Shared {
    watched: Vec<[AtomicU64; 2]>,
    others: Mutex<BTreeMap<(u64, u16), u64>>,
    /// Tables that have been reused: no walk may be at them.
    reused: Mutex<BTreeSet<u64>>,
    walking: AtomicBool,
}

const TABLES: u64 = 6;

impl Shared {
    fn new() -> Self {
        // For every table: entry 0 (for a root or directory) and entry 5 (for a table of small pages).
        let watched = (0..TABLES).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        Self { watched, others: Mutex::default(), reused: Mutex::default(), walking: AtomicBool::new(false) }
    }

    fn entry(&self, table: u64, index: u16) -> Option<&AtomicU64> {
        assert!(!self.reused.lock().unwrap().contains(&table), "table {table} was reused under a walk");
        let entries = self.watched.get(table as usize)?;
        match index {
            0 => entries.first(),
            5 => entries.last(),
            _ => None,
        }
    }
}

/// The core's side.
struct Core {
    shared: Arc<Shared>,
    next_table: u64,
    next_frame: u64,
    quarantine: RefCell<Vec<u64>>,
    /// Changes entries without looking whether Linux has marked them.
    blind: bool,
}

impl Core {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, next_table: ROOT + 1, next_frame: 1 << 18, quarantine: RefCell::default(), blind: false }
    }

    /// What the trait asks of its implementor: tables are reused when every walk that may be at them has ended.
    fn end_of_operation(&self) {
        fence(Ordering::SeqCst);
        if !self.shared.walking.load(Ordering::Acquire) {
            self.shared.reused.lock().unwrap().extend(self.quarantine.borrow_mut().drain(..));
        }
    }
}

impl Tables for Core {
    type Encoding = Entries;

    fn load(&self, table: u64, index: u16) -> u64 {
        match self.shared.entry(table, index) {
            Some(entry) => entry.load(Ordering::Acquire),
            None => self.shared.others.lock().unwrap().get(&(table, index)).copied().unwrap_or(0),
        }
    }

    fn store(&self, table: u64, index: u16, value: u64) {
        match self.shared.entry(table, index) {
            Some(entry) => entry.store(value, Ordering::Release),
            None => drop(self.shared.others.lock().unwrap().insert((table, index), value)),
        }
    }

    fn compare_exchange(&self, table: u64, index: u16, current: u64, new: u64) -> bool {
        match self.shared.entry(table, index) {
            Some(entry) if self.blind => {
                entry.swap(new, Ordering::AcqRel);
                true
            }
            Some(entry) => entry.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire).is_ok(),
            None => {
                let same = self.load(table, index) == current;
                if same {
                    self.store(table, index, new);
                }
                same
            }
        }
    }

    fn allocate_table(&mut self) -> Option<u64> {
        let table = self.next_table;
        self.next_table += 1;
        (table < TABLES).then_some(table)
    }

    fn free_table(&mut self, table: u64) {
        self.quarantine.borrow_mut().push(table);
    }

    /// Nothing here has a TLB.
    fn flush(&self) {}
}

impl Memory for Core {
    fn allocate(&mut self, order: u8, _placement: Placement, _reach: Reach) -> Option<u64> {
        let frame = self.next_frame.next_multiple_of(1 << order);
        self.next_frame = frame + (1 << order);
        Some(frame)
    }

    fn suits(&self, _frame: u64, _order: u8, _placement: Placement) -> bool {
        true
    }

    fn is_held(&self, _frame: u64, _order: u8) -> bool {
        false
    }

    fn free(&mut self, _frame: u64, _order: u8) {}
    fn split(&mut self, _frame: u64, _order: u8, _to: u8) {}
    fn zero(&mut self, _frame: u64, _order: u8) {}
    fn copy(&mut self, _from: u64, _to: u64, _order: u8) {}
}

/// A walk of Linux for [`PAGE`]: the frame that it maps in the end, and whether it may write.
fn walk(shared: &Shared) -> Option<(u64, bool)> {
    shared.walking.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let mapped = walk_tables(shared);
    shared.walking.store(false, Ordering::Release);
    mapped
}

fn walk_tables(shared: &Shared) -> Option<(u64, bool)> {
    'again: loop {
        let mut table = ROOT;
        for size in [PageSize::Gib1, PageSize::Mib2, PageSize::Kib4] {
            let index = if size == PageSize::Kib4 { PAGE as u16 } else { 0 };
            let entry = shared.entry(table, index).unwrap();
            let raw = entry.load(Ordering::Acquire);
            let said = Entries::decode(raw, size);
            match said {
                Entry::Table(next) => table = next,
                Entry::Leaf(leaf) if said.is_valid() => {
                    let marked = raw | Entries::MIRRORED;
                    let mark = || entry.compare_exchange(raw, marked, Ordering::AcqRel, Ordering::Acquire);
                    if !leaf.mirrored && mark().is_err() {
                        continue 'again;
                    }
                    let inside = u64::from(PAGE & (size.pages() - 1));
                    return Some((leaf.frame + inside, leaf.attributes.protection.write));
                }
                _ => return None,
            }
        }
        return None;
    }
}

/// What the page is now, for the core.
fn now(core: &mut Core) -> Option<(u64, Leaf)> {
    let view = AddressSpace::new(ROOT, core).view(PAGE)?;
    let Entry::Leaf(leaf) = view.entry else { return None };
    Some((leaf.frame + u64::from(PAGE - view.first), leaf))
}

/// Runs `change` on a core against a walk, after `prepare`, in every order.
fn explore(
    prepare: impl Fn(&mut AddressSpace<Core>) + Send + Sync + 'static,
    change: impl Fn(&mut AddressSpace<Core>, &mut Vec<Retired>) + Send + Sync + 'static,
) {
    explore_with(false, prepare, change);
}

fn explore_with(
    blind: bool,
    prepare: impl Fn(&mut AddressSpace<Core>) + Send + Sync + 'static,
    change: impl Fn(&mut AddressSpace<Core>, &mut Vec<Retired>) + Send + Sync + 'static,
) {
    let (prepare, change) = (std::sync::Arc::new(prepare), std::sync::Arc::new(change));
    loom::model(move || {
        let shared = Arc::new(Shared::new());
        let mut core = Core::new(shared.clone());
        prepare(&mut AddressSpace::new(ROOT, &mut core));
        core.blind = blind;
        let linux = {
            let shared = shared.clone();
            thread::spawn(move || walk(&shared))
        };
        let mut retired = Vec::new();
        change(&mut AddressSpace::new(ROOT, &mut core), &mut retired);
        core.end_of_operation();
        let mapped = linux.join().unwrap();
        judge(&mut core, mapped, &retired);
    });
}

/// What Linux maps is what is mapped, or it will be told to let go.
fn judge(core: &mut Core, mapped: Option<(u64, bool)>, retired: &[Retired]) {
    let Some((frame, writes)) = mapped else { return };
    let inside = |old: &&Retired| (old.frame..old.frame + (1 << old.order)).contains(&frame);
    match retired.iter().find(inside) {
        Some(old) => assert!(old.mirrored, "frame {frame:#x} is freed while Linux maps it"),
        None => {
            let (now, leaf) = now(core).expect("mapped");
            assert!(now == frame && leaf.mirrored);
            assert!(leaf.attributes.protection.write || !writes, "Linux may write what the program may not");
        }
    }
}

fn span(first: u32, pages: u32) -> Span {
    Span::new(first, pages).unwrap()
}

#[test]
fn unmapping_a_small_page_and_its_table() {
    explore(
        |space| space.map(span(PAGE, 1), ATTRIBUTES).unwrap(),
        |space, retired| assert!(space.unmap(span(PAGE, 1), |old| retired.push(old)).is_ok()),
    );
}

#[test]
fn unmapping_a_part_of_a_large_page() {
    explore(
        |space| space.map(span(0, 512), ATTRIBUTES).unwrap(),
        |space, retired| assert!(space.unmap(span(4, 3), |old| retired.push(old)).is_ok()),
    );
}

#[test]
fn dividing_a_large_page_around_a_page_that_stays() {
    explore(
        |space| space.map(span(0, 512), ATTRIBUTES).unwrap(),
        |space, retired| assert!(space.unmap(span(100, 1), |old| retired.push(old)).is_ok()),
    );
}

#[test]
fn discarding_and_touching_again() {
    explore(
        |space| space.map(span(PAGE, 1), ATTRIBUTES).unwrap(),
        |space, retired| {
            space.discard(span(PAGE, 1), |old| retired.push(old)).unwrap();
            space.fault(PAGE, Protection::READ, PageSize::Kib4).unwrap();
        },
    );
}

#[test]
fn mapping_while_linux_looks() {
    explore(|_| {}, |space, _| space.map(span(0, 512), ATTRIBUTES).unwrap());
}

#[test]
fn moving_a_page_away() {
    explore(
        |space| space.map(span(PAGE, 1), ATTRIBUTES).unwrap(),
        |space, retired| {
            let frame = match space.view(PAGE).map(|view| view.entry) {
                Some(Entry::Leaf(leaf)) => leaf.frame,
                _ => panic!("mapped"),
            };
            let removed = space.shift(span(PAGE, 1), 7).unwrap();
            // The frame lives on elsewhere; the old address is what Linux has to let go.
            retired.push(Retired { frame, order: 0, mirrored: removed.mirrored == 1 });
        },
    );
}

#[test]
fn taking_the_right_to_write() {
    // `protect` reports the page if Linux has mapped it with the right to write, and only then.
    let reported = |space: &mut AddressSpace<Core>, retired: &mut Vec<Retired>| {
        let Some(Entry::Leaf(leaf)) = space.view(PAGE).map(|view| view.entry) else { panic!("mapped") };
        let lost = space.protect(span(PAGE, 1), Protection::READ).unwrap();
        if lost.mirrored == 1 {
            retired.push(Retired { frame: leaf.frame, order: 0, mirrored: true });
        }
    };
    explore(|space| space.map(span(PAGE, 1), ATTRIBUTES).unwrap(), reported);
}

#[test]
#[should_panic(expected = "is freed while Linux maps it")]
fn control_a_core_does_not_compare() {
    explore_with(
        true,
        |space| space.map(span(PAGE, 1), ATTRIBUTES).unwrap(),
        |space, retired| assert!(space.unmap(span(PAGE, 1), |old| retired.push(old)).is_ok()),
    );
}
