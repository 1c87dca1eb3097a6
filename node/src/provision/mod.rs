//! Everything a node needs before it can boot: host programs, the Debian tree, kernels, the agent, images, emulators.
//!
//! [`ensure`] is the entry; each step is stamped with what it was made from and does nothing when that is unchanged.

mod emulators;
mod host;
mod image;
mod step;
mod tree;

use crate::cache::Cache;
use crate::error::{OnPath, Result};
use crate::kernel::{Kernel, KernelLine};

pub(crate) use emulators::{foreign_emulator, provide_counting};
pub use host::{Missing, missing};
pub(crate) use tree::{foreign, inside, is_root};

/// Makes whatever is missing or stale. Quick when nothing is. Waits for another process that is at it.
pub fn ensure(cache: &Cache) -> Result<()> {
    let _lock = cache.lock()?;
    host::check()?;
    tree::build(cache)?;
    image::build(cache)?;
    emulators::provide_standard(cache)
}

/// Takes the newest packages and kernels again, from nothing.
pub fn refresh(cache: &Cache) -> Result<()> {
    let stamp = cache.stamp("tree");
    if stamp.exists() {
        std::fs::remove_file(&stamp).on(&stamp)?;
    }
    ensure(cache)
}

/// The kernels that nodes boot, oldest first.
pub fn kernels(cache: &Cache) -> Result<Vec<Kernel>> {
    KernelLine::ALL.into_iter().map(|line| Kernel::installed(cache, line)).collect()
}
