// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The partition's memory as programs get it: one CPU's way to frames and to what is in them (`memory.h`).
//!
//! The pool is shared by all CPUs and made by the first that comes. A [`Frames`] is one CPU's: its cache, and what it
//! has unmapped but not yet given back. Content is reached through the direct map, which has the partition's frames
//! and nothing else.

use crate::bad::has_bad_frame;
use crate::job::JobMemory;
use crate::policy::NodeChoice;
use crate::pool;
use crate::range::LinuxRange;
use crate::records::FrameRecords;
use core::cell::Cell;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_abi::{TACET_DIRECT_BASE, TACET_NODES, TACET_PAGE_BYTES, TACET_POLICIES, tacet_memory};
use tacet_arch::native::paging::Entries;
use tacet_core::memory::{Flushed, Leaving, PartitionMemory};
use tacet_logic::frames::{
    Block, Cache, Chain, FreeError, Guard, HUGE_ORDER, LARGEST_ORDER, LeaveError, Limit, NODES, Policy, Pool,
};
use tacet_logic::paging::{Encoding, Memory, Placement, Reach, Retired, Tables};
use tacet_logic::ranges::Arenas;

const _: () = assert!(NODES == TACET_NODES as usize);
const _: () = assert!(TACET_POLICIES <= Entries::POLICIES as u32);

/// Runs of a job that are for all again between two looks at what the CPU is wanted for.
const TAKEN_AT_ONCE: usize = 256;

/// From which nodes a run comes.
enum Asked {
    Near,
    /// As the policy that was asked last says.
    Last(Reach),
}

/// One CPU's way to the partition's memory.
pub struct Frames {
    memory: NonNull<tacet_memory>,
    pool: &'static Pool<'static, FrameRecords>,
    cache: Cache,
    /// Tables to which no entry points any more.
    tables: LeavingFrames,
    /// The order of the largest page that the processors have.
    largest_order: u8,
    nodes: NodeChoice,
    /// Where this CPU looks for addresses, in the ranges in which it was at work last.
    arenas: Arenas,
    counters: [&'static AtomicU64; 3],
    /// The block that was found last: the next frame is mostly in the same.
    block: Cell<Block>,
}

/// What one operation unmaps: perhaps still in a TLB.
pub struct LeavingFrames {
    memory: NonNull<tacet_memory>,
    pool: &'static Pool<'static, FrameRecords>,
    records: FrameRecords,
    chain: Chain,
    /// Linux uses some frames that it does not map. With the locks of the pieces: it said so of a frame of these before
    /// it took its mark from the frame's entry, under the same locks.
    some_held: bool,
}

impl Frames {
    /// Of a CPU of `node`, to the memory that Linux describes at `memory`.
    pub fn new(memory: NonNull<tacet_memory>, node: u32, counters: [&'static AtomicU64; 3]) -> Option<Self> {
        // SAFETY: Linux filled it before it started the first CPU, and changes one
        // counter only, which is not read through this reference.
        let given = unsafe { memory.as_ref() };
        let (records, largest_order) = (FrameRecords::new(given), given.largest_order as u8);
        let pool = pool::of_all(memory, records)?;
        let nodes = NodeChoice::new(node, given, pool.layout());
        let mine = nodes.near().first().copied().unwrap_or(0);
        let tables = LeavingFrames { memory, pool, records, chain: Chain::new(), some_held: false };
        Some(Self {
            memory,
            pool,
            cache: Cache::new(mine),
            tables,
            largest_order,
            nodes,
            arenas: Arenas::new(),
            counters,
            block: Cell::new(Block::new(0, 0, 0)),
        })
    }

    /// A frame of the pool as memory. Dies rather than reach beyond the pool.
    fn content(&self, frame: u64, order: u8) -> *mut u8 {
        let inside = |block: &Block| frame >= block.first() && frame + (1 << order) <= block.end();
        if !inside(&self.block.get())
            && !self.pool.layout().block(frame).is_some_and(|block| {
                self.block.set(block);
                inside(&block)
            })
        {
            crate::die(format_args!("frame {frame:#x} of order {order}: not the partition's"));
        }
        (TACET_DIRECT_BASE as u64 + (frame << 12)) as *mut u8
    }

    /// The first of these entries of a table that is not `wanted`, or the end of them. Eight at a time: a thread that
    /// unmaps a large mapping of small pages waits for this.
    fn run_of(&self, wanted: u64, table: u64, entries: Range<usize>) -> usize {
        let table = self.content(table, 0).cast::<u64>();
        let entries = entries.start..entries.end.min(512);
        // SAFETY: as in `entry`.
        let is_wanted = |index| unsafe { AtomicU64::from_ptr(table.add(index)) }.load(Ordering::Acquire) == wanted;
        let mut index = entries.start;
        while index + 8 <= entries.end && (0..8).all(|n| is_wanted(index + n)) {
            index += 8;
        }
        while index < entries.end && is_wanted(index) {
            index += 1;
        }
        index
    }

    /// That of the range at hand.
    fn job(&self) -> Option<JobMemory> {
        JobMemory::of(self.memory, self.nodes.job())
    }

    fn limit(&self) -> Option<Limit<'static>> {
        self.job()?.limit()
    }

