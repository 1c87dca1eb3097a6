// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet ps`: the hosted threads, with the counters of each.

use serde::Serialize;
use tacet_ctl::{CpuSet, Device, Result, Thread};

use super::run::check;
use crate::output;
use crate::text::{duration, word};

const HEADINGS: [&str; 13] = [
    "PID>",
    "TID>",
    "UID>",
    "CPU>",
    "PLACE",
    "BURSTS>",
    "CALLS>",
    "FAULTS>",
    "EXCEPTIONS>",
    "SIGNALS>",
    "DOORBELLS>",
    "USER-TIME>",
    "NAME",
];

/// The JSON of `ps`.
#[derive(Serialize)]
struct Report {
    threads: Vec<Thread>,
}

pub fn ps(json: bool) -> Result<u8> {
    let device = Device::open()?;
    check(&device.status()?, &CpuSet::default())?;
    let report = Report { threads: device.threads()? };
    if json {
        output::json(&report)?;
    } else {
        output::print(&output::table(&HEADINGS, report.threads.iter().map(row)))?;
    }
    Ok(0)
}

fn row(thread: &Thread) -> Vec<String> {
    vec![
        thread.pid.to_string(),
        thread.tid.to_string(),
        thread.uid.to_string(),
        thread.cpu.to_string(),
        word(&thread.place),
        thread.bursts.to_string(),
        thread.forwarded_calls.to_string(),
        thread.faults.to_string(),
        thread.exceptions.to_string(),
        thread.signals.to_string(),
        thread.doorbells.to_string(),
        duration(thread.user_ns),
        thread.name.clone(),
    ]
}
