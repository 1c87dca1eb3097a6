// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Removes what was built, and nothing else.

use std::fs;

use tacet_node::{Cache, provision};

use crate::command::{cargo, run};
use crate::{Result, top};

pub fn clean(cache: bool) -> Result<()> {
    let build = top().join("build");
    if build.exists() {
        fs::remove_dir_all(build)?;
    }
    if cache {
        provision::remove(&Cache::open()?)?;
    }
    run(cargo().arg("clean"))
}
