// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fake controller and what it reaches: the rings of one pair, memory by device addresses, and a disk.
//!
//! It is as lazy and as unordered as the specification allows: with shadows it sleeps when it has caught up until the
//! doorbell rings, and it completes commands in any order. It panics at what a controller or Linux must never see.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use tacet_pico_nvme::command::Command;
use tacet_pico_nvme::{Completion, Door, LIST_ENTRIES, LISTS, QueueMemory};

pub const LISTS_AT: u64 = 0x7000_0000;
pub const SECTOR: usize = 512;
pub const NAMESPACE: u32 = 3;

pub struct Controller {
    depth: u16,
    pub most_bytes: u32,
    /// It takes segments.
    pub segments: Cell<bool>,
    /// A list of segments was full.
    pub full: Cell<bool>,
    pub epoch: Cell<u32>,
    /// After so many looks at the epoch Linux begins to take the pair away.
    pub looks_left: Cell<Option<u32>>,
    ringing: Cell<bool>,
    submissions: RefCell<Vec<Command>>,
    completions: RefCell<Vec<Completion>>,
    lists: RefCell<Vec<u64>>,
    /// By door: the shadow, and where the device wants the doorbell.
    shadows: Option<[(Cell<u16>, Cell<u16>); 2]>,
    doors: [Cell<u16>; 2],
    awake: Cell<bool>,
    pub rings: Cell<u32>,
    /// Flushes, and sectors that were written to last.
    pub flushes: Cell<u32>,
    pub through: Cell<usize>,
    head: Cell<u16>,
    tail: Cell<u16>,
    phase: Cell<bool>,
    begun: RefCell<Vec<Command>>,
    pub memory: RefCell<BTreeMap<u64, Vec<u8>>>,
    pub disk: RefCell<Vec<u8>>,
}

impl Controller {
    pub fn new(depth: u16, most_bytes: u32, shadows: bool, sectors: usize) -> Self {
        let disk = (0..sectors * SECTOR).map(|at| ((at / 3) ^ (at >> 9)) as u8).collect();
        Self {
            depth,
            most_bytes,
            segments: Cell::new(false),
            full: Cell::new(false),
            epoch: Cell::new(2),
            looks_left: Cell::new(None),
            ringing: Cell::new(false),
            submissions: RefCell::new(vec![[0; 8]; depth.into()]),
            completions: RefCell::new(vec![Completion { command: 0, status: 0 }; depth.into()]),
            lists: RefCell::new(vec![0; usize::from(LISTS) * LIST_ENTRIES as usize]),
            shadows: shadows.then(Default::default),
            doors: Default::default(),
            awake: Cell::new(false),
            rings: Cell::new(0),
            flushes: Cell::new(0),
            through: Cell::new(0),
            head: Cell::new(0),
            tail: Cell::new(0),
            phase: Cell::new(true),
            begun: RefCell::new(Vec::new()),
            memory: RefCell::new(BTreeMap::new()),
            disk: RefCell::new(disk),
        }
    }

    /// What the device knows of a door.
    fn door(&self, door: Door) -> u16 {
        match &self.shadows {
            Some(shadows) => shadows[door as usize].0.get(),
            None => self.doors[door as usize].get(),
        }
    }

    /// Takes new commands, if it is awake; then, with shadows, sleeps.
    pub fn fetch(&self) {
        if !self.awake.replace(false) {
            return;
        }
        while self.head.get() != self.door(Door::Submission) {
            self.begun.borrow_mut().push(self.submissions.borrow()[usize::from(self.head.get())]);
            self.head.set((self.head.get() + 1) % self.depth);
        }
        if let Some(shadows) = &self.shadows {
            shadows[0].1.set(self.head.get());
        }
    }

    /// From now on it looks at its shadows all the time, and says so.
    pub fn looks_by_itself(&self) {
        self.shadows.iter().flatten().for_each(|(_, event)| event.set(u16::MAX / 2));
        self.awake.set(true);
    }

    pub fn commands_begun(&self) -> usize {
        self.begun.borrow().len()
    }

    /// Executes one of the commands, if there is one and room for its completion. `status`: by sector, 0 or what it fails
    /// with.
    pub fn complete_one(&self, which: usize, status: impl Fn(u64) -> u16) {
        let count = self.begun.borrow().len();
        let next = (self.tail.get() + 1) % self.depth;
        if count == 0 || next == self.door(Door::Completion) {
            return;
        }
        let command = self.begun.borrow_mut().swap_remove(which % count);
        let status = status(command[5]);
        if status == 0 {
            self.execute(&command);
        }
        let completion =
            Completion { command: (command[0] >> 16) as u16, status: status << 1 | u16::from(self.phase.get()) };
        self.completions.borrow_mut()[usize::from(self.tail.get())] = completion;
        self.tail.set(next);
        self.phase.set(self.phase.get() ^ (next == 0));
    }

