// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shows on a node, in a minute, what Tacet does: a script that a person could type.

use crate::command::{program, run};
use crate::{Result, test, top};

pub fn demo() -> Result<()> {
    test::built()?;
    let script = include_str!("demo.sh");
    run(program(top().join("build/bin/tacet")).args(["node", "run", "--", "bash", "-c", script]))
}
