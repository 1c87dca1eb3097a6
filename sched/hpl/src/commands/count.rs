// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `count`: counts switches and migrations of the whole node while a program runs, with any scheduler, for comparisons.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde::Serialize;
use tacet_words::Failure;
use tacet_words::status::RUNNER;

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
    let status = status.map_err(|error| Failure::not_executed(program.display(), &error))?;
    let facts = Facts { seconds, status: status.code(), figures: figures::sum(&figures::since(&now, &then)).into() };
    print(&tacet_words::json::line(&facts)?)?;
    let code = status.code().or_else(|| Some(128 + status.signal()?)).and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(RUNNER)))
}
