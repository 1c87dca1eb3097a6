// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The naive model: for every mapped page what is remembered, what it holds, and whether Linux may map it.

use std::collections::BTreeMap;

use tacet_logic::paging::{Attributes, Entry, Error, Leaf, Protection, Span};

use crate::machine::Machine;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub attributes: Attributes,
    pub value: u64,
    pub mirrored: bool,
}

/// Pages by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub pages: BTreeMap<u32, Page>,
}

impl Model {
    pub fn occupied(&self, span: Span) -> Result<(), Error> {
        self.pages.range(span.first()..span.end()).next().map_or(Ok(()), |(&page, _)| Err(Error::Occupied(page)))
    }

    pub fn unmapped(&self, span: Span) -> Result<(), Error> {
        let mapped = self.pages.range(span.first()..span.end()).map(|(&page, _)| page);
        // The first number that the mapped pages do not follow.
        let next = mapped.fold(span.first(), |next, page| if page == next { page + 1 } else { next });
        if next == span.end() { Ok(()) } else { Err(Error::Unmapped(next)) }
    }

    pub fn map(&mut self, span: Span, attributes: Attributes) {
        let page = Page { attributes, value: 0, mirrored: false };
        self.pages.extend((span.first()..span.end()).map(|number| (number, page)));
    }

    pub fn unmap(&mut self, span: Span) {
        if span == Span::ALL {
            return self.pages.clear();
        }
        for page in span.first()..span.end() {
            self.pages.remove(&page);
        }
    }

    pub fn each(&mut self, span: Span, change: impl Fn(&mut Page)) {
        self.pages.range_mut(span.first()..span.end()).for_each(|(_, page)| change(page));
    }

    pub fn protect(&mut self, span: Span, protection: Protection) {
        self.each(span, |page| {
            page.mirrored &= !loses(page.attributes.protection, protection);
            page.attributes.protection = protection;
        });
    }

    pub fn shift(&mut self, from: Span, to: u32) {
        for number in from.first()..from.end() {
            if let Some(page) = self.pages.remove(&number) {
                self.pages.insert(to + (number - from.first()), Page { mirrored: false, ..page });
            }
        }
    }

    /// The tables say exactly what the model says.
    pub fn check(&self, machine: &Machine, root: u64) {
        let mut pages = self.pages.iter();
        for view in machine.walk(root).0 {
            for number in view.first..view.end() {
                let (value, mirrored) = match view.entry {
                    Entry::Leaf(Leaf { frame, mirrored, .. }) => {
                        (machine.read(frame + u64::from(number - view.first)), mirrored)
                    }
                    _ => (0, false),
                };
                let page = Page { attributes: view.entry.attributes().unwrap(), value, mirrored };
                assert_eq!(Some((&number, &page)), pages.next());
            }
        }
        assert_eq!(pages.next(), None);
    }
}

/// As the manual pages say it: none forbids all, and a page that may be written or executed may be read.
pub fn loses(old: Protection, new: Protection) -> bool {
    let none = Protection::NONE;
    (old != none && new == none) || (old.write && !new.write) || (old.execute && !new.execute)
}
