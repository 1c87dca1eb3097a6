// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trace as a file for Perfetto (ui.perfetto.dev), in its trace event format (JSON).
//!
//! Each measured CPU has two rows: the detours of the measurement, and what ran there. Called by `trace` with all
//! events; it keeps none of them. Times are microseconds since the record's beginning, as the format demands.

use std::io::Write;

use serde_json::json;

use super::attribute::Ran;
use super::sources::Identity;
use crate::Result;
use crate::record::Record;

/// The process of each row: what the measuring program lost, and what ran instead.
const LOST: u32 = 1;
const RAN: u32 = 2;

/// Writes the events, and the samples with at least this much noise.
pub fn write(out: &mut dyn Write, record: &Record, sources: &[Identity], ran: &[Ran], threshold_ns: f64) -> Result<()> {
    let kernel = json!(record.about.kernel_release);
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"kernel\":{kernel}}},\"traceEvents\":[")?;
    let mut first = true;
    let mut event = |out: &mut dyn Write, event: serde_json::Value| -> Result<()> {
        write!(out, "{}\n{event}", if std::mem::take(&mut first) { "" } else { "," })?;
        Ok(())
    };
    for (process, name) in [(LOST, "lost by the measuring program"), (RAN, "ran on the measured CPUs")] {
        event(out, json!({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}))?;
        for cpu in &record.about.cpus {
            let name = format!("cpu {cpu}");
            event(out, json!({"ph": "M", "name": "thread_name", "pid": process, "tid": cpu, "args": {"name": name}}))?;
        }
    }
    let us = |ns: f64| ns / 1000.0;
    let samples = &record.samples;
    for (row, noise) in record.noise().length_ns.iter().enumerate().filter(|(_, noise)| **noise >= threshold_ns) {
        let (start, length) = (samples.start_ns[row] as f64, samples.length_ns[row] as f64);
        event(
            out,
            json!({
                "ph": "X", "pid": LOST, "tid": samples.cpu[row], "ts": us(start), "dur": us(length),
                "name": "detour", "cat": "noise", "args": {"noise_ns": noise},
            }),
        )?;
    }
    for one in ran {
        let Some(source) = sources.get(one.source as usize) else { continue };
        event(
            out,
            json!({
                "ph": "X", "pid": RAN, "tid": one.cpu, "ts": us(one.start_ns as f64), "dur": us(f64::from(one.gross_ns)),
                "name": source.name, "cat": source.kind.name(),
                "args": {"origin": source.origin, "own_time_ns": one.net_ns},
            }),
        )?;
    }
    writeln!(out, "\n]}}")?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::fixed_work;
    use crate::record::thieves::Kind;

    /// The fields that the format's description demands of each kind of event, and our numbers in them.
    #[test]
    fn every_event_is_in_the_file() {
        let record = fixed_work(&[100_000, 160_000, 100_000]);
        let sources = [Identity { kind: Kind::Kworker, name: "a \"b\"".into(), origin: Some("cpu 1".into()) }];
        let ran = [Ran { cpu: 0, source: 0, start_ns: -2500, gross_ns: 50_000, net_ns: 40_000, begins: true }];
        let mut file = Vec::new();
        write(&mut file, &record, &sources, &ran, 1000.0).expect("written");
        let file: serde_json::Value = serde_json::from_slice(&file).expect("JSON");
        let events = file["traceEvents"].as_array().expect("events");
        assert!(
            events.iter().all(|event| event["pid"].is_u64() && event["ph"].is_string() && event["name"].is_string())
        );
        let complete: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!((events.len(), complete.len()), (4 + 2, 2));
        let (detour, worker) = (complete[0], complete[1]);
        assert_eq!(
            (&detour["ts"], &detour["dur"], &detour["args"]["noise_ns"]),
            (&100.0.into(), &160.0.into(), &60_000.0.into())
        );
        assert_eq!((&worker["ts"], &worker["dur"], &worker["cat"]), (&(-2.5).into(), &50.0.into(), &"kworker".into()));
        assert_eq!((&worker["name"], &worker["args"]["own_time_ns"]), (&"a \"b\"".into(), &40_000.into()));
    }
}
