// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A machine for the address space: tables in a map, frames from the real pool, content as one number for each page.
//!
//! A frame that was handed out but neither zeroed nor copied into is garbage, and reading it fails the test.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::LazyLock;

use tacet_logic::frames::{Block, Layout, Lists, Pool, State};
use tacet_logic::paging::{AddressSpace, Encoding, Entry, Memory, PageSize, Placement, Reach, Retired, Tables, View};

use crate::Entries;
use crate::records::MapRecords;
use crate::tlb::Tlb;

/// One aligned gigabyte with a few frames around it on node 0, three 2 MiB runs and a rest on node 1.
static LAYOUT: LazyLock<Layout<'static>> = LazyLock::new(|| {
    let blocks = [Block::new((1 << 18) - 700, (1 << 18) + 900, 0), Block::new(4_000, 2_000, 1)];
    Layout::new(Box::leak(Box::new(blocks))).unwrap()
});

/// Without the gigabyte: for histories that would otherwise be made of single pages.
static SMALL: LazyLock<Layout<'static>> = LazyLock::new(|| {
    let blocks = [Block::new(100, 1_500, 0), Block::new(4_000, 2_000, 1)];
    Layout::new(Box::leak(Box::new(blocks))).unwrap()
});

/// Which allocations fail.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub enum Failing {
    #[default]
    None,
    /// Only this one.
    One(usize),
    /// This one and all after it.
    From(usize),
}

pub struct Machine {
    tables: RefCell<BTreeMap<u64, [u64; 512]>>,
    next_table: u64,
    pool: Pool<'static, MapRecords>,
    records: MapRecords,
    lists: Lists,
    content: BTreeMap<u64, u64>,
    garbage: BTreeSet<(u64, u8)>,
    /// Gigabytes whose parts were zeroed one by one.
    begun: BTreeSet<u64>,
    pub failing: Failing,
    pub allocations: usize,
    pub refused: usize,
    /// Tables that were in use and came back: every TLB must forget them.
    pub tables_taken: usize,
    /// Frames that Linux uses without mapping them.
    pub held: BTreeSet<u64>,
    /// Runs that were zeroed.
    pub zeroed: usize,
    /// Entries read.
    pub loads: Cell<usize>,
    /// A processor that looks at the tables of one root.
    tlb: Option<Rc<RefCell<Tlb>>>,
}

impl Machine {
    pub fn new(gigabyte: bool) -> Self {
        let layout = if gigabyte { *LAYOUT } else { *SMALL };
        let records = MapRecords::default();
        let pool = Pool::new(layout, records.clone());
        let mut lists = Lists::new();
        pool.fill(&mut lists);
        let (tables, content, garbage, held, begun) = Default::default();
        let (failing, allocations, refused, tables_taken, zeroed, loads) = Default::default();
        let next_table = 1 << 30;
        Self {
            tables,
            next_table,
            pool,
            records,
            lists,
            content,
            garbage,
            begun,
            failing,
            allocations,
            refused,
            tables_taken,
            held,
            zeroed,
            loads,
            tlb: None,
        }
    }

    /// A picture of everything, to try something on.
    pub fn picture(&self) -> Self {
        let records = self.records.picture();
        Self {
            tables: self.tables.clone(),
            pool: Pool::new(*self.pool.layout(), records.clone()),
            records,
            lists: self.lists.clone(),
            content: self.content.clone(),
            garbage: self.garbage.clone(),
            held: self.held.clone(),
            begun: self.begun.clone(),
            loads: self.loads.clone(),
            tlb: self.tlb.as_ref().map(|tlb| Rc::new(RefCell::new(tlb.borrow().clone()))),
            ..*self
        }
    }

    pub fn root(&mut self) -> u64 {
        self.failing = Failing::None;
        self.allocate_table().unwrap()
    }

