// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kinds of memory that shipped calls read and write.

use crate::base::user_memory::UserMemory;
use tacet_wire::marshal;

/// Memory of a process as the program may use it.
impl marshal::UserMemory for UserMemory<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        Self::read(self, address, to)
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        Self::write(self, address, from)
    }

    fn is_writable(&self, address: u64, bytes: usize) -> bool {
        self.may_write(address, bytes as u64)
    }
}

/// The same, whatever the program may do there: for a file that is copied to memory which the program asked for.
pub struct AnyRights<'a>(pub &'a UserMemory<'a>);

impl marshal::UserMemory for AnyRights<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        self.0.read(address, to)
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        self.0.fill(address, from)
    }

    fn is_writable(&self, address: u64, bytes: usize) -> bool {
        let last = (bytes as u64).saturating_sub(1);
        self.0.process.find(address).is_some() && self.0.process.find(address.wrapping_add(last)).is_some()
    }
}

/// A text of the kernel.
pub struct KernelText<'a>(pub &'a [u8]);

impl KernelText<'_> {
    /// Its address: no null pointer.
    pub const AT: u64 = 4096;
}

impl marshal::UserMemory for KernelText<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        let offset = usize::try_from(address.checked_sub(Self::AT)?).ok()?;
        // Texts are read in portions: zeros follow.
        to.iter_mut().zip(offset..).for_each(|(byte, at)| *byte = self.0.get(at).copied().unwrap_or(0));
        Some(())
    }

    fn write(&self, _: u64, _: &[u8]) -> Option<()> {
        None
    }

    fn is_writable(&self, _: u64, _: usize) -> bool {
        false
    }
}
