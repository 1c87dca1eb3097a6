// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernels that nodes boot, and the running kernel.

use std::path::Path;

use tacet_node::{Cache, Kernel, KernelLine};

use crate::Result;

/// The named kernels for nodes, or all if none is named. They are provisioned.
pub fn chosen(cache: &Cache, named: &[String]) -> Result<Vec<Kernel>> {
    let lines = match named {
        [] => KernelLine::ALL.to_vec(),
        named => named.iter().map(|name| name.parse()).collect::<tacet_node::Result<Vec<_>>>()?,
    };
    Ok(lines.into_iter().map(|line| Kernel::installed(cache, line)).collect::<tacet_node::Result<_>>()?)
}

/// The release of the running kernel, if its headers are here.
pub fn running_with_headers() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?.trim().to_owned();
    Path::new("/lib/modules").join(&release).join("build/Makefile").exists().then_some(release)
}
