// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The demo: the crate in demo/, with everything built first.

use crate::command::{cargo, run};
use crate::{Result, test};

pub fn demo(arguments: &[String]) -> Result<()> {
    test::built()?;
    run(cargo().args(["run", "--release", "--quiet", "--package", "tacet-demo", "--"]).args(arguments))
}
