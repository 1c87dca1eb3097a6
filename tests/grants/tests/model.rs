// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A model of open files, tables of descriptors, the page cache and grants, in random interleavings.
//!
//! Who may write what: a core that serves a call writes the disk only if the descriptor of the calling thread's own table
//! means the disk, opened directly, at the call's beginning. What every reader sees: after a write has ended nobody reads
//! an older block, through the page cache or past it, unless somebody wrote the block later.
//!
//! Which calls end grants is the module's own judgement (`pico/linux/meaning.c`); the rest is the protocol of
//! `abi/include/tacet/pico.h` in a few lines, each of which can be taken out here to see the model fail.

use std::collections::HashMap;
use std::sync::OnceLock;

use proptest::prelude::*;
use tacet_grants_tests::{Abi, Call, Meaning, meanings};

const DESCRIPTORS: usize = 3;
const TASKS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum File {
    /// The disk, opened with O_DIRECT, and the same file after F_SETFL took that away.
    Disk,
    Buffered,
    Other,
}

/// What a task of the process asks Linux to do, by any ABI.
#[derive(Debug, Clone, Copy)]
enum Step {
    Close(usize, usize),
    /// By dup2 or dup3: the second becomes the first.
    Copy(usize, usize, usize, bool),
    CloseRange(usize),
    Unshare(usize),
    SetFlags(usize, usize),
    OpenDisk(usize, usize),
    /// A child with the same memory or not, and the same table or not, as a task.
    Fork(usize, bool, bool),
    /// Makes a ring, which closes descriptors later without a call; or gives it up.
    Ring(usize),
    RingCloses(usize, usize),
    /// A read or write on Linux, after which Linux considers a grant.
    Ask(usize, usize),
    /// A core begins a write, its device does it, and the program learns of it.
    Begin(usize, usize),
    Device,
    Finish,
    /// Another program's buffered read begins, and its data arrive.
    Look,
    Arrive,
    /// The module's work: forgets pages of revoked grants that nobody uses.
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Valid,
    Revoked,
    Ended,
    Free,
}

#[derive(Debug, Clone, Copy)]
struct Grant {
    table: usize,
    descriptor: usize,
    state: State,
    using: u32,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    table: usize,
    /// It has the process's memory, whose grants cores find.
    ours: bool,
    ring: bool,
}

/// A write that a core serves.
#[derive(Debug, Clone, Copy)]
struct Write {
    grant: usize,
    value: u32,
    done: bool,
    left: bool,
}

/// Of the block in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    None,
    /// Its data are on their way, as the disk had them.
    Coming(u32),
    Has(u32),
}

struct Model {
    tables: Vec<[Option<File>; DESCRIPTORS]>,
    tasks: Vec<Task>,
    grants: Vec<Grant>,
    write: Option<Write>,
    page: Page,
    disk: u32,
    values: u32,
    /// The value of the last write that has ended: nobody may see an older one.
    ended: u32,
}

/// The numbers of 64-bit calls, and of ia32's.
const CLOSE: (i64, i64) = (3, 6);
const DUP2: (i64, i64) = (33, 63);
const DUP3: (i64, i64) = (292, 330);
const CLOSE_RANGE: (i64, i64) = (436, 436);
const UNSHARE: (i64, i64) = (272, 310);
const FCNTL: (i64, i64) = (72, 55);
const RING_SETUP: (i64, i64) = (425, 425);
const RING_ENTER: (i64, i64) = (426, 426);

/// What the module thinks of each call that the model makes.
fn judged(call: (i64, i64), old: bool, first: usize, second: usize) -> Meaning {
    static ALL: OnceLock<HashMap<Call, Meaning>> = OnceLock::new();
    let make = |call: (i64, i64), old, first: usize, second: usize| Call {
        abi: if old { Abi::Ia32 } else { Abi::Native },
        number: if old { call.1 } else { call.0 },
        first: first as u64,
        second: second as u64,
    };
    let all = ALL.get_or_init(|| {
        let mut calls = Vec::new();
        for call in [CLOSE, DUP2, DUP3, CLOSE_RANGE, UNSHARE, FCNTL, RING_SETUP, RING_ENTER] {
            for (first, second) in (0..5).flat_map(|first| (0..5).map(move |second| (first, second))) {
                calls.extend([false, true].map(|old| make(call, old, first, second)));
            }
        }
        let said = meanings(&calls).expect("the module answers");
        calls.into_iter().zip(said).collect()
    });
    all[&make(call, old, first, second)]
}

