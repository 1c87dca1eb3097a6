// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pool of the partition's frames, which all CPUs share. Called by `frames.rs`; the first CPU that comes makes it.

use crate::locked::OwnedLists;
use crate::records::FrameRecords;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use tacet_abi::{TACET_JOINED_SLOTS, TACET_MEMORY_BLOCKS, tacet_memory};
use tacet_logic::frames::{Block, Guard, JOINED_BLOCKS, JOINED_SLOTS, Joined, Layout, Pool};

const _: () = assert!(JOINED_BLOCKS == TACET_MEMORY_BLOCKS as usize && JOINED_SLOTS == TACET_JOINED_SLOTS);

/// The pool and its lists, which all CPUs share.
struct Common {
    /// 0: not made, 1: a CPU makes it, 2: made.
    made: AtomicU32,
    pool: UnsafeCell<MaybeUninit<Pool<'static, FrameRecords>>>,
    blocks: UnsafeCell<[Block; TACET_MEMORY_BLOCKS as usize]>,
    joined: Joined,
    lists: OwnedLists,
}

// SAFETY: `made` says who may touch the cells: one CPU writes them between 0 and 2,
// and afterwards none does.
unsafe impl Sync for Common {}

static COMMON: Common = Common {
    made: AtomicU32::new(0),
    pool: UnsafeCell::new(MaybeUninit::uninit()),
    blocks: UnsafeCell::new([Block::new(0, 0, 0); TACET_MEMORY_BLOCKS as usize]),
    joined: Joined::new(),
    lists: OwnedLists::new(),
};

/// The lists of free runs, of nobody and of each job.
pub fn lists() -> &'static OwnedLists {
    &COMMON.lists
}

/// Made by the first CPU that comes.
pub fn of_all(memory: NonNull<tacet_memory>, records: FrameRecords) -> Option<&'static Pool<'static, FrameRecords>> {
    if COMMON.made.compare_exchange(0, 1, Ordering::Acquire, Ordering::Acquire).is_ok() {
        // SAFETY: (1) only the CPU that changed `made` from 0 comes here; (2) `memory`
        // was filled before any CPU started.
        let (blocks, memory) = unsafe { (&mut *COMMON.blocks.get(), memory.as_ref()) };
        let count = memory.block_count.min(TACET_MEMORY_BLOCKS) as usize;
        for (block, given) in blocks.iter_mut().zip(memory.blocks.iter()).take(count) {
            *block = Block::new(given.first, given.count, given.node as u8);
        }
        let layout = match Layout::new(blocks.split_at_mut(count).0) {
            Ok(layout) if layout.slots() <= memory.slot_count => layout,
            _ => crate::die(format_args!("memory: Linux described its blocks wrongly")),
        };
        let pool = Pool::new(layout.with(&COMMON.joined), records);
        COMMON.lists.with(0, |lists| pool.fill(lists));
        // SAFETY: as above.
        unsafe { (*COMMON.pool.get()).write(pool) };
        COMMON.made.store(2, Ordering::Release);
    }
    while COMMON.made.load(Ordering::Acquire) != 2 {
        core::hint::spin_loop();
    }
    // SAFETY: it is made, and never changes again.
    Some(unsafe { (*COMMON.pool.get()).assume_init_ref() })
}
