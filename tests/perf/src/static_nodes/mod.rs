// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `static`: static nodes. Writes `build/bench/static.json`.
//!
//! Each part starts the nodes that it needs by `tacet static run`, as a user does. Counts come from plugins of the
//! emulator; times are compared only with times of the same run. A part that fails takes only its own figures away, and
//! the bench fails at its end.

mod boot;
mod emulator;
mod linux;
mod many;
mod memory;
mod programs;
mod shipped;
mod silence;
mod start;
mod variation;

use std::path::PathBuf;

use tacet_node::Cache;

use crate::Result;
use crate::configuration::Settings;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::here;

use self::emulator::Emulator;
use self::programs::StaticPrograms;

/// Everything that a part needs.
pub struct Bench<'a> {
    pub cache: &'a Cache,
    pub settings: &'a Settings,
    pub programs: StaticPrograms,
    pub emulator: Emulator,
    /// For logs and files; removed at the end.
    pub scratch: PathBuf,
}

type Part = fn(&Bench, &mut Metrics) -> Result<()>;

const PARTS: [(&str, Part); 7] = [
    ("boot", boot::boot),
    ("memory", memory::memory),
    ("start", start::start),
    ("silence", silence::silence),
    ("shipped", shipped::shipped),
    ("variation", variation::variation),
    ("many", many::many),
];

/// Measures everything, or the parts that the settings name as jobs.
pub fn static_nodes(cache: &Cache, settings: &Settings) -> Result<(Vec<Metric>, Vec<String>)> {
    let scratch = tempfile::tempdir()?;
    let (programs, emulator) = (StaticPrograms::build()?, Emulator::find()?);
    let place = format!("QEMU {}.{} TCG, host {}", emulator.version.0, emulator.version.1, here(programs.top()));
    let file = programs.top().join("build/bench/static.json");
    let bench = Bench { cache, settings, programs, emulator, scratch: scratch.path().to_owned() };
    let (mut metrics, mut failures) = (Vec::new(), Vec::new());
    for (name, part) in PARTS {
        if !settings.jobs.is_empty() && !settings.jobs.iter().any(|job| job == name) {
            continue;
        }
        eprintln!("measuring: {name}");
        let mut found = Metrics::at(&place);
        if let Err(error) = part(&bench, &mut found) {
            failures.push(format!("{name}: {error}"));
        }
        metrics.extend(found.into_vec());
        write(&metrics, &file)?;
    }
    Ok((metrics, failures))
}

impl Bench<'_> {
    /// The nodes of the core bench, for the parts that run Linux in one.
    pub fn linux_programs(&self) -> Result<Programs> {
        Programs::build(self.cache)
    }
}
