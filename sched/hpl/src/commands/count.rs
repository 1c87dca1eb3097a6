// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `count`: counts switches and migrations of the whole node while a program runs, with any scheduler, for comparisons.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde::Serialize;

use super::print;
use crate::Result;
use crate::figures::{self, Figures};
use crate::options::Count;
use crate::scheduler::Scheduler;
use crate::topology::{self, CPU_DIRECTORY};

#[derive(Debug, Serialize)]
struct Facts {
    seconds: f64,
    status: Option<i32>,
    #[serde(flatten)]
    figures: Figures,
}

pub fn run(options: &Count) -> Result<ExitCode> {
    let cpus = topology::possible(Path::new(CPU_DIRECTORY))?;
    let mut scheduler = Scheduler::load(false)?;
    scheduler.count()?;
    let map = scheduler.map("counts")?;
    let Some((program, arguments)) = options.command.split_first() else { return Err("no program is named".into()) };
    let (then, begin) = (figures::counts(&map, &cpus)?, Instant::now());
    let status = Command::new(program).args(arguments).status();
    let seconds = begin.elapsed().as_secs_f64();
    let now = figures::counts(&map, &cpus)?;
    let status = status.map_err(|error| format!("{}: {error}", program.display()))?;
    let facts = Facts { seconds, status: status.code(), figures: figures::sum(&figures::since(&now, &then)).into() };
    print(&(serde_json::to_string(&facts)? + "\n"))?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}
