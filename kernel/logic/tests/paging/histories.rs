// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random histories of operations against the model, with every allocation of every operation failing once.

use proptest::prelude::*;
use tacet_logic::paging::{Attributes, Entry, Error, PAGES, PageSize, Protection, Span, View};

use crate::machine::{Failing, Machine};
use crate::model::Model;
use crate::operation::{Operation, frame_of};

/// Which allocations of an operation are made to fail: each alone, and each with all after it.
#[derive(Clone, Copy)]
pub enum Failures {
    None,
    /// The first twelve and the last three.
    Some,
    All,
}

/// Machine, model and the space that both are about.
pub struct World {
    pub machine: Machine,
    pub root: u64,
    pub model: Model,
}

impl World {
    pub fn new(gigabyte: bool) -> Self {
        let mut machine = Machine::new(gigabyte);
        let root = machine.root();
        Self { machine, root, model: Model::default() }
    }

    /// A picture of everything, to try something on.
    pub fn picture(&self) -> Self {
        Self { machine: self.machine.picture(), root: self.root, model: self.model.clone() }
    }

    /// Performs an operation, first on pictures in which allocations fail, then really. True: it succeeded.
    pub fn step(&mut self, operation: &Operation, failures: Failures) -> bool {
        let expected = operation.expect(&self.model, &self.machine, self.root);
        for failing in self.failing(operation, failures) {
            let mut machine = self.machine.picture();
            (machine.failing, machine.allocations, machine.refused) = (failing, 0, 0);
            let result = operation.perform(&mut machine, self.root);
            self.compare(operation, &expected, result.map(|removed| removed.mirrored), &machine);
        }
        self.machine.failing = Failing::None;
        let before = self.machine.picture();
        (self.machine.allocations, self.machine.refused) = (0, 0);
        let result = operation.perform(&mut self.machine, self.root).map(|removed| removed.mirrored);
        self.compare_with(&before, operation, &expected, result, &self.machine);
        if let (Ok((after, _)), Ok(_)) = (expected, result) {
            self.model = after;
        }
        result.is_ok()
    }

    /// How many allocations it makes is seen in a picture.
    fn failing(&self, operation: &Operation, failures: Failures) -> Vec<Failing> {
        let few = match failures {
            Failures::None => return Vec::new(),
            Failures::Some => 12,
            Failures::All => usize::MAX,
        };
        let mut dry = self.machine.picture();
        (dry.failing, dry.allocations) = (Failing::None, 0);
        let _ = operation.perform(&mut dry, self.root);
        let count = dry.allocations;
        let chosen = (0..count).filter(|&n| n < few || n + 3 >= count);
        chosen.flat_map(|n| [Failing::One(n), Failing::From(n)]).collect()
    }

    fn compare(&self, op: &Operation, expected: &Expected, result: Result<u32, Error>, machine: &Machine) {
        self.compare_with(&self.machine, op, expected, result, machine);
    }

    fn compare_with(
        &self,
        before: &Machine,
        operation: &Operation,
        expected: &Expected,
        result: Result<u32, Error>,
        machine: &Machine,
    ) {
        machine.check(&[self.root]);
        match (expected, result) {
            (Ok((after, mirrored)), Ok(reported)) => {
                assert_eq!(*mirrored, reported, "{operation:?}: pages that Linux may map");
                after.check(machine, self.root);
                let mut picture = machine.picture();
                for page in operation.promised(&self.model, after) {
                    let frame = frame_of(&mut picture, self.root, page);
                    assert!(frame.is_some(), "{operation:?}: page {page} has no frame");
                }
            }
            (expected, Err(error)) => {
                match (expected, error) {
                    (Err(expected), error) => assert_eq!(error, *expected, "{operation:?}"),
                    (Ok(_), Error::NoTable) => assert!(machine.refused > 0, "{operation:?}"),
                    (Ok(_), Error::NoFrame) => {
                        let short = (0..3).any(|policy| machine.allowed_frames(policy) < operation.pages());
                        assert!(machine.refused > 0 || short, "{operation:?}: there was memory");
                    }
                    (Ok(_), error) => panic!("{operation:?}: {error:?}"),
                }
                self.model.check(machine, self.root);
                // What was to be executed is divided and may stay so: the same pages, in more tables.
                let apart = matches!(operation, Operation::Protect(_, protection) if protection.execute);
                let pages = |machine| leaves(machine, self.root).into_iter().flat_map(|view| parts(view, apart));
                assert!(pages(machine).eq(pages(before)), "{operation:?}");
                assert_eq!(machine.free_frames(), before.free_frames(), "{operation:?}");
                assert!(apart || machine.tables() <= before.tables(), "{operation:?}");
            }
            (Err(expected), Ok(_)) => panic!("{operation:?} should have failed: {expected:?}"),
        }
    }
}

type Expected = Result<(Model, u32), Error>;

fn leaves(machine: &Machine, root: u64) -> Vec<View> {
    machine.walk(root).0.into_iter().filter(|view| matches!(view.entry, Entry::Leaf(_))).collect()
}

