// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of [`super`]: histories of calls against a model that knows each page, and what NPTL and malloc do.

use super::*;
use crate::paging::Protection;
use proptest::prelude::*;
use std::vec::Vec;
extern crate std;

const PAGE: u64 = 4096;
const BASE: u64 = 0x1000_0020_0000;
const PAGES: usize = 24;
/// In one history.
const CALLS: usize = if cfg!(miri) { 8 } else { 40 };
const RIGHTS: [Protection; 3] = [Protection::NONE, Protection::READ_WRITE, Protection::READ_EXECUTE];
const CONTENTS: [Content; 4] = [Content::Own, Content::Own, Content::File, Content::Shared];
const OWN: (Protection, Content) = (Protection::READ_WRITE, Content::Own);

/// A page as the program and the processor have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Page {
    mapped: Option<(Protection, Content)>,
    /// As page tables have it.
    rights: Protection,
    /// The program has written to it since it was zeroed last.
    used: bool,
}

struct Model {
    pages: [Page; PAGES],
    program_break: usize,
}

fn at(page: usize) -> u64 {
    BASE + page as u64 * PAGE
}

fn page(address: u64) -> usize {
    ((address - BASE) / PAGE) as usize
}

impl Model {
    fn free(&self, first: usize, count: usize) -> bool {
        self.pages.get(first..first + count).is_some_and(|pages| pages.iter().all(|page| page.mapped.is_none()))
    }

    fn highest(&self, count: usize) -> Option<usize> {
        (0..=PAGES.checked_sub(count)?).rev().find(|&first| self.free(first, count))
    }

    fn set(&mut self, first: usize, count: usize, to: Option<(Protection, Content)>) {
        self.pages[first..first + count].iter_mut().for_each(|page| page.mapped = to);
    }

    /// Does what a call tells its caller to do, and then writes to the new memory as the program would.
    fn obey(&mut self, changes: &[Change], zero: Pieces, given: core::ops::Range<usize>) {
        for change in changes {
            let first = page(change.address);
            for page in &mut self.pages[first..first + (change.bytes / PAGE) as usize] {
                assert_ne!(page.rights, change.protection, "a change that changes nothing");
                page.rights = change.protection;
            }
        }
        for (address, bytes) in zero {
            let first = page(address);
            assert!(given.contains(&first) && first + (bytes / PAGE) as usize <= given.end, "zeroes elsewhere");
            self.pages[first..first + (bytes / PAGE) as usize].iter_mut().for_each(|page| page.used = false);
        }
        for page in &mut self.pages[given] {
            assert!(!page.used, "what another mapping has written is seen");
            page.used = true;
        }
    }

