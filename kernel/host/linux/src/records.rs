// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The records of frames (`struct tacet_frame`), in memory that Linux set aside.

use core::sync::atomic::{AtomicU32, Ordering};
use tacet_abi::{
    TACET_HELD_BY_LINUX, TACET_HELD_LEFT, TACET_HELD_NOT, TACET_JOINED_BASE, TACET_JOINED_RECORDS, TACET_JOINED_SLOTS,
    tacet_frame, tacet_memory,
};
use tacet_logic::frames::{Neighbours, Records};

/// All records of the partition.
#[derive(Clone, Copy)]
pub struct FrameRecords {
    base: *mut tacet_frame,
    count: u32,
}

// SAFETY: every access is one atomic access to one field.
unsafe impl Send for FrameRecords {}
// SAFETY: as above.
unsafe impl Sync for FrameRecords {}

macro_rules! field {
    ($self:ident, $slot:expr, $field:ident) => {{
        let slot = $slot;
        let record =
            if slot < $self.count { $self.base.wrapping_add(slot as usize) } else { joined_record(slot, $self.count) };
        // SAFETY: (1) the slot is within the table, which Linux mapped for as long as the CPU runs, or in that for
        // blocks that joined, where Linux maps the records of a block for as long as the block is in the pool, and
        // elsewhere nothing; (2) the field is aligned and always accessed atomically.
        unsafe { AtomicU32::from_ptr(&raw mut (*record).$field) }
    }};
}

/// The record of a frame of a block that joined.
#[inline(never)]
fn joined_record(slot: u32, count: u32) -> *mut tacet_frame {
    let Some(offset) = slot.checked_sub(TACET_JOINED_SLOTS).filter(|offset| *offset < TACET_JOINED_RECORDS) else {
        crate::die(format_args!("frame record {slot} of {count}"));
    };
    (TACET_JOINED_BASE as usize as *mut tacet_frame).wrapping_add(offset as usize)
}

impl FrameRecords {
    pub fn new(memory: &tacet_memory) -> Self {
        Self { base: memory.records_base as *mut tacet_frame, count: memory.slot_count }
    }

    /// Whether Linux still uses the frame, which it does not map.
    pub fn is_held(&self, slot: u32) -> bool {
        field!(self, slot, held).load(Ordering::Acquire) != TACET_HELD_NOT
    }

    /// Says that no entry points to the frame any more. True if Linux still uses it: then Linux gives it back.
    pub fn leave_to_linux(&self, slot: u32) -> bool {
        let held = field!(self, slot, held);
        held.load(Ordering::Acquire) == TACET_HELD_BY_LINUX
            && held.compare_exchange(TACET_HELD_BY_LINUX, TACET_HELD_LEFT, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Linux gives back a frame that it was left with; true if it was.
    pub fn take_from_linux(&self, slot: u32) -> bool {
        field!(self, slot, held)
            .compare_exchange(TACET_HELD_LEFT, TACET_HELD_NOT, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

impl Records for FrameRecords {
    fn tag(&self, slot: u32) -> u32 {
        field!(self, slot, tag).load(Ordering::Relaxed)
    }

    fn set_tag(&self, slot: u32, tag: u32) {
        field!(self, slot, tag).store(tag, Ordering::Relaxed);
    }

    fn exchange_tag(&self, slot: u32, current: u32, new: u32) -> bool {
        field!(self, slot, tag).compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn neighbours(&self, slot: u32) -> Neighbours {
        Neighbours {
            next: field!(self, slot, next).load(Ordering::Relaxed),
            previous: field!(self, slot, previous).load(Ordering::Relaxed),
        }
    }

    fn set_neighbours(&self, slot: u32, neighbours: Neighbours) {
        field!(self, slot, next).store(neighbours.next, Ordering::Relaxed);
        field!(self, slot, previous).store(neighbours.previous, Ordering::Relaxed);
    }
}
