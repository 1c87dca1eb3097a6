// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes records of other tools' output, so that old measurements can be read and compared.
//!
//! Each file of this folder knows one format and finds lengths and counts in it; this file makes the record, whose
//! samples are detours, quanta of fixed work, intervals of fixed time, or latencies. A histogram has no times: its detours
//! are spread evenly over the measured time, and a warning in the record says so, as for everything else that the output
//! does not tell. Latencies get no times at all. `commands/import` calls it.

mod cyclictest;
mod ftq;
mod histogram;
mod hwlat;
mod netgauge;
mod rtla;

use std::fs;
use std::path::Path;

use crate::Result;
use crate::record::{About, Counters, Kernel, Method, Record, SCHEMA, Samples};
use crate::units::Nanoseconds;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// rtla osnoise hist, rtla timerlat hist
    Rtla,
    /// cyclictest with --histogram, --histofall or --histfile
    Cyclictest,
    /// The kernel's hwlat tracer (its trace file, or trace_pipe)
    Hwlat,
    /// netgauge's pattern noise: selfish, fwq or ftq
    Netgauge,
    /// ftq of Sottile and Minnich, one file of a thread
    Ftq,
}

/// What a parser found.
#[derive(Debug, Default, PartialEq)]
struct Found {
    /// The tool, and what its lengths are.
    what: String,
    cpus: Vec<OfCpu>,
    warnings: Vec<String>,
    /// The method, and the length that was asked for; `None` for detours.
    quantum: Option<(Method, f64)>,
}

#[derive(Debug, Default, PartialEq)]
struct OfCpu {
    cpu: u32,
    measured_ns: f64,
    /// Beginning and length of each detour, quantum or interval, in order of time.
    detours: Vec<(u64, u64)>,
    /// Fixed time only: the work of each interval.
    work: Vec<u64>,
}

/// The most samples of one file.
const SAMPLES_LIMIT: u64 = 1 << 28;

/// Reads a file; without a format, each is tried. `interval` is the time between two samples, for formats that do not
/// tell it.
pub fn import(path: &Path, format: Option<Format>, interval: Option<Nanoseconds>) -> Result<Record> {
    let named = |error: String| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(|error| named(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    let format = format.or_else(|| recognised(&text)).ok_or_else(|| {
        named(
            "not the output of rtla hist, cyclictest --histogram, hwlat, netgauge noise or ftq: name its --format"
                .into(),
        )
    })?;
    let found = match format {
        Format::Rtla => rtla::parse(&text),
        Format::Cyclictest => cyclictest::parse(&text, interval),
        Format::Hwlat => hwlat::parse(&text),
        Format::Netgauge => netgauge::parse(&text),
        Format::Ftq => ftq::parse(&text),
    };
    let label = path.file_stem().map_or_else(|| "imported".into(), |stem| stem.to_string_lossy().into_owned());
    Ok(record(found.map_err(named)?, label))
}

fn recognised(text: &str) -> Option<Format> {
    let has = |word: &str| text.lines().any(|line| line.contains(word));
    match () {
        () if has("# RTLA ") => Some(Format::Rtla),
        () if has("inner/outer(us):") => Some(Format::Hwlat),
        () if has("# Min Latencies:") => Some(Format::Cyclictest),
        () if netgauge::recognised(text) => Some(Format::Netgauge),
        () if ftq::recognised(text) => Some(Format::Ftq),
        () => None,
    }
}

fn record(found: Found, label: String) -> Record {
    let mut samples = Samples::default();
    let mut counters = Vec::new();
    for one in &found.cpus {
        for (start, length) in &one.detours {
            samples.cpu.push(one.cpu);
            samples.start_ns.push(*start);
            samples.length_ns.push(*length);
        }
        samples.work_units.extend(&one.work);
        samples.work_units.resize(samples.cpu.len(), 0);
        counters.push(Counters { cpu: one.cpu, measured_ns: one.measured_ns.round() as u64, ..Counters::default() });
    }
    let (method, quantum_ns) = found.quantum.unwrap_or((Method::Selfish, 1.0));
    let unknown = || "unknown".to_owned();
    let warnings = [format!("imported: {}", found.what)].into_iter().chain(found.warnings).collect();
    let about = About {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        label,
        host: unknown(),
        kernel_release: unknown(),
        kernel_arguments: String::new(),
        processor: unknown(),
        arguments: std::env::args().skip(1).collect(),
        began_unix_s: 0,
        method,
        kernel: Kernel::Register,
        cpus: found.cpus.iter().map(|one| one.cpu).collect(),
        quantum_ns,
        units: 0,
        time_source: "that of the other tool".into(),
        ticks_per_second: 1e9,
        memory_locked: true,
        huge_pages: false,
        realtime_priority: None,
        counters,
        warnings,
        thieves: None,
        across: None,
    };
    Record { about, samples }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each format is recognised by its first lines, becomes a record that can be written and read, and damaged files
    /// are one line.
    #[test]
    fn formats_are_recognised_and_damage_is_one_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("old.txt");
        for (text, format) in [
            (rtla::tests::OSNOISE, Format::Rtla),
            (rtla::tests::TIMERLAT, Format::Rtla),
            (cyclictest::tests::HISTOGRAM, Format::Cyclictest),
            (hwlat::tests::TRACE, Format::Hwlat),
            (netgauge::tests::SELFISH, Format::Netgauge),
            (netgauge::tests::FWQ, Format::Netgauge),
            (netgauge::tests::FTQ, Format::Netgauge),
            (ftq::tests::FILE, Format::Ftq),
        ] {
            assert_eq!(recognised(text), Some(format));
            fs::write(&path, text).expect("written");
            let record = import(&path, None, None).expect("a record");
            assert_eq!(record.about.label, "old");
            let written = folder.path().join("old.parquet");
            record.write(&written).expect("written");
            assert_eq!(Record::read(&written).expect("read"), record);
            assert!(record.summary(1.0).warnings[0].starts_with("imported: "));
            for cut in (0..text.len()).step_by(7) {
                fs::write(&path, &text[..cut]).expect("written");
                if let Err(error) = import(&path, Some(format), None) {
                    assert!(error.to_string().lines().count() == 1, "{error}");
                }
            }
        }
        fs::write(&path, "PAR1").expect("written");
        let error = import(&path, None, None).map(|_| ()).expect_err("nothing known").to_string();
        assert!(error.contains("--format") && error.contains("old.txt"), "{error}");
        assert!(import(Path::new("/absent"), None, None).is_err());
    }
}
