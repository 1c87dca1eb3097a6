// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `run`: joins the HPC class and becomes the program. Children inherit the class.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use tacet_words::Failure;

use crate::options::Run;
use crate::{Result, support};

/// SCHED_EXT
const POLICY: i32 = 7;

pub fn run(options: &Run) -> Result<ExitCode> {
    support::check()?;
    if support::loaded().as_deref() != Some(support::NAME) {
        return Err("HPL is not loaded; as root: `tacet sched start`".into());
    }
    let Some((program, arguments)) = options.command.split_first() else { return Err("no program is named".into()) };
    let parameters = uapi::c::sched_param { sched_priority: 0 };
    uapi::sched_setscheduler(0, POLICY, &parameters).map_err(|error| format!("the HPC class: {error}"))?;
    let error = Command::new(program).args(arguments).exec();
    Err(Failure::not_executed(program.display(), &error).into())
}
