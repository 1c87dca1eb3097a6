// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mremap(2) of memory apart from the heap, or to there: its page tables know what memory it has (`reserved`).
//!
//! Called by `memory` with the lock of the process's layout held. As on Linux, memory that `MAP_32BIT` placed may grow
//! beyond 2 GiB: who grows it says nothing of that any more. It is copied, not mapped again.

use super::reserved::each_stretch;
use crate::base::layout::{Area, Layout, PAGE_BYTES};
use crate::base::{StaticHost, Subject};
use tacet_logic::addresses::{Change, Content, Error, Mapping, Placement, Remap, Where};
use tacet_logic::paging::Protection;

/// Addresses, and the area that has them; `None`: the heap.
#[derive(Clone, Copy)]
struct Place {
    area: Option<Area>,
    address: u64,
    bytes: u64,
}

type Kind = (Protection, Content);

impl StaticHost {
    pub fn leaves_heap(&self, layout: &Layout, remap: &Remap) -> bool {
        let to = match remap.to {
            Where::Fixed(place) => layout.area_of(place, remap.new_bytes),
            Where::Stays | Where::Anywhere => None,
        };
        to.or_else(|| layout.area_of(remap.address, remap.old_bytes)).is_some()
    }

    /// Where the memory is then.
    pub fn remap_apart(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        remap: Remap,
        changed: &mut dyn FnMut(Change),
    ) -> Result<u64, Error> {
        let Remap { address, to, .. } = remap;
        let pages = |bytes: u64| bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Error::NoMemory);
        let (old_bytes, new_bytes) = (pages(remap.old_bytes)?, pages(remap.new_bytes)?);
        if old_bytes == 0 || new_bytes == 0 || !address.is_multiple_of(PAGE_BYTES) {
            return Err(Error::Invalid);
        }
        let area = layout.area_of(address, old_bytes);
        let from = Place { area, address, bytes: old_bytes };
        let like = kind(layout, &from)?;
        if like.1 != Content::Own && new_bytes > old_bytes {
            return Err(Error::NoMemory);
        }
        let (old_end, new_end) = (address + old_bytes, address.saturating_add(new_bytes));
        match (to, area) {
            (Where::Fixed(place), _) => {
                if place < old_end && address < place.saturating_add(new_bytes) {
                    return Err(Error::Invalid);
                }
                let area = layout.area_of(place, new_bytes);
                self.move_apart(subject, layout, (&from, area), (Placement::Fixed(place), new_bytes), like, changed)
            }
            (_, Some(area)) if new_bytes < old_bytes => {
                self.unmap_reserved(subject, layout, area, (new_end, old_end - new_end)).map(|()| address)
            }
            _ if new_bytes == old_bytes => Ok(address),
            (_, Some(area)) if layout.area(area).is_free(old_end, new_bytes - old_bytes) => {
                let more = (Placement::FixedNoReplace(old_end), new_bytes - old_bytes);
                self.map_reserved(subject, layout, area, more, like).map(|_| address)
            }
            (Where::Anywhere, _) => {
                let area = area.filter(|&area| area == Area::Reserved);
                self.move_apart(subject, layout, (&from, area), (Placement::Anywhere, new_bytes), like, changed)
            }
            (Where::Stays, _) => Err(Error::NoMemory),
        }
    }

    /// Maps the memory at another place, in this area or the heap, and takes it away from the old one. After an error the
    /// old one is as it was.
    fn move_apart(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        (from, area): (&Place, Option<Area>),
        (placement, bytes): (Placement, u64),
        like: Kind,
        changed: &mut dyn FnMut(Change),
    ) -> Result<u64, Error> {
        let address = match area {
            // without memory; where the old place has some, it follows
            Some(area) => self.map_reserved(subject, layout, area, (placement, bytes), (Protection::NONE, like.1))?,
            None => {
                let given = layout.addresses.map(placement, bytes, like, &mut *changed)?;
                for (at, bytes) in given.zero {
                    subject.memory.zero(at, bytes).ok_or(Error::NoMemory)?;
                }
                given.address
            }
        };
        let to = Place { area, address, bytes };
        let done = self.fill_moved(subject, layout, from, &to, like);
        let done = done.and_then(|()| self.give_back(subject, layout, from, changed));
        if done.is_err() {
            self.give_back(subject, layout, &to, changed)?;
        }
        done.map(|()| address)
    }

    /// Copies what the old place has, and gives the new one its rights.
    fn fill_moved(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        from: &Place,
        to: &Place,
        (rights, _): Kind,
    ) -> Result<(), Error> {
        each_stretch(subject, from.address, from.bytes.min(to.bytes), |at, bytes, physical| {
            let target = to.address + (at - from.address);
            if physical.is_none() {
                return Ok(());
            }
            if to.area.is_some() {
                self.make_accessible(subject, layout, target, bytes, Protection::READ_WRITE)?;
            }
            subject.memory.copy(at, target, bytes).ok_or(Error::NoMemory)
        })?;
        match to.area {
            Some(area) => self.protect_reserved(subject, layout, area, (to.address, to.bytes), rights),
            None => Ok(()),
        }
    }

    fn give_back(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        place: &Place,
        changed: &mut dyn FnMut(Change),
    ) -> Result<(), Error> {
        match place.area {
            Some(area) => self.unmap_reserved(subject, layout, area, (place.address, place.bytes)),
            None => layout.addresses.unmap(place.address, place.bytes, changed),
        }
    }
}

/// The rights and the content, which are the same everywhere.
fn kind(layout: &Layout, from: &Place) -> Result<Kind, Error> {
    let &Place { area, address, bytes } = from;
    let addresses = area.map_or(&layout.addresses, |area| layout.area(area));
    let whole = |mapping: &Mapping| mapping.address <= address && mapping.address + mapping.bytes >= address + bytes;
    let mapping = addresses.mappings_within(address, bytes).next().filter(whole).ok_or(Error::Fault)?;
    Ok((mapping.protection, mapping.content))
}