impl Model {
    fn new() -> Self {
        let tables = vec![[Some(File::Disk), Some(File::Other), None]];
        let tasks = vec![Task { table: 0, ours: true, ring: false }];
        let (grants, write, page) = (Vec::new(), None, Page::None);
        Self { tables, tasks, grants, write, page, disk: 0, values: 0, ended: 0 }
    }

    fn task(&self, number: usize) -> Task {
        self.tasks[number % self.tasks.len()]
    }

    fn revoke(&mut self, chosen: impl Fn(&Grant) -> bool, state: State) {
        for grant in self.grants.iter_mut().filter(|grant| chosen(grant)) {
            match (grant.state, state) {
                (State::Valid, _) | (State::Revoked, State::Ended) => grant.state = state,
                _ => {}
            }
        }
    }

    /// Before and after a call the module ends what it judges to change.
    fn judge(&mut self, task: Task, meaning: Meaning) {
        if let Some((first, last)) = meaning.descriptors.filter(|_| task.ours) {
            let within = |grant: &Grant| (first..=last).contains(&(grant.descriptor as i64));
            self.revoke(|grant| within(grant) && grant.table == task.table, State::Ended);
            self.revoke(within, State::Revoked);
        }
        if meaning.file {
            self.revoke(|_| true, State::Revoked);
        }
    }

    /// Every user of the table has our memory, and none of them a ring.
    fn own_table(&self, table: usize) -> bool {
        let mut users = self.tasks.iter().filter(|task| task.table == table);
        users.all(|task| task.ours && !task.ring)
    }

    fn change(&mut self, step: Step, old: bool) {
        match step {
            Step::Close(by, at) => self.replace(by, (CLOSE, at, 0), old, at, None),
            Step::Copy(by, from, to, with_flags) => {
                let file = self.tables[self.task(by).table][from];
                if file.is_some() && from != to {
                    self.replace(by, (if with_flags { DUP3 } else { DUP2 }, from, to), old, to, file);
                }
            }
            Step::CloseRange(by) => {
                let task = self.task(by);
                self.judge(task, judged(CLOSE_RANGE, old, 0, 4));
                self.tables[task.table] = [None; DESCRIPTORS];
            }
            Step::Unshare(by) => {
                let (number, task) = (by % self.tasks.len(), self.task(by));
                self.judge(task, judged(UNSHARE, old, 0, 0));
                if self.tasks.iter().filter(|other| other.table == task.table).count() > 1 {
                    self.tables.push(self.tables[task.table]);
                    self.tasks[number].table = self.tables.len() - 1;
                }
            }
            Step::SetFlags(by, at) => {
                let task = self.task(by);
                if self.tables[task.table][at] == Some(File::Disk) {
                    self.judge(task, judged(FCNTL, old, at, 4));
                    self.tables[task.table][at] = Some(File::Buffered);
                }
            }
            Step::OpenDisk(by, at) => {
                let slot = &mut self.tables[self.tasks[by % self.tasks.len()].table][at];
                *slot = slot.or(Some(File::Disk));
            }
            Step::Fork(by, memory, table) => self.fork(self.task(by), memory, table),
            Step::Ring(by) => {
                let number = by % self.tasks.len();
                self.judge(self.tasks[number], judged(RING_SETUP, old, 1, 0));
                self.tasks[number].ring = !self.tasks[number].ring;
            }
            Step::RingCloses(by, at) => {
                // By itself, or by io_uring_enter of the thread that has it: either way without a close.
                let task = self.task(by);
                if task.ring {
                    self.tables[task.table][at] = None;
                }
            }
            _ => unreachable!("not a change"),
        }
    }

    fn replace(&mut self, by: usize, call: ((i64, i64), usize, usize), old: bool, at: usize, file: Option<File>) {
        let (task, meaning) = (self.task(by), judged(call.0, old, call.1, call.2));
        self.judge(task, meaning);
        self.tables[task.table][at] = file;
        self.judge(task, meaning);
    }

    fn fork(&mut self, parent: Task, memory: bool, table: bool) {
        if self.tasks.len() == TASKS {
            return;
        }
        let mut child = Task { ours: parent.ours && memory, ring: false, ..parent };
        if !table {
            self.tables.push(self.tables[parent.table]);
            child.table = self.tables.len() - 1;
        }
        self.tasks.push(child);
        if parent.ours && memory != table {
            self.revoke(|_| true, State::Revoked);
        }
    }