    pub fn space(&mut self, root: u64) -> AddressSpace<'_, Self> {
        AddressSpace::new(root, self)
    }

    /// From now on a processor looks at what is below an empty root.
    pub fn watch(&mut self, root: u64) -> Rc<RefCell<Tlb>> {
        self.tlb.insert(Rc::new(RefCell::new(Tlb::new(root)))).clone()
    }

    pub fn free_frames(&self) -> u64 {
        self.lists.statistics(0).frames + self.lists.statistics(1).frames
    }

    /// Free frames where `policy` may look.
    pub fn allowed_frames(&self, policy: u8) -> u64 {
        nodes(policy).iter().map(|&node| self.lists.statistics(node).frames).sum()
    }

    pub fn tables(&self) -> usize {
        self.tables.borrow().len()
    }

    /// What `retire` gets comes back to the pool, as if every TLB were flushed.
    pub fn release(&mut self, retired: &[Retired]) {
        for old in retired {
            self.forget(old.frame, old.order);
            assert_eq!(self.pool.free(&mut self.lists, old.frame, old.order), Ok(()), "{old:?}");
        }
    }

    pub fn read(&self, frame: u64) -> u64 {
        for order in [0, 9, 18] {
            let run = frame & !((1 << order) - 1);
            assert!(!self.garbage.contains(&(run, order)), "frame {frame:#x} was never zeroed");
        }
        self.content.get(&frame).copied().unwrap_or(0)
    }

    pub fn write(&mut self, frame: u64, value: u64) {
        self.read(frame);
        self.content.insert(frame, value);
    }

    /// Every entry that is mapped, lowest first, and the number of tables, found without the code under test.
    pub fn walk(&self, root: u64) -> (Vec<View>, usize) {
        let (mut found, mut tables) = (Vec::new(), 0);
        self.walk_table(root, PageSize::Gib1, 0, &mut found, &mut tables);
        (found, tables)
    }

    fn walk_table(&self, table: u64, size: PageSize, first: u32, found: &mut Vec<View>, tables: &mut usize) {
        *tables += 1;
        let entries = self.tables.borrow()[&table];
        let before = found.len();
        for (first, &raw) in (first..).step_by(size.pages() as usize).zip(&entries) {
            match Entries::decode(raw, size) {
                Entry::Absent => assert_eq!(raw, 0),
                Entry::Table(next) => self.walk_table(next, size.smaller().unwrap(), first, found, tables),
                entry => {
                    assert_eq!(Entries::encode(entry, size), raw);
                    found.push(View { first, size, entry });
                }
            }
        }
        // that of a piece may stay
        assert!(size != PageSize::Kib4 || found.len() > before, "table {table:#x} is empty");
    }

    /// No frame or table is in two places, none is lost, nothing is half done.
    pub fn check(&self, roots: &[u64]) {
        let (mut frames, mut tables, mut used) = (BTreeMap::new(), 0, 0);
        for &root in roots {
            let (views, count) = self.walk(root);
            tables += count;
            for view in views {
                let Entry::Leaf(leaf) = view.entry else { continue };
                assert_eq!(leaf.frame % u64::from(view.size.pages()), 0, "{view:?}");
                assert_eq!(self.pool.state(leaf.frame), Some(State::Used(view.size.order())), "{view:?}");
                assert_eq!(frames.insert(leaf.frame, view.size.order()), None, "twice: {view:?}");
                assert!(!leaf.pending, "pending: {view:?}");
                used += u64::from(view.size.pages());
            }
        }
        let overlaps = |((a, order), (b, _)): ((&u64, &u8), (&u64, &u8))| a + (1 << order) > *b;
        assert!(!frames.iter().zip(frames.iter().skip(1)).any(overlaps));
        assert_eq!(used + self.free_frames(), u64::from(self.pool.layout().slots()));
        assert_eq!(tables, self.tables());
    }

    fn refuses(&mut self) -> bool {
        let number = self.allocations;
        self.allocations += 1;
        let refused = match self.failing {
            Failing::None => false,
            Failing::One(failing) => number == failing,
            Failing::From(failing) => number >= failing,
        };
        self.refused += usize::from(refused);
        refused
    }

    fn forget(&mut self, frame: u64, order: u8) {
        let run = frame..frame + (1 << order);
        let old: Vec<u64> = self.content.range(run).map(|(&frame, _)| frame).collect();
        for frame in old {
            self.content.remove(&frame);
        }
        self.garbage.remove(&(frame, order));
    }
}