    /// A run for the owner of the range at hand, none of it bad.
    fn allocate_run(&mut self, order: u8, nodes: Asked) -> Option<u64> {
        let (memory, owner) = (self.memory, self.job().map_or(0, |job| job.owner()));
        self.cache.serve(self.pool, pool::lists(), owner);
        let nodes = match nodes {
            Asked::Near => self.nodes.near(),
            Asked::Last(reach) => self.nodes.last(reach == Reach::Wanted),
        };
        let bad = |frame, order| has_bad_frame(memory, frame, order);
        self.cache.allocate_good(self.pool, pool::lists(), order, nodes, bad)
    }

    /// So many frames are not behind pages of the operation's range any more.
    fn give_back(&self, frames: u64) {
        self.nodes.count_frames(-(frames as i64));
        self.limit().inspect(|job| job.give_back(frames));
    }

    /// Shows Linux that the CPU makes progress: it would declare the CPU hung otherwise.
    fn count_progress(&self) {
        count(self.counters.get(2), 1);
    }

    fn entry(&self, table: u64, index: u16) -> &AtomicU64 {
        let table = self.content(table, 0).cast::<u64>();
        // SAFETY: (1) a frame of the pool, mapped for as long as the CPU runs; (2) the
        // index is below 512; (3) both sides access entries atomically.
        unsafe { AtomicU64::from_ptr(table.add(usize::from(index & 511))) }
    }
}

impl PartitionMemory for Frames {
    type Range = LinuxRange;
    type Leaving = LeavingFrames;

    #[inline]
    fn range(&self, number: u32) -> Option<LinuxRange> {
        // SAFETY: as in `new`.
        let memory = unsafe { self.memory.as_ref() };
        // SAFETY: the number is below the count of ranges that Linux mapped.
        (number < memory.range_count).then(|| unsafe { LinuxRange::new(memory.ranges_base, number) })
    }

    #[inline]
    fn begin(&mut self, range: LinuxRange, thread: Policy, allowed: u32) {
        self.nodes.begin(range, thread, allowed);
    }

    fn most(&self) -> u32 {
        let left = self.limit().map_or(u64::MAX, |job| job.left());
        u32::try_from(left.min(self.pool.layout().frames())).unwrap_or(u32::MAX)
    }

    fn nodes(&self) -> u32 {
        self.nodes.present()
    }

    fn node_ids(&self) -> u32 {
        // SAFETY: as in `new`.
        unsafe { self.memory.as_ref() }.node_ids
    }

    #[inline]
    fn leaving(&self) -> LeavingFrames {
        LeavingFrames { chain: Chain::new(), some_held: self.tables.held_by_linux() != 0, ..self.tables }
    }

    #[inline]
    fn tables_left(&self) -> bool {
        self.tables.chain.frames() != 0
    }

