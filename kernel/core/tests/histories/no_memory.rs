// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of the partition that these tests never give: its types exist, its values do not.

use std::ops::Range;
use tacet_arch::x86_64::paging::Entries;
use tacet_core::memory::{HeldRange, Leaving, PartitionMemory, SharedRange};
use tacet_logic::frames::Policy;
use tacet_logic::paging::{Memory, Placement, Reach, Retired, Tables};
use tacet_logic::ranges::{Arenas, Pieces};

#[derive(Clone, Copy)]
pub enum NoMemory {}

impl Pieces for NoMemory {
    fn owner(&self, _: u32) -> u16 {
        match *self {}
    }

    fn exchange(&self, _: u32, _: u16, _: u16) -> bool {
        match *self {}
    }
}

impl Tables for NoMemory {
    type Encoding = Entries;

    fn load(&self, _: u64, _: u16) -> u64 {
        match *self {}
    }

    fn store(&self, _: u64, _: u16, _: u64) {
        match *self {}
    }

    fn compare_exchange(&self, _: u64, _: u16, _: u64, _: u64) -> bool {
        match *self {}
    }

    fn allocate_table(&mut self) -> Option<u64> {
        match *self {}
    }

    fn free_table(&mut self, _: u64) {
        match *self {}
    }
}

impl Memory for NoMemory {
    fn allocate(&mut self, _: u8, _: Placement, _: Reach) -> Option<u64> {
        match *self {}
    }

    fn suits(&self, _: u64, _: u8, _: Placement) -> bool {
        match *self {}
    }

    fn is_held(&self, _: u64, _: u8) -> bool {
        match *self {}
    }

    fn free(&mut self, _: u64, _: u8) {
        match *self {}
    }

    fn split(&mut self, _: u64, _: u8, _: u8) {
        match *self {}
    }

    fn zero(&mut self, _: u64, _: u8) {
        match *self {}
    }

    fn copy(&mut self, _: u64, _: u64, _: u8) {
        match *self {}
    }
}

impl PartitionMemory for NoMemory {
    type Range = Self;
    type Leaving = Self;

    fn range(&self, _: u32) -> Option<Self> {
        match *self {}
    }

    fn begin(&mut self, _: Self, _: Policy, _: u32) {
        match *self {}
    }

    fn most(&self) -> u32 {
        match *self {}
    }

    fn nodes(&self) -> u32 {
        match *self {}
    }

    fn node_ids(&self) -> u32 {
        match *self {}
    }

    fn leaving(&self) -> Self {
        match *self {}
    }

    fn tables_left(&self) -> bool {
        match *self {}
    }

    fn free_left(&mut self, _: Self) {
        match *self {}
    }

    fn free_held(&mut self, _: u64) -> bool {
        match *self {}
    }

    fn drain(&mut self) {
        match *self {}
    }

    fn arenas(&mut self) -> &mut Arenas {
        match *self {}
    }
}

impl Leaving for NoMemory {
    fn retire(&mut self, _: Retired) {
        match *self {}
    }

    fn any(&self) -> bool {
        match *self {}
    }
}

impl SharedRange for NoMemory {
    type Held = Self;

    fn base(&self) -> u64 {
        match *self {}
    }

    fn is_eager(&self) -> bool {
        match *self {}
    }

    fn rights(&self) -> u32 {
        match *self {}
    }

    fn top(&self) -> u32 {
        match *self {}
    }

    fn root(&self) -> u64 {
        match *self {}
    }

    fn set_root(&self, _: u64) {
        match *self {}
    }

    fn policy(&self, _: u8) -> Policy {
        match *self {}
    }

    fn number_of(&self, _: Policy, _: impl Fn()) -> Option<u8> {
        match *self {}
    }

    fn inherit(&self, _: &Self) {
        match *self {}
    }

    fn program_break(&self) -> (u64, u64) {
        match *self {}
    }

    fn hold(&self, _: Range<u32>, _: impl Fn()) -> Self {
        match *self {}
    }

    fn try_hold(&self, _: Range<u32>) -> Option<Self> {
        match *self {}
    }
}

impl HeldRange for NoMemory {
    fn is_open(&self) -> bool {
        match *self {}
    }

    fn set_program_break(&self, _: u64) {
        match *self {}
    }
}