fn nodes(policy: u8) -> &'static [u8] {
    match policy {
        0 => &[0, 1],
        1 => &[1],
        _ => &[1, 0],
    }
}

impl Tables for Machine {
    type Encoding = Entries;

    fn load(&self, table: u64, index: u16) -> u64 {
        self.loads.set(self.loads.get() + 1);
        self.tables.borrow()[&table][usize::from(index)]
    }

    fn store(&self, table: u64, index: u16, entry: u64) {
        self.tables.borrow_mut().get_mut(&table).expect("a live table")[usize::from(index)] = entry;
        if let Some(tlb) = &self.tlb {
            tlb.borrow_mut().write(table, index, entry, &|table| self.tables.borrow()[&table]);
        }
    }

    fn compare_exchange(&self, table: u64, index: u16, current: u64, new: u64) -> bool {
        let same = self.load(table, index) == current;
        if same {
            self.store(table, index, new);
        }
        same
    }

    fn allocate_table(&mut self) -> Option<u64> {
        if self.refuses() {
            return None;
        }
        self.next_table += 1;
        self.tables.borrow_mut().insert(self.next_table, [0; 512]);
        Some(self.next_table)
    }

    fn free_table(&mut self, table: u64) {
        let old = self.tables.borrow_mut().remove(&table).expect("freed once");
        let leaf = |&raw: &u64| matches!(Entries::decode(raw, PageSize::Mib2), Entry::Leaf(_) | Entry::Table(_));
        assert!(!old.iter().any(leaf), "a table with something in it was freed");
        self.tables_taken += 1;
    }

    fn free_unused_table(&mut self, table: u64) {
        let old = self.tables.borrow_mut().remove(&table).expect("freed once");
        assert_eq!(old, [0; 512], "a table that was used was freed as unused");
    }

    fn flush(&self) {
        if let Some(tlb) = &self.tlb {
            tlb.borrow_mut().flush();
        }
    }
}

impl Memory for Machine {
    fn allocate(&mut self, order: u8, placement: Placement, reach: Reach) -> Option<u64> {
        if self.refuses() {
            return None;
        }
        let nodes = match reach {
            Reach::Wanted => nodes(placement.policy).split_at(1).0,
            Reach::Allowed => nodes(placement.policy),
        };
        let frame = self.pool.allocate(&mut self.lists, order, nodes)?;
        self.garbage.insert((frame, order));
        Some(frame)
    }

    fn suits(&self, frame: u64, _order: u8, placement: Placement) -> bool {
        self.pool.layout().block(frame).is_some_and(|block| nodes(placement.policy).first() == Some(&block.node()))
    }

    fn is_held(&self, frame: u64, order: u8) -> bool {
        self.held.range(frame..frame + (1 << order)).next().is_some()
    }

    fn free(&mut self, frame: u64, order: u8) {
        self.release(&[Retired { frame, order, mirrored: false }]);
    }

    fn split(&mut self, frame: u64, order: u8, to: u8) {
        assert_eq!(self.pool.split(frame, order, to), Ok(()));
        if self.garbage.remove(&(frame, order)) {
            let parts = (frame..frame + (1 << order)).step_by(1 << to);
            self.garbage.extend(parts.map(|part| (part, to)));
        }
    }

    fn zero(&mut self, frame: u64, order: u8) {
        let whole = (frame & !0x3_ffff, 18);
        if order == 9 && self.garbage.remove(&whole) {
            // a gigabyte, part by part
            let parts = (whole.0..whole.0 + (1 << 18)).step_by(512);
            self.garbage.extend(parts.map(|part| (part, 9)));
            self.begun.insert(whole.0);
        }
        let again = self.begun.contains(&whole.0);
        assert!(self.garbage.contains(&(frame, order)) || again, "zeroed without need");
        self.forget(frame, order);
        self.zeroed += 1;
    }

    fn copy(&mut self, from: u64, to: u64, order: u8) {
        self.forget(to, order);
        let values: Vec<_> = self.content.range(from..from + (1 << order)).map(|(f, v)| (f - from + to, *v)).collect();
        self.content.extend(values);
    }
}
