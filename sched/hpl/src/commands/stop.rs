// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `stop`: tells the process that stays with the scheduler to end, and waits for its end.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tacet_words::Failure;
use tacet_words::status::NO;

use super::print;
use crate::Result;
use crate::record::{self, Record};
use crate::support::{self, PATIENCE};

pub fn run(dry_run: bool, json: bool) -> Result<ExitCode> {
    let Some(process) = record::holder() else {
        return Err(Failure::new(NO, "HPL is not loaded: Linux's own scheduler schedules").into());
    };
    if dry_run {
        return say_what(process, json);
    }
    // 0 would be our own group: the loader has no number yet
    if process == 0 {
        return Err("HPL is just being loaded: stop it again in a moment".into());
    }
    let failed =
        |error| Failure::machine(format!("process {process}: cannot send it a signal: {error}: stopping needs root"));
    kill(Pid::from_raw(process.cast_signed()), Signal::SIGTERM).map_err(failed)?;
    let begin = Instant::now();
    while record::is_held() {
        if begin.elapsed() > PATIENCE {
            return Err(format!(
                "process {process}: has not ended after {} s: {}",
                PATIENCE.as_secs(),
                support::progress()
            )
            .into());
        }
        sleep(Duration::from_millis(20));
    }
    let end = Record::read()?.and_then(|record| record.end).ok_or("the scheduler ended without a reason")?;
    if json {
        return print(&tacet_words::json::text(&end)?);
    }
    print(&format!("Linux's own scheduler schedules again ({})\n", end.reason))
}

fn say_what(process: u32, json: bool) -> Result<ExitCode> {
    if json {
        return print(&tacet_words::json::line(&serde_json::json!({ "dry_run": true, "process": process }))?);
    }
    print(&format!("would end process {process}, with which the kernel unloads HPL\n"))
}
