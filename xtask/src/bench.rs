// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds everything and runs the benches, the crate in tests/perf.

use crate::command::{cargo, run};
use crate::{Result, test, top};

pub fn bench(arguments: &[String]) -> Result<()> {
    if !top().join("tests/perf/Cargo.toml").exists() {
        return Err("tests/perf: no benches in this tree".into());
    }
    test::built()?;
    run(cargo().args(["run", "--release", "--quiet", "--manifest-path", "tests/perf/Cargo.toml", "--"]).args(arguments))
}
