// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is mapped where: for `/proc/PID/maps`, `mincore`, and the search for free addresses.

use super::encoding::Encoding;
use super::entry::{Attributes, Entry, Protection};
use super::memory::Memory;
use super::space::AddressSpace;
use super::span::{PAGES, PIECE_PAGES, PageSize, Span};

/// The entry that decides about a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The first page that it covers.
    pub first: u32,
    pub size: PageSize,
    /// Never a table.
    pub entry: Entry,
}

/// Neighbouring pages with the same attributes, with and without frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub span: Span,
    pub attributes: Attributes,
    /// Pages with a frame, in units of 4 KiB.
    pub populated: u32,
}

/// Whether pages are one mapping on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    One,
    /// Or some are not mapped.
    Several,
    /// It depends on the version of Linux: only the sizes of their pages differ, which a thread's stack says there or
    /// does not.
    Unknown,
}

/// What is behind a span's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Some have a frame.
    pub frames: bool,
    /// Linux may map some, or a page that reaches into the span.
    pub mirrored: bool,
    /// The first that is not mapped.
    pub hole: Option<u32>,
}

impl View {
    /// The page after its last.
    pub fn end(&self) -> u32 {
        self.first + self.size.pages()
    }
}

impl<M: Memory> AddressSpace<'_, M> {
    /// What is at `page`. O(1).
    pub fn view(&self, page: u32) -> Option<View> {
        Span::new(page, 1)?;
        let slot = self.find(page);
        Some(View { first: slot.first, size: slot.size, entry: slot.entry })
    }

    /// The first part of `span` that an operation changes in about `entries` steps: it ends where an entry ends, or with
    /// `span`, and has at most 511 entries more. So a long operation is made of short ones. `steps`: of a page with a
    /// frame, if it is a large one.
    pub fn portion(&self, span: Span, entries: u32, steps: impl Fn(PageSize) -> u32) -> Span {
        let (mut page, mut left) = (span.first(), entries);
        while page < span.end() && left > 0 {
            let slot = self.find(page);
            let next = if slot.size == PageSize::Kib4 { self.after(&slot, span.end()) } else { slot.end() };
            left = left.saturating_sub(match slot.entry {
                _ if slot.size == PageSize::Kib4 => next - page,
                Entry::Leaf(_) => steps(slot.size),
                _ => 1,
            });
            page = next;
        }
        Span::new(span.first(), page.min(span.end()) - span.first()).unwrap_or(span)
    }

    /// Whether [`Self::portion`] is sure to be all of `span`. As if the entries of the smallest tables were all different:
    /// it does not look into these.
    pub fn is_portion(&self, span: Span, entries: u32, steps: impl Fn(PageSize) -> u32) -> bool {
        let load_upper = |page| self.memory.load(self.root, PageSize::Gib1.index(page));
        let (mut page, mut left, mut upper) = (span.first(), entries, load_upper(span.first()));
        while page < span.end() && left > 0 {
            if page.is_multiple_of(PIECE_PAGES) {
                upper = load_upper(page);
            }
            let (size, entry) = match M::Encoding::table(upper, PageSize::Gib1) {
                Some(table) => (PageSize::Mib2, self.memory.load(table, PageSize::Mib2.index(page))),
                None => (PageSize::Gib1, upper),
            };
            let next = ((page & !(size.pages() - 1)) + size.pages()).min(span.end());
            left = left.saturating_sub(match M::Encoding::decode(entry, size) {
                Entry::Table(_) => next - page,
                Entry::Leaf(_) => steps(size),
                _ => 1,
            });
            page = next;
        }
        page >= span.end()
    }

    /// Nothing of `span` is mapped. O(entries).
    pub fn is_free(&self, span: Span) -> bool {
        self.check(span, |entry| entry == Entry::Absent).is_ok()
    }

    /// What is behind the pages of `span`, in one walk. O(entries).
    pub fn survey(&self, span: Span) -> Survey {
        let (mut survey, mut page) = (Survey::default(), span.first());
        while page < span.end() {
            let slot = self.find(page);
            match slot.entry {
                Entry::Leaf(leaf) => {
                    survey.frames = true;
                    survey.mirrored |= leaf.mirrored;
                }
                Entry::Absent if survey.hole.is_none() => survey.hole = Some(page),
                _ => {}
            }
            page = self.after(&slot, span.end());
        }
        survey
    }

    /// Whether Linux may map any of `span`, or of a page that reaches into it. O(entries).
    pub fn mirrored(&self, span: Span) -> bool {
        self.check(span, |entry| !matches!(entry, Entry::Leaf(leaf) if leaf.mirrored)).is_err()
    }

    /// The first page of `span` that is mapped and does not allow `access`. O(entries).
    pub fn forbidden(&self, span: Span, access: Protection) -> Option<u32> {
        let allows = |entry: Entry| entry.attributes().is_none_or(|attributes| attributes.protection.allows(access));
        self.check(span, allows).err()
    }

    /// How many mappings `span` is on Linux, as far as its attributes tell, if a page before it has `first`; so a long span
    /// is looked at in parts. O(entries).
    pub fn sameness(&self, span: Span, first: Attributes) -> Sameness {
        let others = |attributes: Attributes| Attributes { small: false, eager: false, ..attributes };
        let same = |entry: Entry| entry.attributes().map(others) == Some(others(first));
        let small = |entry: Entry| entry.attributes().is_some_and(|attributes| attributes.small);
        match self.check(span, |entry| same(entry) && small(entry) == first.small) {
            Ok(()) => Sameness::One,
            Err(page) if Span::new(page, span.end() - page).is_some_and(|rest| self.check(rest, same).is_ok()) => {
                Sameness::Unknown
            }
            _ => Sameness::Several,
        }
    }

    /// The first page of `span` that is not mapped. O(entries).
    pub fn hole(&self, span: Span) -> Option<u32> {
        self.check(span, |entry| entry != Entry::Absent).err()
    }

    /// The mapping at `page`, from `page` on, or the first behind it. O(entries) in it and before it.
    pub fn mapping(&self, page: u32) -> Option<Mapping> {
        let (mut at, mut populated) = (page, 0);
        let (first, attributes) = loop {
            let view = self.view(at)?;
            match view.entry.attributes() {
                Some(attributes) => break (at, attributes),
                None => at = view.end(),
            }
        };
        while at < PAGES {
            let slot = self.find(at);
            if slot.entry.attributes() != Some(attributes) {
                break;
            }
            if let Entry::Leaf(_) = slot.entry {
                populated += slot.end() - at;
            }
            at = slot.end();
        }
        Some(Mapping { span: Span::new(first, at - first)?, attributes, populated })
    }
}
