// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds the thieves: measures noise, and at the same time records everything else that runs on the measured CPUs.
//!
//! `trace/` contains the BPF programs; `tracer` loads them and fetches their events; `sources` finds the source of an
//! event, `attribute` the detours that it explains, `remedies` a way to stop it, `in_force` which ways are taken already.

mod attribute;
mod clock;
mod event;
mod hardware;
mod in_force;
mod names;
mod perfetto;
mod remedies;
mod sources;
mod tracer;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use attribute::Ran;
use hardware::Hardware;
use in_force::Machine;
use sources::Identity;
use tracer::Tracer;

use crate::Result;
use crate::measure::{Plan, Progress};
use crate::record::thieves::{Kind, Source};
use crate::record::{Record, whole_or_nothing};

/// Measures and traces; the record includes the thieves. Samples with noise of `threshold_ns` or more are detours. All
/// events go to `events`, for Perfetto.
pub fn trace(
    plan: &Plan,
    arguments: &[String],
    threshold_ns: f64,
    events: Option<&Path>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Record> {
    let mut tracer = Tracer::begin(&plan.cpus)?;
    let hardware = Hardware::watch(&plan.cpus);
    if !hardware.sees_firmware() {
        let why = "this machine does not count system management interrupts: noise by firmware stays unexplained";
        tracer.unobserved.push(why.into());
    }
    let mut failed = None;
    let measured = plan.measure(arguments, &mut |now| {
        failed = failed.take().or_else(|| tracer.fetch().err());
        progress(now);
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let mut record = measured.record;
    let unobserved = std::mem::take(&mut tracer.unobserved);
    let (ran, sources, lost) = tracer.end(measured.origin_ticks, record.about.ticks_per_second)?;
    if let Some(path) = events {
        write_events(path, &record, &sources, &ran, threshold_ns)?;
    }
    let machine = Machine::this();
    let mut thieves =
        attribute::attribute(&record, &machine, &sources, ran, threshold_ns, plan.until.map(|until| until.0));
    thieves.sources.extend(hardware.happened().into_iter().map(|happened| source(&machine, &happened)));
    attribute::sort(&mut thieves.sources);
    thieves.events_lost = lost;
    thieves.unobserved = unobserved;
    record.about.thieves = Some(thieves);
    Ok(record)
}

fn write_events(path: &Path, record: &Record, sources: &[Identity], ran: &[Ran], threshold_ns: f64) -> Result<()> {
    whole_or_nothing(path, |path| {
        let mut file = BufWriter::new(File::create(path)?);
        perfetto::write(&mut file, record, sources, ran, threshold_ns)
    })
}

/// A source whose events can only be counted: their length is unknown.
fn source(machine: &Machine, happened: &hardware::Happened) -> Source {
    let identity = Identity { kind: Kind::Hardware, name: happened.name.into(), origin: None };
    let remedy = remedies::remedy(machine, &identity, &[happened.cpu]);
    Source {
        kind: identity.kind,
        name: identity.name,
        origin: None,
        cpus: vec![happened.cpu],
        count: happened.count,
        total_ns: 0,
        longest_ns: 0,
        explained_ns: 0.0,
        share: 0.0,
        remedy,
    }
}
