// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a made-up program: addresses from `BASE` on, given out one after the other.

use std::sync::Mutex;

use tacet_wire::marshal::UserMemory;

const BASE: u64 = 0x10_0000;

const PAGE_BYTES: usize = 4096;

#[derive(Debug, Default)]
pub struct Memory(Mutex<Bytes>);

#[derive(Debug, Default)]
struct Bytes {
    /// Whole pages, as a program has them.
    pages: Vec<u8>,
    used: usize,
}

impl Memory {
    /// Puts bytes somewhere; where.
    pub fn put(&self, bytes: &[u8]) -> u64 {
        let mut memory = self.0.lock().unwrap();
        let at = memory.used.next_multiple_of(16);
        memory.used = at + bytes.len();
        let pages = memory.used.next_multiple_of(PAGE_BYTES);
        memory.pages.resize(pages, 0);
        memory.pages[at..at + bytes.len()].copy_from_slice(bytes);
        BASE + at as u64
    }

    /// The same, with a NUL.
    pub fn text(&self, text: impl AsRef<[u8]>) -> u64 {
        self.put(&[text.as_ref(), &[0]].concat())
    }

    pub fn room(&self, bytes: usize) -> u64 {
        self.put(&vec![0; bytes])
    }

    pub fn get(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut to = vec![0; bytes];
        self.read(address, &mut to).expect("an address that the test has put");
        to
    }

    fn index(address: u64) -> Option<usize> {
        usize::try_from(address.checked_sub(BASE)?).ok()
    }
}

impl UserMemory for Memory {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        if to.is_empty() {
            return Some(());
        }
        let memory = self.0.lock().unwrap();
        let at = Self::index(address)?;
        to.copy_from_slice(memory.pages.get(at..at.checked_add(to.len())?)?);
        Some(())
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        if from.is_empty() {
            return Some(());
        }
        let mut memory = self.0.lock().unwrap();
        let at = Self::index(address)?;
        memory.pages.get_mut(at..at.checked_add(from.len())?)?.copy_from_slice(from);
        Some(())
    }

    fn is_writable(&self, address: u64, bytes: usize) -> bool {
        let end = Self::index(address).and_then(|at| at.checked_add(bytes));
        end.is_some_and(|end| end <= self.0.lock().unwrap().pages.len())
    }
}
