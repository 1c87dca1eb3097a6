// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet top`: what hosted threads did since the previous table, repeatedly.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::Serialize;
use tacet_ctl::{CpuSet, Device, Profile, Result, Thread};

use super::profile;
use super::run::check;
use crate::args::{Order, TopArgs};
use crate::output;
use crate::screen::{Screen, Wish};
use crate::text::word;

const HELP: &str = "u c f p t o n: sort by user, calls, faults, pid, tid, on-cpu, name; q: end\n";
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
    // with a number of tables they are results, which stay on the terminal
    let screen = if json || args.iterations.is_some() { None } else { Screen::open()? };
    let mut order = args.sort;
    if let Some(screen) = &screen {
        screen.draw(HELP)?;
    }
    let mut last: Option<Report> = None;
    for _ in 0..args.iterations.unwrap_or(u64::MAX) {
        match &screen {
            None => sleep(args.interval),
            Some(screen) => {
                if !wait(screen, args.interval, &mut order, &mut last)? {
                    return Ok(0);
                }
            }
        }
        let (now, seconds) = (threads(&device, args)?, then.elapsed().as_secs_f64());
        then = Instant::now();
        let mut rows: Vec<Row> = now.values().map(|thread| row(thread, before.get(&thread.tid), seconds)).collect();
        sort(&mut rows, order);
        let profile = args.pid.map(|pid| device.profile(Some(pid))).transpose()?;
        let report = Report { threads: rows, profile };
        match &screen {
            _ if json => output::json_line(&report)?,
            None => output::print(&describe(&report))?,
            Some(screen) => screen.draw(&page(&report, order))?,
        }
        last = Some(report);
        before = now;
    }
    Ok(0)
}

/// Waits until the next table is due, and answers keys meanwhile. False: the person wants to end.
fn wait(screen: &Screen, interval: Duration, order: &mut Order, last: &mut Option<Report>) -> Result<bool> {
    let due = Instant::now() + interval;
    loop {
        match screen.wish(due.saturating_duration_since(Instant::now()))? {
            Wish::End => return Ok(false),
            Wish::Nothing => return Ok(true),
            Wish::Key(key) => {
                let Some(wanted) = chosen(key) else { continue };
                *order = wanted;
                if let Some(report) = last {
                    sort(&mut report.threads, wanted);
                    screen.draw(&page(report, wanted))?;
                }
            }
        }
    }
}

/// The order whose first letter was typed.
fn chosen(key: u8) -> Option<Order> {
    let name = |order: &Order| order.to_possible_value().map(|value| value.get_name().as_bytes().first() == Some(&key));
    Order::value_variants().iter().find(|order| name(order) == Some(true)).copied()
}

fn sort(rows: &mut [Row], order: Order) {
    rows.sort_by(|a, b| {
        let by = match order {
            Order::User => b.user_share.total_cmp(&a.user_share),
            Order::Calls => b.forwarded_calls_per_s.total_cmp(&a.forwarded_calls_per_s),
            Order::Faults => b.faults_per_s.total_cmp(&a.faults_per_s),
            Order::Pid => a.pid.cmp(&b.pid),
            Order::Tid => a.tid.cmp(&b.tid),
            Order::OnCpu => a.cpu.cmp(&b.cpu),
            Order::Name => a.name.cmp(&b.name),
        };
        by.then(a.tid.cmp(&b.tid))
    });
}

fn page(report: &Report, order: Order) -> String {
    let name = order.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    format!("sorted by {name}; {HELP}\n{}", describe(report))
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
        let bursts = 0;
        Thread {
            pid,
            tid,
            uid,
            cpu,
            place,
            bursts,
            forwarded_calls,
            faults,
            exceptions,
            signals,
            doorbells,
            user_ns,
            name,
        }
    }

    /// Each order has a letter of its own, which the help on the screen names, and sorts the rows its way.
    #[test]
    fn keys_choose_the_order() {
        let rows = || {
            let one = |tid, cpu, user_share, calls, faults, name: &str| Row {
                pid: 100 - tid,
                tid,
                cpu,
                place: "running".into(),
                user_share,
                forwarded_calls_per_s: calls,
                faults_per_s: faults,
                name: name.into(),
            };
            vec![one(1, 2, 0.1, 5.0, 9.0, "c"), one(2, 3, 0.9, 1.0, 9.0, "b"), one(3, 1, 0.5, 9.0, 1.0, "a")]
        };
        for (key, order, tids) in [
            (b'u', Order::User, [2, 3, 1]),
            (b'c', Order::Calls, [3, 1, 2]),
            (b'f', Order::Faults, [1, 2, 3]),
            (b'p', Order::Pid, [3, 2, 1]),
            (b't', Order::Tid, [1, 2, 3]),
            (b'o', Order::OnCpu, [3, 1, 2]),
            (b'n', Order::Name, [3, 2, 1]),
        ] {
            assert_eq!(chosen(key), Some(order));
            let mut rows = rows();
            sort(&mut rows, order);
            assert_eq!(rows.iter().map(|row| row.tid).collect::<Vec<_>>(), tids, "{order:?}");
        }
        assert_eq!(Order::value_variants().len(), 7);
        assert_eq!((chosen(b'q'), chosen(b'x')), (None, None), "q ends");
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
