// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Executes docs/examples/noise.ipynb in a test, with Python's packages in target/tools/notebook.
//!
//! Called by `cargo xtask notebook`, and by `test` with `FULL=1`: the packages have half a gigabyte.

use crate::command::{cargo, program, run};
use crate::{Result, top};

const PACKAGES: &str = "docs/examples/requirements-notebook.txt";
/// `xtask/tests/notebook.rs` has the same folder.
const FOLDER: &str = "target/tools/notebook";

pub fn notebook() -> Result<()> {
    install()?;
    run(cargo().args(["test", "--quiet", "--package", "xtask", "--test", "notebook", "--", "--include-ignored"]))
}

fn install() -> Result<()> {
    let python = top().join(FOLDER).join("bin/python");
    if !python.exists() {
        run(program("python3").args(["-m", "venv", FOLDER]))?;
    }
    run(program(python).args(["-m", "pip", "install", "--quiet", "--requirement", PACKAGES]))
}
