// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One operation on the tables and on the model, and what must be true of both afterwards.

use tacet_logic::paging::{Attributes, Encoding, Entry, Error, Fault, PageSize, Protection, Removed, Span, Tables};

use crate::Entries;
use crate::machine::Machine;
use crate::model::{Model, loses};

#[derive(Clone, Debug)]
pub enum Operation {
    Map(Span, Attributes),
    Reserve(Span, Attributes),
    Populate(Span),
    Fault(u32, Protection, PageSize),
    Write(u32, u64),
    Mirror(u32),
    Unmap(Span),
    Discard(Span),
    Protect(Span, Protection),
    Advise(Span, u8, bool),
    Grow(Span, u32),
    Shift(Span, u32),
}

impl Operation {
    /// Performs it on the machine. What was retired is freed, and reported.
    pub fn perform(&self, machine: &mut Machine, root: u64) -> Result<Removed, Error> {
        let mut retired = Vec::new();
        let mut space = machine.space(root);
        let nothing = |()| Removed::default();
        let result = match *self {
            Operation::Map(span, attributes) => space.map(span, attributes).map(nothing),
            Operation::Reserve(span, attributes) => space.reserve(span, attributes).map(nothing),
            Operation::Populate(span) => space.populate(span).map(nothing),
            Operation::Fault(page, access, largest) => {
                let was = space.view(page).map(|view| view.entry);
                space.fault(page, access, largest).map(|fault| match fault {
                    Fault::Already => assert!(matches!(was, Some(Entry::Leaf(_)))),
                    Fault::Populated(size) => assert!(size <= largest && matches!(was, Some(Entry::Reserved(_)))),
                })
            }
            .map(nothing),
            Operation::Write(page, value) => {
                let done = space.fault(page, Protection::READ_WRITE, PageSize::Mib2).map(drop).map(nothing);
                if done.is_ok() {
                    let frame = frame_of(machine, root, page).expect("populated");
                    machine.write(frame, value);
                }
                done
            }
            Operation::Mirror(page) => {
                mirror(machine, root, page);
                Ok(Removed::default())
            }
            Operation::Unmap(span) => space.unmap(span, |old| retired.push(old)),
            Operation::Discard(span) => space.discard(span, |old| retired.push(old)),
            Operation::Protect(span, protection) => space.protect(span, protection),
            Operation::Advise(span, policy, small) => {
                space.advise(span, |old| Attributes { policy, small, ..old }).map(nothing)
            }
            Operation::Grow(span, pages) => space.grow(span, pages).map(nothing),
            Operation::Shift(span, to) => space.shift(span, to),
        };
        if let (Operation::Unmap(_) | Operation::Discard(_), Ok(removed)) = (self, result) {
            assert_eq!(retired.iter().map(|old| 1 << old.order).sum::<u32>(), removed.pages);
            let mirrored = retired.iter().filter(|old| old.mirrored).map(|old| 1 << old.order);
            assert_eq!(mirrored.sum::<u32>(), removed.mirrored);
        }
        machine.flush();
        machine.release(&retired);
        result
    }

