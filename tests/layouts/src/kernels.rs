// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The types of one kernel and of its NVMe driver, as files for the reader.

use std::fs;
use std::path::{Path, PathBuf};

use tacet_node::{Cache, provision};

use crate::{Result, types};

/// The files of one kernel's types.
pub struct Types {
    /// `uname -r`.
    pub release: String,
    /// Linux's own, then those of the modules nvme and nvme_core; `None`: built in.
    pub base: PathBuf,
    pub nvme: Option<PathBuf>,
    pub core: Option<PathBuf>,
}

impl Types {
    /// Takes the types out of an image and of the drivers under `modules`, and writes them into `directory`.
    pub fn of(release: &str, image: &Path, modules: &Path, directory: &Path) -> Result<Types> {
        let written = |file: &Path, name: &str| -> Result<PathBuf> {
            let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
            let btf = types(&bytes).map_err(|e| format!("{}: {e}", file.display()))?;
            let out = directory.join(format!("{release}-{name}"));
            fs::write(&out, btf.ok_or_else(|| format!("{}: it has no BTF", file.display()))?)?;
            Ok(out)
        };
        let driver = |name: &str| -> Result<Option<PathBuf>> {
            let file = ["ko", "ko.xz"].map(|ending| modules.join(format!("drivers/nvme/host/{name}.{ending}")));
            file.iter().find(|file| file.exists()).map(|file| written(file, name)).transpose()
        };
        Ok(Types {
            release: release.to_owned(),
            base: written(image, "vmlinux")?,
            nvme: driver("nvme")?,
            core: driver("nvme-core")?,
        })
    }
}

/// The kernels that setup provided for nodes; none if there was no setup.
pub fn installed(directory: &Path) -> Result<Vec<Types>> {
    let cache = Cache::open()?;
    let kernels = provision::kernels(&cache).unwrap_or_default();
    kernels
        .iter()
        .map(|kernel| {
            let modules = cache.tree().join("usr/lib/modules").join(&kernel.release).join("kernel");
            Types::of(&kernel.release, &kernel.image(), &modules, directory)
        })
        .collect()
}
