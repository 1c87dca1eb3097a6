// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A terminal in a node: connects the person's terminal, in raw mode, to a login shell or another program inside.
//!
//! Owns the terminal's mode meanwhile, and restores it in every case; for a signal, by `restorer`.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use nix::sys::termios::{self, SetArg, Termios};

use crate::command::{Command, Status};
use crate::error::{Error, Result};
use crate::link::{Event, Link};
use crate::node::Node;
use crate::wire::{self, Kind};

/// How often the window's size is checked.
const WINDOW: Duration = Duration::from_millis(500);

impl Node {
    /// Connects this process's terminal with a program in the node until the program ends. Call this last: the thread
    /// that reads standard input stays blocked until this process ends.
    pub fn interact(&self, command: &Command) -> Result<Status> {
        let terminal = std::env::var("TERM").unwrap_or_else(|_| "dumb".to_owned());
        let command = command.clone().env("TERM", &terminal);
        let mut size = window_size();
        let payload = wire::start(Some(size), &command.directory, &command.environment, &command.argv);
        let (id, events) = self.link.start(&payload)?;
        let _raw = Raw::enter();
        let link = self.link.clone();
        thread::spawn(move || type_into(&link, id));
        loop {
            match events.recv_timeout(WINDOW) {
                Ok(Event::Stdout(bytes) | Event::Stderr(bytes)) => show(&bytes)?,
                Ok(Event::Ended(status)) => return Ok(status),
                Ok(Event::Failed(cause)) => return Err(Error::new("shell", cause, "")),
                Err(RecvTimeoutError::Disconnected) => return Err(Error::new("shell", "the node ended", "")),
                Err(RecvTimeoutError::Timeout) if window_size() != size => {
                    size = window_size();
                    self.link.send(id, Kind::Window, &wire::window(size))?;
                }
                Err(RecvTimeoutError::Timeout) => (),
            }
        }
    }
}

fn type_into(link: &Link, id: u16) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = io::stdin().read(&mut buffer) {
        let typed = buffer.get(..n).unwrap_or_default();
        if link.send(id, Kind::Stdin, typed).is_err() {
            return;
        }
    }
    link.send(id, Kind::StdinEnd, &[]).ok();
}

fn show(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|e| Error::new("terminal", e, ""))
}

/// Rows and columns, from `stty` because the ioctl would need `unsafe`.
fn window_size() -> (u16, u16) {
    let output = std::process::Command::new("stty").arg("size").stdin(std::process::Stdio::inherit()).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let mut numbers = text.split_whitespace().flat_map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(rows), Some(columns)) => (rows, columns),
        _ => (24, 80),
    }
}

/// Returns what gives the terminal its present mode again, for a thread that ends this process.
pub fn restorer() -> impl Fn() + Send + 'static {
    let before = termios::tcgetattr(io::stdin().as_fd()).ok();
    move || restore(before.as_ref())
}

fn restore(mode: Option<&Termios>) {
    if let Some(mode) = mode {
        termios::tcsetattr(io::stdin().as_fd(), SetArg::TCSANOW, mode).ok();
    }
}

/// Raw mode, undone on drop.
struct Raw(Option<Termios>);

impl Raw {
    fn enter() -> Raw {
        let input = io::stdin();
        let Ok(before) = termios::tcgetattr(input.as_fd()) else {
            return Raw(None); // a pipe, not a terminal
        };
        let mut raw = before.clone();
        termios::cfmakeraw(&mut raw);
        termios::tcsetattr(input.as_fd(), SetArg::TCSANOW, &raw).ok();
        Raw(Some(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore(self.0.as_ref());
    }
}
