// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet top`: what hosted threads did since the previous table, repeatedly.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::Instant;

use serde::Serialize;
use tacet_ctl::{CpuSet, Device, Profile, Result, Thread};

use super::profile;
use super::run::check;
use crate::args::TopArgs;
use crate::output;
use crate::text::word;

const HEADINGS: [&str; 8] = ["PID>", "TID>", "CPU>", "PLACE", "USER-%>", "CALLS/S>", "FAULTS/S>", "NAME"];

/// The JSON of one table, on one line. Rates are per second since the previous table.
#[derive(Serialize)]
struct Report {
    threads: Vec<Row>,
    profile: Option<Profile>,
}

#[derive(Serialize)]
struct Row {
    pid: i32,
    tid: i32,
    cpu: u32,
    place: String,
    /// The share of its core's time that it spent in user mode.
    user_share: f64,
    forwarded_calls_per_s: f64,
    faults_per_s: f64,
    name: String,
}

pub fn top(args: &TopArgs, json: bool) -> Result<u8> {
    let device = Device::open()?;
    check(&device.status()?, &CpuSet::default())?;
    let (mut before, mut then) = (threads(&device, args)?, Instant::now());
    for _ in 0..args.iterations.unwrap_or(u64::MAX) {
        sleep(args.interval);
        let (now, seconds) = (threads(&device, args)?, then.elapsed().as_secs_f64());
        then = Instant::now();
        let mut rows: Vec<Row> = now.values().map(|thread| row(thread, before.get(&thread.tid), seconds)).collect();
        rows.sort_by(|a, b| b.user_share.total_cmp(&a.user_share).then(a.tid.cmp(&b.tid)));
        let profile = args.pid.map(|pid| device.profile(Some(pid))).transpose()?;
        let report = Report { threads: rows, profile };
        if json {
            output::json_line(&report)?;
        } else {
            output::print(&describe(&report))?;
        }
        before = now;
    }
    Ok(0)
}

fn threads(device: &Device, args: &TopArgs) -> Result<HashMap<i32, Thread>> {
    let wanted = |thread: &Thread| args.pid.is_none_or(|pid| pid == thread.pid);
    Ok(device.threads()?.into_iter().filter(wanted).map(|thread| (thread.tid, thread)).collect())
}

/// A new thread counts from its start.
fn row(now: &Thread, before: Option<&Thread>, seconds: f64) -> Row {
    let rate = |of: fn(&Thread) -> u64| (of(now).saturating_sub(before.map_or(0, of))) as f64 / seconds.max(1e-3);
    Row {
        pid: now.pid,
        tid: now.tid,
        cpu: now.cpu,
        place: word(&now.place),
        user_share: rate(|thread| thread.user_ns) / 1e9,
        forwarded_calls_per_s: rate(|thread| thread.forwarded_calls),
        faults_per_s: rate(|thread| thread.faults),
        name: now.name.clone(),
    }
}

fn describe(report: &Report) -> String {
    let rows = report.threads.iter().map(|row| {
        vec![
            row.pid.to_string(),
            row.tid.to_string(),
            row.cpu.to_string(),
            row.place.clone(),
            format!("{:.1}", row.user_share * 100.0),
            format!("{:.0}", row.forwarded_calls_per_s),
            format!("{:.0}", row.faults_per_s),
            row.name.clone(),
        ]
    });
    let spent = report.profile.as_ref().map_or_else(String::new, |all| format!("\n{}", profile::describe(all)));
    output::table(&HEADINGS, rows) + &spent + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacet_ctl::Place;

    fn thread(user_ns: u64, forwarded_calls: u64) -> Thread {
        let (pid, tid, uid, cpu, place) = (7, 8, 0, 3, Place::Running);
        let (faults, exceptions, signals, doorbells, name) = (0, 0, 0, 0, "app".to_string());
        Thread { pid, tid, uid, cpu, place, forwarded_calls, faults, exceptions, signals, doorbells, user_ns, name }
    }

    #[test]
    fn rates_are_of_what_was_added() {
        let added = row(&thread(3_000_000_000, 500), Some(&thread(2_000_000_000, 100)), 2.0);
        assert_eq!((added.user_share, added.forwarded_calls_per_s), (0.5, 200.0));
        let new = row(&thread(1_000_000_000, 500), None, 2.0);
        assert_eq!((new.user_share, new.forwarded_calls_per_s), (0.5, 250.0));
        let text = describe(&Report { threads: vec![added], profile: None });
        let expected = "PID  TID  CPU  PLACE    USER-%  CALLS/S  FAULTS/S  NAME\n  7    8    3  running    50.0      200         0  app\n\n";
        assert_eq!(text, expected);
    }
}