    /// What it must come to, and on success the model afterwards. Memory can run out besides.
    pub fn expect(&self, model: &Model, machine: &Machine, root: u64) -> Result<(Model, u32), Error> {
        let mut after = model.clone();
        let mut mirrored = 0;
        let count = |span: Span, lost: &dyn Fn(Protection) -> bool| {
            let pages = model.pages.range(span.first()..span.end());
            pages.filter(|(_, page)| page.mirrored && lost(page.attributes.protection)).count() as u32
        };
        match *self {
            Operation::Map(span, attributes) | Operation::Reserve(span, attributes) => {
                model.occupied(span)?;
                after.map(span, attributes);
            }
            Operation::Populate(span) => model.unmapped(span)?,
            Operation::Fault(page, access, _) => touch(model, page, access)?,
            Operation::Write(page, value) => {
                touch(model, page, Protection::READ_WRITE)?;
                after.each(Span::new(page, 1).unwrap(), |page| page.value = value);
            }
            Operation::Mirror(page) => {
                let views = machine.walk(root).0;
                let leaf = views.iter().find(|view| (view.first..view.end()).contains(&page));
                if let Some(leaf) = leaf.filter(|view| matches!(view.entry, Entry::Leaf(_))) {
                    let span = Span::new(leaf.first, leaf.size.pages()).unwrap();
                    after.each(span, |page| page.mirrored = true);
                }
            }
            Operation::Unmap(span) => {
                mirrored = count(span, &|_| true);
                after.unmap(span);
            }
            Operation::Discard(span) => {
                mirrored = count(span, &|_| true);
                after.each(span, |page| (page.value, page.mirrored) = (0, false));
            }
            Operation::Protect(span, protection) => {
                model.unmapped(span)?;
                mirrored = count(span, &|old| loses(old, protection));
                after.protect(span, protection);
            }
            Operation::Advise(span, policy, small) => {
                after.each(span, |page| page.attributes = Attributes { policy, small, ..page.attributes });
            }
            Operation::Grow(span, pages) => {
                let last = span.end() - 1;
                let attributes = model.pages.get(&last).ok_or(Error::Unmapped(last))?.attributes;
                let behind = Span::new(span.end(), pages).ok_or(Error::Outside)?;
                model.occupied(behind)?;
                after.map(behind, attributes);
            }
            Operation::Shift(from, to) => {
                let target = Span::new(to, from.pages()).ok_or(Error::Outside)?;
                if from.overlaps(target) {
                    return Err(Error::Overlap);
                }
                model.unmapped(from)?;
                model.occupied(target)?;
                mirrored = count(from, &|_| true);
                after.shift(from, to);
            }
        }
        Ok((after, mirrored))
    }

    /// The pages that must have a frame now, because the operation promised it.
    pub fn promised(&self, before: &Model, after: &Model) -> Vec<u32> {
        let touchable = |model: &Model, page: &u32| !model.pages[page].attributes.protection.is_none();
        let eager = |page: &u32| after.pages[page].attributes.eager && touchable(after, page);
        let new = |page: &u32| before.pages.get(page).is_none_or(|old| old.attributes.protection.is_none());
        match *self {
            Operation::Map(span, _) | Operation::Protect(span, _) => {
                (span.first()..span.end()).filter(|page| eager(page) && new(page)).collect()
            }
            Operation::Grow(span, pages) => (span.end()..span.end() + pages).filter(eager).collect(),
            Operation::Populate(span) => (span.first()..span.end()).filter(|page| touchable(after, page)).collect(),
            Operation::Fault(page, ..) | Operation::Write(page, _) => vec![page],
            _ => Vec::new(),
        }
    }

    /// The pages for which it may need frames at most.
    pub fn pages(&self) -> u64 {
        match *self {
            Operation::Map(span, _) | Operation::Populate(span) | Operation::Protect(span, _) => span.pages().into(),
            Operation::Grow(_, pages) => pages.into(),
            _ => 1,
        }
    }
}

fn touch(model: &Model, page: u32, access: Protection) -> Result<(), Error> {
    Span::new(page, 1).ok_or(Error::Outside)?;
    let old = model.pages.get(&page).ok_or(Error::Unmapped(page))?.attributes.protection;
    let read_write = Protection { execute: access.execute, write: access.write, read: true };
    if loses(read_write, old) { Err(Error::NotAllowed(page)) } else { Ok(()) }
}

pub fn frame_of(machine: &mut Machine, root: u64, page: u32) -> Option<u64> {
    let view = machine.space(root).view(page)?;
    let Entry::Leaf(leaf) = view.entry else { return None };
    Some(leaf.frame + u64::from(page - view.first))
}

/// As Linux does it: the tables are read, one bit is written.
pub fn mirror(machine: &Machine, root: u64, page: u32) {
    let mut table = root;
    for size in [PageSize::Gib1, PageSize::Mib2, PageSize::Kib4] {
        let index = (page >> size.order() & 511) as u16;
        let raw = machine.load(table, index);
        match Entries::decode(raw, size) {
            Entry::Table(next) => table = next,
            Entry::Leaf(_) => return assert!(machine.compare_exchange(table, index, raw, raw | Entries::MIRRORED)),
            _ => return,
        }
    }
}