    fn check(&self, addresses: &Addresses) {
        let mut mapped = [None; PAGES];
        let mut last: Option<Mapping> = None;
        for mapping in addresses.mappings() {
            let first = page(mapping.address);
            mapped[first..first + (mapping.bytes / PAGE) as usize].fill(Some((mapping.protection, mapping.content)));
            if let Some(last) = last {
                let touch = last.address + last.bytes == mapping.address;
                let alike = (last.protection, last.content) == (mapping.protection, mapping.content);
                assert!(!(touch && alike), "not coalesced: {last:?} {mapping:?}");
            }
            last = Some(mapping);
        }
        assert_eq!(mapped, self.pages.map(|page| page.mapped));
        for (number, page) in self.pages.iter().enumerate() {
            let rights = page.mapped.map(|(rights, _)| rights);
            assert_eq!(page.rights, rights.unwrap_or(UNUSED), "page {number}");
            assert_eq!(addresses.protection(at(number) + 5), rights);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Map(Placement, usize, Protection, Content),
    Unmap(usize, usize),
    Protect(usize, usize, Protection),
    Break(usize),
    Remap(usize, usize, usize, Where),
}

fn calls() -> impl Strategy<Value = Call> {
    let place = || (0..PAGES + 2).prop_map(at);
    let placement = prop_oneof![
        3 => Just(Placement::Anywhere),
        1 => place().prop_map(Placement::Hint),
        1 => place().prop_map(Placement::Fixed),
        1 => place().prop_map(Placement::FixedNoReplace),
    ];
    let to = prop_oneof![Just(Where::Stays), Just(Where::Anywhere), place().prop_map(Where::Fixed)];
    let rights = || prop::sample::select(&RIGHTS[..]);
    let count = || prop_oneof![4 => 1usize..5, 1 => 5usize..PAGES];
    let content = prop::sample::select(&CONTENTS[..]);
    let map = (placement, count(), rights(), content);
    prop_oneof![
        5 => map.prop_map(|(placement, count, to, content)| Call::Map(placement, count, to, written(to, content))),
        2 => (0..PAGES, count()).prop_map(|(first, count)| Call::Unmap(first, count)),
        2 => (0..PAGES, count(), rights()).prop_map(|(first, count, to)| Call::Protect(first, count, to)),
        1 => (0..8usize).prop_map(Call::Break),
        2 => (0..PAGES, 1usize..4, count(), to).prop_map(|(first, old, new, to)| Call::Remap(first, old, new, to)),
    ]
}

/// The content of memory with these rights.
fn written(rights: Protection, content: Content) -> Content {
    match content {
        Content::File if rights.write => Content::Written,
        // nobody maps so
        Content::Shared if rights.write => Content::Own,
        content => content,
    }
}

/// Both sides of one call. Whether it succeeded.
fn step(model: &mut Model, addresses: &mut Addresses, call: Call) -> Result<(), Error> {
    let mut changes = Vec::new();
    let changed = |change| changes.push(change);
    match call {
        Call::Map(placement, count, to, content) => {
            let given = addresses.map(placement, count as u64 * PAGE - 7, (to, content), changed)?;
            let first = page(given.address);
            match placement {
                Placement::Hint(hint) if model.free(page(hint), count) => assert_eq!(given.address, hint),
                Placement::Anywhere | Placement::Hint(_) => assert_eq!(Some(first), model.highest(count)),
                Placement::Fixed(place) => assert_eq!(given.address, place),
                Placement::FixedNoReplace(_) => assert!(model.free(first, count)),
            }
            model.set(first, count, Some((to, content)));
            model.obey(&changes, given.zero, first..first + count);
        }
        Call::Unmap(first, count) => {
            addresses.unmap(at(first), count as u64 * PAGE, changed)?;
            model.set(first, count, None);
            model.obey(&changes, Pieces::default(), 0..0);
        }
        Call::Protect(first, count, to) => {
            addresses.protect(at(first), count as u64 * PAGE, to, changed)?;
            for page in &mut model.pages[first..first + count] {
                let (_, content) = page.mapped.expect("mapped");
                assert!(!(to.write && content == Content::Shared), "a shared copy became writable");
                page.mapped = Some((to, written(to, content)));
            }
            model.obey(&changes, Pieces::default(), 0..0);
        }
        Call::Break(wanted) => {
            let given = addresses.set_break(at(wanted), changed);
            let (old, new) = (model.program_break, page(given.address));
            if new != wanted {
                return Err(Error::NoMemory);
            }
            match new.checked_sub(old) {
                Some(grown) => model.set(old, grown, Some(OWN)),
                None => model.set(new, old - new, None),
            }
            model.program_break = new;
            model.obey(&changes, given.zero, old.min(new)..new.max(old).min(new));
        }
        Call::Remap(first, old, new, to) => {
            let remap = Remap { address: at(first), old_bytes: old as u64 * PAGE, new_bytes: new as u64 * PAGE, to };
            let done = addresses.remap(remap, changed)?;
            let rights = model.pages[first].mapped;
            assert!(new <= old || rights.is_some_and(|(_, content)| content == Content::Own), "a copy became longer");
            assert!(rights.is_some() && model.pages[first..first + old].iter().all(|page| page.mapped == rights));
            let (place, copied) = (page(done.address), (done.copy_bytes / PAGE) as usize);
            let kept = if place == first { old.min(new) } else { copied };
            assert_eq!(kept, old.min(new));
            model.set(first, old, None);
            model.set(place, new, rights);
            model.pages[place..place + kept].iter_mut().for_each(|page| page.used = true);
            model.obey(&changes, done.zero, place + kept..place + new);
        }
    }
    Ok(())
}

/// That remember so many mappings.
fn remembering(count: usize) -> Addresses {
    Addresses::new(std::vec![0xa5; count * 9].leak())
}

fn run(room: usize, calls: &[Call]) {
    let mut addresses = remembering(room);
    addresses.begin(BASE, PAGES as u64 * PAGE + 5);
    let unused = Page { mapped: None, rights: UNUSED, used: false };
    let mut model = Model { pages: [unused; PAGES], program_break: 0 };
    for &call in calls {
        let before = model.pages;
        if let Err(error) = step(&mut model, &mut addresses, call) {
            assert_eq!(before, model.pages);
            check_refusal(room, &model, &addresses, call, error);
        }
        model.check(&addresses);
    }
}

/// A call that could be done is refused only if the list is nearly full.
fn check_refusal(room: usize, model: &Model, addresses: &Addresses, call: Call, error: Error) {
    let full = addresses.mappings().count() + 4 > room;
    let possible = match call {
        Call::Map(Placement::Anywhere | Placement::Hint(_), count, ..) => model.highest(count).is_some(),
        Call::Map(Placement::Fixed(place), count, ..) => page(place) + count <= PAGES,
        Call::Map(Placement::FixedNoReplace(place), count, ..) => {
            assert!(error != Error::Exists || !model.free(page(place), count));
            error != Error::Exists && page(place) + count <= PAGES
        }
        Call::Unmap(first, count) => first + count <= PAGES,
        Call::Protect(first, count, to) => {
            let may = |page: &Page| page.mapped.is_some_and(|(_, content)| !to.write || content != Content::Shared);
            model.pages.get(first..first + count).is_some_and(|pages| pages.iter().all(may))
        }
        Call::Break(to) => model.program_break >= to || model.free(model.program_break, to - model.program_break),
        Call::Remap(..) => false,
    };
    assert!(full || !possible, "{call:?} was refused: {error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 1000 }))]

    #[test]
    fn histories_are_as_the_model_says(calls in prop::collection::vec(calls(), 1..CALLS)) {
        run(64, &calls);
    }

    #[test]
    fn a_full_list_refuses_and_changes_nothing(calls in prop::collection::vec(calls(), 1..CALLS)) {
        run(5, &calls);
    }
}

fn area(bytes: u64) -> Addresses {
    let mut addresses = remembering(16);
    addresses.begin(BASE, bytes);
    addresses
}

/// As NPTL does: a mapping without rights, then all but its lowest page made accessible.
#[test]
fn a_thread_stack_has_a_guard_and_costs_one_change_at_its_end() {
    let mut addresses = area(64 << 20);
    let mut changes = Vec::new();
    let stack = addresses
        .map(Placement::Anywhere, 8 << 20, (Protection::NONE, Content::Own), |change| changes.push(change))
        .unwrap();
    assert_eq!(stack.address, BASE + (56 << 20));
    assert_eq!(stack.zero.into_iter().count(), 0);
    let above = stack.address + PAGE;
    addresses.protect(above, (8 << 20) - PAGE, Protection::READ_WRITE, |change| changes.push(change)).unwrap();
    assert_eq!(addresses.protection(above - 1), Some(Protection::NONE));
    changes.clear();
    addresses.unmap(stack.address, 8 << 20, |change| changes.push(change)).unwrap();
    assert_eq!(changes, [Change { address: stack.address, bytes: PAGE, protection: UNUSED }]);
    let again = addresses.map(Placement::Anywhere, 8 << 20, OWN, |_| panic!("no change")).unwrap();
    assert_eq!(
        (again.address, again.zero.into_iter().collect::<Vec<_>>()),
        (stack.address, [(stack.address, 8 << 20)].into())
    );
}

#[test]
fn wrong_arguments_have_the_errors_of_linux() {
    let mut addresses = area(1 << 20);
    let rights = Protection::READ_WRITE;
    let mut map = |placement, bytes| addresses.map(placement, bytes, OWN, |_| ()).map(|given| given.address - BASE);
    assert_eq!(map(Placement::Anywhere, 0), Err(Error::Invalid));
    assert_eq!(map(Placement::Anywhere, u64::MAX), Err(Error::NoMemory));
    assert_eq!(map(Placement::Anywhere, (1 << 20) + 1), Err(Error::NoMemory));
    assert_eq!(map(Placement::Fixed(BASE + 1), 1), Err(Error::Invalid));
    assert_eq!(map(Placement::Fixed(BASE - PAGE), 1), Err(Error::NoMemory));
    assert_eq!(map(Placement::Hint(BASE + 3 * PAGE + 9), 1), Ok(3 * PAGE));
    assert_eq!(map(Placement::FixedNoReplace(BASE + 3 * PAGE), 1), Err(Error::Exists));
    assert_eq!(addresses.protect(BASE, 4 * PAGE, rights, |_| ()), Err(Error::NoMemory));
    assert_eq!(addresses.protect(BASE, 0, rights, |_| ()), Ok(()));
    assert_eq!(addresses.unmap(BASE + 1, PAGE, |_| ()), Err(Error::Invalid));
    let remap = Remap { address: BASE, old_bytes: PAGE, new_bytes: PAGE, to: Where::Anywhere };
    assert_eq!(addresses.remap(remap, |_| ()), Err(Error::Fault));
    assert!(addresses.is_mapped(BASE + 3 * PAGE, PAGE) && !addresses.is_mapped(BASE + 3 * PAGE, PAGE + 1));
}

#[test]
fn the_break_stops_at_a_mapping() {
    let mut addresses = area(1 << 20);
    addresses.map(Placement::Fixed(BASE + 4 * PAGE), PAGE, (Protection::READ, Content::Own), |_| ()).unwrap();
    assert_eq!(addresses.set_break(0, |_| ()).address, BASE);
    assert_eq!(addresses.set_break(BASE + 100, |_| ()).address, BASE + 100);
    assert_eq!(addresses.set_break(BASE + 4 * PAGE + 1, |_| ()).address, BASE + 100);
    assert_eq!(addresses.set_break(BASE + 4 * PAGE, |_| ()).address, BASE + 4 * PAGE);
    assert_eq!(addresses.set_break(u64::MAX, |_| ()).address, BASE + 4 * PAGE);
}

#[test]
fn a_copy_of_a_file_keeps_what_it_is() {
    let mut addresses = area(1 << 20);
    let mut map = |page: u64, rights, content| {
        addresses.map(Placement::Fixed(BASE + page * PAGE), PAGE, (rights, content), |_| ()).unwrap();
    };
    map(0, Protection::READ, Content::File);
    map(1, Protection::READ, Content::Shared);
    map(2, Protection::READ, Content::Own);
    let contents = |addresses: &Addresses| addresses.mappings().map(|mapping| mapping.content).collect::<Vec<_>>();
    assert_eq!(addresses.protect(BASE, 3 * PAGE, Protection::READ_WRITE, |_| ()), Err(Error::Denied));
    assert_eq!(contents(&addresses), [Content::File, Content::Shared, Content::Own]);
    addresses.protect(BASE, PAGE, Protection::READ_WRITE, |_| ()).unwrap();
    addresses.protect(BASE, 3 * PAGE, Protection::READ, |_| ()).unwrap();
    assert_eq!(contents(&addresses), [Content::Written, Content::Shared, Content::Own]);
    let longer =
        |page: u64| Remap { address: BASE + page * PAGE, old_bytes: PAGE, new_bytes: 2 * PAGE, to: Where::Anywhere };
    assert_eq!(addresses.remap(longer(0), |_| ()), Err(Error::NoMemory));
    assert_eq!(addresses.remap(longer(1), |_| ()), Err(Error::NoMemory));
    assert!(addresses.remap(longer(2), |_| ()).is_ok());
}