    fn ask(&mut self, by: usize, descriptor: usize) {
        let task = self.task(by);
        let has = self
            .grants
            .iter()
            .any(|grant| grant.state != State::Free && (grant.table, grant.descriptor) == (task.table, descriptor));
        let wanted = self.tables[task.table][descriptor] == Some(File::Disk) && !has;
        if !task.ours || !wanted || !self.own_table(task.table) {
            return;
        }
        if matches!(self.page, Page::Has(_)) {
            self.page = Page::None;
        }
        if self.page == Page::None {
            self.grants.push(Grant { table: task.table, descriptor, state: State::Valid, using: 0 });
        }
    }

    fn begin(&mut self, by: usize, descriptor: usize) {
        let task = self.task(by);
        let found = self.grants.iter().position(|grant| {
            grant.state == State::Valid && (grant.table, grant.descriptor) == (task.table, descriptor)
        });
        let (Some(grant), None, true) = (found, self.write, task.ours) else { return };
        assert_eq!(self.tables[task.table][descriptor], Some(File::Disk), "a core writes the disk for another file");
        self.grants[grant].using += 1;
        self.values += 1;
        self.write = Some(Write { grant, value: self.values, done: false, left: false });
    }

    fn device(&mut self) {
        if let Some(write) = self.write.as_mut().filter(|write| !write.done) {
            write.done = true;
            self.disk = write.value;
        }
    }

    /// The core looks at the device and at the grant; a revoked write ends when its grant is free.
    fn finish(&mut self) {
        let Some(write) = self.write.as_mut().filter(|write| write.done) else { return };
        let grant = &mut self.grants[write.grant];
        if !write.left {
            grant.using -= 1;
            write.left = true;
            if grant.state != State::Valid {
                return;
            }
        } else if grant.state != State::Free {
            return;
        }
        self.ended = write.value;
        self.write = None;
    }

    /// Linux tells before the page's data are asked for.
    fn look(&mut self) {
        match self.page {
            Page::None => {
                self.revoke(|_| true, State::Revoked);
                self.page = Page::Coming(self.disk);
            }
            Page::Coming(_) => {}
            Page::Has(value) => assert!(value >= self.ended, "a reader sees {value} after {} was written", self.ended),
        }
    }

    fn arrive(&mut self) {
        if let Page::Coming(value) = self.page {
            self.page = Page::Has(value);
        }
    }

    fn release(&mut self) {
        for index in 0..self.grants.len() {
            let grant = self.grants[index];
            if matches!(grant.state, State::Valid | State::Free) || grant.using != 0 {
                continue;
            }
            self.arrive(); // a page that is being read is waited for
            self.page = Page::None;
            self.grants[index].state = State::Free;
        }
    }

    fn step(&mut self, step: Step, old: bool) {
        match step {
            Step::Ask(by, descriptor) => self.ask(by, descriptor),
            Step::Begin(by, descriptor) => self.begin(by, descriptor),
            Step::Device => self.device(),
            Step::Finish => self.finish(),
            Step::Look => self.look(),
            Step::Arrive => self.arrive(),
            Step::Release => self.release(),
            change => self.change(change, old),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<(Step, bool)>> {
    let (task, at) = (0..TASKS, 0..DESCRIPTORS);
    let both = (task.clone(), at.clone());
    let step = prop_oneof![
        1 => both.clone().prop_map(|(by, at)| Step::Close(by, at)),
        3 => (both.clone(), at.clone(), any::<bool>()).prop_map(|((by, from), to, flags)| Step::Copy(by, from, to, flags)),
        1 => task.clone().prop_map(Step::CloseRange),
        1 => task.clone().prop_map(Step::Unshare),
        1 => both.clone().prop_map(|(by, at)| Step::SetFlags(by, at)),
        3 => both.clone().prop_map(|(by, at)| Step::OpenDisk(by, at)),
        1 => (task.clone(), any::<bool>(), any::<bool>()).prop_map(|(by, memory, table)| Step::Fork(by, memory, table)),
        1 => task.clone().prop_map(Step::Ring),
        2 => both.clone().prop_map(|(by, at)| Step::RingCloses(by, at)),
        8 => both.clone().prop_map(|(by, at)| Step::Ask(by, at)),
        8 => both.prop_map(|(by, at)| Step::Begin(by, at)),
        6 => Just(Step::Device),
        6 => Just(Step::Finish),
        3 => Just(Step::Look),
        3 => Just(Step::Arrive),
        4 => Just(Step::Release),
    ];
    prop::collection::vec((step, any::<bool>()), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_grant_reaches_what_the_program_named(steps in steps()) {
        let mut model = Model::new();
        for (step, old) in steps {
            model.step(step, old);
        }
    }
}
