// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `top`: prints the increase of the counts periodically.

use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;

use tacet_words::Failure;
use tacet_words::status::NO;

use super::print;
use super::status::{maps, table};
use crate::Result;
use crate::figures::{self, Figures};
use crate::options::Top;
use crate::record::{self, Record};
use crate::topology::{CPU_DIRECTORY, Topology};

pub fn run(options: &Top, json: bool) -> Result<ExitCode> {
    let record = Record::read()?.filter(|_| record::is_held());
    let record =
        record.ok_or_else(|| Failure::new(NO, "HPL is not loaded; `tacet sched status` shows how it ended"))?;
    let (counts, loads) = maps(&record)?;
    let cpus: Vec<u32> = Topology::read(Path::new(CPU_DIRECTORY))?.places.into_keys().collect();
    let mut then = figures::counts(&counts, &cpus)?;
    for _ in 0..options.iterations.unwrap_or(u64::MAX) {
        sleep(options.interval);
        if !record::is_held() {
            return Err(Failure::new(NO, "HPL ended; `tacet sched status` shows how").into());
        }
        let now = figures::counts(&counts, &cpus)?;
        let new = figures::since(&now, &then);
        then = now;
        if json {
            print(&tacet_words::json::line(&Figures::from(figures::sum(&new)))?)?;
            continue;
        }
        let loads = figures::loads(&loads, &cpus)?;
        let row = |(cpu, counts)| (cpu, counts, loads.get(&cpu).copied().unwrap_or_default());
        let rows: Vec<_> = new.into_iter().map(row).collect();
        print(&(table(&rows) + "\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
