// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Asks an emulator whether its machine executes, by QEMU's protocol for monitors (QMP: a JSON object a line).
//!
//! An emulator whose machine has stopped (an internal error of KVM, a pause, a panic) does not end by itself: it waits
//! for a person. `guarded.rs` calls this in a thread and ends the emulator. Must never change the machine.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A machine that stops only to take a snapshot goes on sooner.
const GRACE: Duration = Duration::from_millis(500);
/// A machine that begins has this state for a moment.
const LOOKS: u32 = 4;

/// Listens until the machine has stopped, and returns its state in QEMU's word (`internal-error`, `paused`,
/// `guest-panicked`, `io-error`, `prelaunch`), or until the emulator has ended: `None`.
pub fn until_stopped(stream: &UnixStream) -> Option<String> {
    let mut lines = BufReader::new(stream);
    // the greeting
    line(&mut lines).ok()??;
    ask(stream, "qmp_capabilities").ok()?;
    ask(stream, "query-status").ok()?;
    let mut stopped = 0;
    while let Ok(Some(said)) = line(&mut lines) {
        if said["event"] == "STOP" {
            ask(stream, "query-status").ok()?;
        }
        let Some(status) = said["return"]["status"].as_str() else { continue };
        // a guest that suspends itself wakes by itself
        if said["return"]["running"] == true || status == "suspended" {
            stopped = 0;
            continue;
        }
        stopped += 1;
        if stopped == LOOKS {
            return Some(status.to_owned());
        }
        thread::sleep(GRACE / LOOKS);
        ask(stream, "query-status").ok()?;
    }
    None
}

fn ask(mut stream: &UnixStream, command: &str) -> io::Result<()> {
    writeln!(stream, "{{\"execute\": \"{command}\"}}")
}

/// The next object. `None`: the emulator has closed the stream.
fn line(lines: &mut impl BufRead) -> io::Result<Option<Value>> {
    let mut text = String::new();
    if lines.read_line(&mut text)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `until_stopped` returns for an emulator with these states, one for each question.
    fn with(states: &'static [(&'static str, bool)], event: bool) -> Option<String> {
        let (ours, theirs) = UnixStream::pair().expect("pair");
        let emulator = thread::spawn(move || play(&theirs, states, event));
        let stopped = until_stopped(&ours);
        drop(ours);
        emulator.join().expect("emulator").ok();
        stopped
    }

    fn play(theirs: &UnixStream, states: &[(&str, bool)], event: bool) -> io::Result<()> {
        let mut lines = BufReader::new(theirs);
        let mut states = states.iter();
        let say = |text: String| writeln!(&*theirs, "{text}");
        say("{\"QMP\": {}}".into())?;
        while let Some(asked) = line(&mut lines)? {
            if asked["execute"] != "query-status" {
                say("{\"return\": {}}".into())?;
                continue;
            }
            let Some((status, running)) = states.next() else { return Ok(()) };
            say(format!("{{\"return\": {{\"status\": \"{status}\", \"running\": {running}}}}}"))?;
            if event && *running {
                say("{\"event\": \"STOP\"}".into())?;
            }
            if states.len() == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    #[test]
    fn a_machine_that_stays_stopped_is_told_with_its_state() {
        const ERROR: (&str, bool) = ("internal-error", false);
        assert_eq!(with(&[("running", true), ERROR, ERROR, ERROR, ERROR], true), Some("internal-error".into()));
        const NEVER: (&str, bool) = ("prelaunch", false);
        assert_eq!(with(&[NEVER, NEVER, NEVER, NEVER], false), Some("prelaunch".into()));
    }

    #[test]
    fn a_machine_that_goes_on_is_not_stopped() {
        // then the emulator ends
        assert_eq!(with(&[("running", true), ("paused", false), ("running", true)], true), None);
        assert_eq!(with(&[("prelaunch", false), ("prelaunch", false), ("running", true)], false), None);
        assert_eq!(with(&[], false), None);
    }
}
