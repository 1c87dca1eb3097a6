// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds everything and runs the demo, the crate in demo/.

use crate::command::{cargo, run};
use crate::{Result, test};

pub fn demo(arguments: &[String]) -> Result<()> {
    test::built()?;
    run(cargo().args(["run", "--release", "--quiet", "--package", "tacet-demo", "--"]).args(arguments))
}