    fn execute(&self, command: &Command) {
        assert_eq!((command[0] >> 32) as u32, NAMESPACE);
        if command[0] & 0xff == 0 {
            assert_eq!(command[1..], [0; 7]);
            return self.flushes.set(self.flushes.get() + 1);
        }
        let sectors = (command[6] & 0xffff) as usize + 1;
        assert!(sectors * SECTOR <= self.most_bytes as usize, "longer than the device takes");
        if command[6] >> 30 & 1 != 0 {
            assert_eq!(command[0] & 0xff, 1, "a read that lasts");
            self.through.set(self.through.get() + sectors);
        }
        let mut at = command[5] as usize * SECTOR;
        let end = at + sectors * SECTOR;
        for (address, bytes) in self.pieces(command, end - at) {
            let mut memory = self.memory.borrow_mut();
            let page = memory.get_mut(&(address & !4095)).expect("a page of the buffer");
            let place = (address & 4095) as usize;
            let (memory, disk) = (&mut page[place..place + bytes], &mut self.disk.borrow_mut()[at..at + bytes]);
            match command[0] & 0xff {
                1 => disk.copy_from_slice(memory),
                2 => memory.copy_from_slice(disk),
                other => panic!("command {other:#x}"),
            }
            at += bytes;
        }
        assert_eq!(at, end);
    }

    /// Where the data are, page by page.
    fn pieces(&self, command: &Command, bytes: usize) -> Vec<(u64, usize)> {
        match command[0] >> 14 & 3 {
            0 => self.pages(command, bytes),
            1 => self.segments(command, bytes),
            other => panic!("kind {other} of a data pointer"),
        }
    }

    /// As the specification has segments: data blocks, alone or in one list.
    fn segments(&self, command: &Command, bytes: usize) -> Vec<(u64, usize)> {
        assert!(self.segments.get());
        let (kind, length) = (command[4] >> 56, command[4] as u32 as usize);
        assert_eq!(command[4] >> 32 & 0xff_ffff, 0);
        let blocks = if kind == 0 {
            vec![(command[3], length)]
        } else {
            assert_eq!((kind, length % 16), (0x30, 0));
            self.full.set(length == 4096);
            let list = (command[3] - LISTS_AT) as usize / 8;
            let words = &self.lists.borrow()[list..list + length / 8];
            words.chunks(2).map(|entry| (entry[0], usize::try_from(entry[1]).unwrap())).collect()
        };
        assert_eq!(blocks.iter().map(|block| block.1).sum::<usize>(), bytes);
        let mut pieces = Vec::new();
        for (mut address, mut left) in blocks {
            assert!(left > 0 && address.is_multiple_of(4) && left.is_multiple_of(4));
            while left > 0 {
                let taken = left.min(4096 - address as usize % 4096);
                pieces.push((address, taken));
                (address, left) = (address + taken as u64, left - taken);
            }
        }
        pieces
    }

    /// As the specification has pages of 4 KiB.
    fn pages(&self, command: &Command, bytes: usize) -> Vec<(u64, usize)> {
        let (first, second) = (command[3], command[4]);
        assert!(first.is_multiple_of(4));
        let mut pieces = vec![(first, bytes.min(4096 - (first & 4095) as usize))];
        let mut left = bytes - pieces[0].1;
        let list = (left > 4096).then(|| (second - LISTS_AT) / 8);
        for index in 0..left.div_ceil(4096) {
            let page = list.map_or(second, |list| self.lists.borrow()[list as usize + index]);
            assert!(page.is_multiple_of(4096), "a later page has no offset");
            pieces.push((page, left.min(4096)));
            left -= left.min(4096);
        }
        pieces
    }

    /// Linux makes the pair anew: rings full of zeros, and another epoch.
    pub fn renew(&self) {
        self.epoch.set((self.epoch.get() | 1) + 2);
        self.forget();
        self.epoch.set(self.epoch.get() + 1);
    }

    /// The device forgets the pair, and the memory of the rings is cleared.
    pub fn forget(&self) {
        self.completions.borrow_mut().fill(Completion { command: 0, status: 0 });
        self.begun.borrow_mut().clear();
        for door in 0..2 {
            self.doors[door].set(0);
            if let Some(shadows) = &self.shadows {
                shadows[door].0.set(0);
                shadows[door].1.set(0);
            }
        }
        self.head.set(0);
        self.tail.set(0);
        self.phase.set(true);
        self.awake.set(false);
    }
}

impl QueueMemory for Controller {
    fn epoch(&self) -> u32 {
        if let Some(left) = self.looks_left.get() {
            self.looks_left.set(left.checked_sub(1));
            if left == 0 {
                self.epoch.set(self.epoch.get() | 1);
            }
        }
        self.epoch.get()
    }

    fn set_ringing(&self, ringing: bool) {
        assert_ne!(self.ringing.replace(ringing), ringing);
    }

    fn put_command(&self, slot: u16, command: &Command) {
        self.submissions.borrow_mut()[usize::from(slot)] = *command;
    }

    fn put_word(&self, list: u16, index: u16, word: u64) {
        assert!(u32::from(index) < LIST_ENTRIES);
        self.lists.borrow_mut()[usize::from(list) * LIST_ENTRIES as usize + usize::from(index)] = word;
    }

    fn completion(&self, slot: u16) -> Completion {
        self.completions.borrow()[usize::from(slot)]
    }

    fn exchange_shadow(&self, door: Door, value: u16) -> Option<(u16, u16)> {
        assert!(self.ringing.get() && self.epoch.get().is_multiple_of(2), "Linux may have taken the pair away");
        let (shadow, event) = &self.shadows.as_ref()?[door as usize];
        Some((shadow.replace(value), event.get()))
    }

    fn ring(&self, door: Door, value: u16) {
        assert!(self.ringing.get() && self.epoch.get().is_multiple_of(2), "Linux may have taken the pair away");
        assert!(value < self.depth);
        self.doors[door as usize].set(value);
        self.rings.set(self.rings.get() + 1);
        self.awake.set(true);
    }
}