    fn free_left(&mut self, left: Flushed<LeavingFrames>) {
        let mut left = left.into_inner();
        if left.chain.frames() != 0 {
            self.give_back(left.chain.frames());
        }
        if left.some_held {
            let LeavingFrames { records, mut chain, .. } = left;
            let kept = |frame| self.tables.slot(frame).is_some_and(|slot| records.leave_to_linux(slot));
            let freed = chain.free_but(self.pool, pool::lists(), &mut self.cache, kept);
            count(self.counters.get(1), *freed.as_ref().unwrap_or(&0));
            check(freed.map(drop), chain.frames(), 0);
            left.chain = Chain::new();
        }
        for chain in [&mut left.chain, &mut self.tables.chain] {
            let frames = chain.frames();
            check(chain.free(self.pool, pool::lists(), &mut self.cache), frames, 0);
            count(self.counters.get(1), frames);
        }
    }

    fn free_held(&mut self, frame: u64) -> bool {
        let slot = self.tables.slot(frame);
        let left = slot.is_some_and(|slot| self.tables.records.take_from_linux(slot));
        if left {
            check(self.cache.free(self.pool, pool::lists(), frame, 0), frame, 0);
            count(self.counters.get(1), 1);
        }
        left
    }

    fn drain(&mut self) {
        self.block.set(Block::new(0, 0, 0));
        self.cache.drain(self.pool, pool::lists());
    }

    fn join(&mut self, place: u32, first: u64, order: u8, node: u8) -> bool {
        let place = place as usize;
        pool::lists().with(0, |lists| self.pool.join(lists, place, first, order, node)).is_ok()
    }

    fn leave(&mut self, place: u32) -> Option<bool> {
        match pool::lists().with(0, |lists| self.pool.leave(lists, place as usize)) {
            Ok(()) => Some(true),
            Err(LeaveError::InUse) => Some(false),
            Err(LeaveError::Foreign) => None,
        }
    }

    fn give(&mut self, job: u32, order: u8) -> bool {
        let Some(job) = JobMemory::of(self.memory, job).filter(|_| order <= LARGEST_ORDER) else { return false };
        let nodes = self.nodes.near();
        let Some(frame) = pool::lists().with(0, |lists| self.pool.allocate(lists, order, nodes)) else { return false };
        check(pool::lists().with(job.number(), |lists| self.pool.adopt(lists, frame, order)), frame, order);
        job.count_owned(1 << order);
        job.show_run(frame);
        true
    }

    fn take(&mut self, job: u32) -> bool {
        let Some(job) = JobMemory::of(self.memory, job) else { return false };
        for _ in 0..TAKEN_AT_ONCE {
            let run = pool::lists().with(job.number(), |lists| self.pool.allocate_any(lists));
            let Some((frame, order)) = run else { return false };
            check(pool::lists().with(0, |lists| self.pool.adopt(lists, frame, order)), frame, order);
            job.count_owned(-(1 << order));
        }
        true
    }

    #[inline]
    fn arenas(&mut self) -> &mut Arenas {
        &mut self.arenas
    }
}

impl Leaving for LeavingFrames {
    fn retire(&mut self, old: Retired) {
        self.push(old.frame, old.order);
    }

    fn is_slow(&self) -> bool {
        self.some_held
    }
}

impl LeavingFrames {
    fn held_by_linux(&self) -> u32 {
        // SAFETY: mapped, aligned, always accessed atomically.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.memory.as_ptr()).held_count) }.load(Ordering::SeqCst)
    }

    fn push(&mut self, frame: u64, order: u8) {
        check(self.chain.push(self.pool, frame, order), frame, order);
    }

    /// The frame's record.
    fn slot(&self, frame: u64) -> Option<u32> {
        Some(self.pool.layout().block(frame)?.slot_of(frame))
    }
}

/// Only this CPU writes its counters.
fn count(counter: Option<&&'static AtomicU64>, more: u64) {
    if let Some(counter) = counter {
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }
}

/// The records say that this cannot be: something wrote into them.
fn check(result: Result<(), FreeError>, frame: u64, order: u8) {
    if let Err(error) = result {
        crate::die(format_args!("frame {frame:#x} of order {order}: {error:?}"));
    }
}

impl Tables for Frames {
    type Encoding = Entries;

