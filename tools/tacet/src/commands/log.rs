// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet log`: the records of the module and of the cores, in the order of time.
//!
//! JSON has one record a line, so that a reader can follow it.

use std::thread::sleep;
use std::time::Duration;

use tacet_ctl::{Device, LogEntry, LogLevel, LogReader, Machine, Result};

use crate::args::LogArgs;
use crate::output;

const PAUSE: Duration = Duration::from_millis(250);

pub fn log(machine: &Machine, args: LogArgs, json: bool) -> Result<u8> {
    let device = Device::open()?;
    let mut reader = LogReader::new(&machine.possible()?);
    loop {
        for entry in reader.read(&device)? {
            if json {
                output::json_line(&entry)?;
            } else {
                output::print(&line(&entry))?;
            }
        }
        if !args.follow {
            return Ok(0);
        }
        sleep(PAUSE);
    }
}

/// `[   12.345678] cpu 2: text`, as dmesg has it.
fn line(entry: &LogEntry) -> String {
    let us = entry.time_ns / 1000;
    let time = format!("[{:>5}.{:06}]", us / 1_000_000, us % 1_000_000);
    let source = entry.cpu.map_or("module".to_string(), |cpu| format!("cpu {cpu}"));
    let level = match entry.level {
        LogLevel::Info => "",
        LogLevel::Warning => "warning: ",
        LogLevel::Fatal => "fatal: ",
        LogLevel::Unknown => "? ",
    };
    let lost = match entry.lost {
        0 => String::new(),
        lost => format!("{time} {source}: {lost} records were overwritten before this one\n"),
    };
    format!("{lost}{time} {source}: {level}{}\n", entry.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_look_like_dmesg() {
        let entry = LogEntry {
            time_ns: 12_345_678_999,
            cpu: Some(2),
            level: LogLevel::Fatal,
            sequence: 70,
            lost: 5,
            text: "the outbox index is wrong".into(),
        };
        let text = line(&entry);
        assert_eq!(
            text,
            "[   12.345678] cpu 2: 5 records were overwritten before this one\n\
             [   12.345678] cpu 2: fatal: the outbox index is wrong\n"
        );
        let text = line(&LogEntry { cpu: None, lost: 0, level: LogLevel::Info, ..entry });
        assert_eq!(text, "[   12.345678] module: the outbox index is wrong\n");
    }
}