/// The pages of 4 KiB that a leaf is made of, if they are wanted.
fn parts(view: View, wanted: bool) -> Vec<View> {
    match view.entry {
        Entry::Leaf(leaf) if wanted => {
            let part = |n| {
                let mut leaf = leaf;
                leaf.frame += u64::from(n);
                View { first: view.first + n, size: PageSize::Kib4, entry: Entry::Leaf(leaf) }
            };
            (0..view.size.pages()).map(part).collect()
        }
        _ => vec![view],
    }
}

pub fn protections() -> impl Strategy<Value = Protection> {
    let (none, read, write, execute) =
        (Protection::NONE, Protection::READ, Protection::READ_WRITE, Protection::READ_EXECUTE);
    let only_write = Protection { write: true, ..none };
    prop::sample::select(vec![none, read, write, write, write, execute, Protection::ALL, only_write])
}

pub fn attributes() -> impl Strategy<Value = Attributes> {
    let rarely = || prop::sample::select(vec![false, false, false, true]);
    (protections(), 0..3u8, any::<bool>(), rarely(), rarely()).prop_map(
        |(protection, policy, eager, small, undumped)| Attributes { protection, policy, eager, small, undumped },
    )
}

/// Few places, so that operations meet; most of them next to where an entry of some size begins.
fn pages() -> impl Strategy<Value = u32> {
    let places = vec![0, 512, 1024, (1 << 18) - 512, 1 << 18, (1 << 18) + 512, PAGES - 1024];
    (prop::sample::select(places), prop::sample::select(vec![0u32, 0, 0, 1, 3, 100, 511]))
        .prop_map(|(place, offset)| place + offset)
}

fn spans(lengths: Vec<u32>) -> impl Strategy<Value = Span> {
    (pages(), prop::sample::select(lengths))
        .prop_filter_map("within the range", |(first, length)| Span::new(first, length))
}

/// Where the pages of `span` would lie next to themselves. Many of them stay, for then that takes long.
fn beside(span: Span, down: bool) -> u32 {
    match span.pages() {
        pages if pages > 2048 => span.first(),
        pages if down => span.first().saturating_sub(pages),
        _ => span.end(),
    }
}

pub fn operations(lengths: Vec<u32>) -> impl Strategy<Value = Operation> {
    let span = || spans(lengths.clone());
    let sizes = prop::sample::select(vec![PageSize::Kib4, PageSize::Mib2, PageSize::Gib1]);
    prop_oneof![
        5 => (span(), attributes()).prop_map(|(span, attributes)| Operation::Map(span, attributes)),
        3 => (span(), attributes()).prop_map(|(span, attributes)| Operation::Reserve(span, attributes)),
        2 => span().prop_map(Operation::Populate),
        2 => (pages(), protections(), sizes).prop_map(|(page, access, size)| Operation::Fault(page, access, size)),
        4 => (pages(), 1..u64::MAX).prop_map(|(page, value)| Operation::Write(page, value)),
        3 => pages().prop_map(Operation::Mirror),
        4 => span().prop_map(Operation::Unmap),
        3 => span().prop_map(Operation::Discard),
        4 => (span(), protections()).prop_map(|(span, protection)| Operation::Protect(span, protection)),
        1 => (span(), 0..3u8, any::<bool>()).prop_map(|(span, policy, small)| Operation::Advise(span, policy, small)),
        2 => (span(), 1..600u32).prop_map(|(span, pages)| Operation::Grow(span, pages)),
        4 => (span(), pages()).prop_map(|(span, to)| Operation::Shift(span, to)),
        2 => (span(), any::<bool>()).prop_map(|(span, down)| Operation::Shift(span, beside(span, down))),
    ]
}

/// Runs a history, then unmaps everything and looks whether all frames are there again.
fn run(gigabyte: bool, history: &[Operation], failures: Failures) {
    let mut world = World::new(gigabyte);
    let whole = world.machine.free_frames();
    for operation in history {
        world.step(operation, failures);
    }
    assert!(world.step(&Operation::Unmap(Span::ALL), failures));
    assert_eq!((world.machine.free_frames(), world.machine.tables()), (whole, 1));
}

fn lengths() -> Vec<u32> {
    vec![1, 1, 2, 7, 100, 511, 512, 512, 513, 1024, 1500]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    #[test]
    fn small_histories_agree_with_the_model(mut history in prop::collection::vec(operations(lengths()), 1..25)) {
        // Something is there already, so that most operations find what they are about.
        let attributes = Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };
        history.insert(0, Operation::Map(Span::new(0, 1200).unwrap(), attributes));
        history.insert(1, Operation::Map(Span::new((1 << 18) - 500, 1100).unwrap(), attributes));
        history.insert(2, Operation::Mirror(512));
        history.insert(3, Operation::Mirror(1 << 18));
        run(false, &history, Failures::Some);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn histories_that_run_out_of_memory_agree(
        mut history in prop::collection::vec(operations(lengths()), 1..25), used in 2_000..3_500u32,
    ) {
        // Somebody else has most of the memory.
        let attributes = Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };
        history.insert(0, Operation::Map(Span::new(1 << 20, used).unwrap(), attributes));
        run(false, &history, Failures::Some);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn histories_of_gigabytes_agree(
        history in prop::collection::vec(operations(vec![1, 512, 1 << 18, (1 << 18) - 512, (1 << 18) + 3]), 1..10),
    ) {
        run(true, &history, Failures::Some);
    }
}