    fn load(&self, table: u64, index: u16) -> u64 {
        self.entry(table, index).load(Ordering::Acquire)
    }

    fn store(&self, table: u64, index: u16, entry: u64) {
        self.entry(table, index).store(entry, Ordering::Release);
    }

    fn all_same(&self, table: u64, from: u16) -> Option<u64> {
        let (first, from) = (self.load(table, from), usize::from(from));
        (self.run_of(first, table, from..512) == 512 && self.run_of(first, table, 0..from) == from).then_some(first)
    }

    fn same(&self, table: u64, from: u16, most: u16) -> u16 {
        let end = usize::from(from + most);
        (self.run_of(self.load(table, from), table, usize::from(from)..end) - usize::from(from)) as u16
    }

    fn compare_exchange(&self, table: u64, index: u16, current: u64, new: u64) -> bool {
        self.entry(table, index).compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    #[inline]
    fn progress(&self) {
        self.count_progress();
    }

    fn allocate_table(&mut self) -> Option<u64> {
        let table = self.allocate_run(0, Asked::Near)?;
        count(self.counters.first(), 1);
        self.zero(table, 0);
        Some(table)
    }

    fn free_table(&mut self, table: u64) {
        self.tables.push(table, 0);
    }

    fn free_unused_table(&mut self, table: u64) {
        self.free(table, 0);
    }
}

impl Memory for Frames {
    fn allocate(&mut self, order: u8, placement: Placement, reach: Reach) -> Option<u64> {
        // Pages of 1 GiB take no turns.
        let takes_turns = self.nodes.policy(placement.policy).interleaves();
        if order > self.largest_order || takes_turns && order > HUGE_ORDER {
            return None;
        }
        let job = self.limit();
        self.nodes.order(placement.policy, placement.page >> order);
        if job.as_ref().is_some_and(|job| !job.take(1 << order)) {
            return None;
        }
        let Some(frame) = self.allocate_run(order, Asked::Last(reach)) else {
            job.inspect(|job| job.give_back(1 << order));
            return None;
        };
        count(self.counters.first(), 1 << order);
        self.nodes.count_frames(1 << order);
        Some(frame)
    }

    fn suits(&self, frame: u64, order: u8, placement: Placement) -> bool {
        let large = order > HUGE_ORDER && self.nodes.policy(placement.policy).interleaves();
        let suits = |block: Block| self.nodes.suits(block.node(), placement.policy, placement.page >> order);
        self.pool.layout().block(frame).is_none_or(|block| !large && suits(block))
    }

    fn is_held(&self, frame: u64, order: u8) -> bool {
        // The records of a run are neighbours: it lies in one block.
        let held = |slot| (slot..slot + (1 << order)).any(|slot| self.tables.records.is_held(slot));
        self.tables.held_by_linux() != 0 && self.tables.slot(frame).is_some_and(held)
    }

    fn free(&mut self, frame: u64, order: u8) {
        check(self.cache.free(self.pool, pool::lists(), frame, order), frame, order);
        count(self.counters.get(1), 1 << order);
        self.give_back(1 << order);
    }

    fn split(&mut self, frame: u64, order: u8, to: u8) {
        check(self.pool.split(frame, order, to), frame, order);
    }

    fn zero(&mut self, frame: u64, order: u8) {
        let content = self.content(frame, order);
        // SAFETY: all of it is frames of the pool, which this CPU was handed.
        unsafe { content.write_bytes(0, (TACET_PAGE_BYTES as usize) << order) };
        self.count_progress();
    }

    fn copy(&mut self, from: u64, to: u64, order: u8) {
        let (from, to) = (self.content(from, order), self.content(to, order));
        let part = (TACET_PAGE_BYTES as usize) << order.min(HUGE_ORDER);
        for at in (0..(TACET_PAGE_BYTES as usize) << order).step_by(part) {
            // SAFETY: both are frames of the pool, and the part is inside; `to` was just handed out, so they are not
            // the same. A program may write `from` meanwhile: bytes are copied, not values.
            unsafe { core::ptr::copy_nonoverlapping(from.add(at), to.add(at), part) };
            self.count_progress();
        }
    }
}
