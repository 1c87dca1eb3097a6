// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command that runs in a node: its events, its end, its time limit.
//!
//! Owns the rule of timeouts: at the limit the job's process group is killed; if the agent does not report the end
//! within [`GRACE`], the node counts as dead.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::command::{Command, Output, Status};
use crate::error::{Error, Result};
use crate::link::{Event, Link};
use crate::patience::Patience;
use crate::wire::{self, Kind};

/// How long the agent may take to report the end of a killed job.
const GRACE: Duration = Duration::from_secs(30);
/// Input is sent in pieces of this size.
const PIECE: usize = 64 << 10;

/// A running command. If this is dropped, the command continues and its output is lost.
pub struct Job {
    link: Link,
    id: u16,
    events: Receiver<Event>,
    name: String,
    limit: Duration,
    patience: Patience,
}

impl Job {
    pub(crate) fn start(link: &Link, command: &Command, limit: Duration) -> Result<Job> {
        let payload = wire::start(None, &command.directory, &command.environment, &command.argv);
        let (id, events) = link.start(&payload)?;
        for piece in command.input.chunks(PIECE) {
            link.send(id, Kind::Stdin, piece)?;
        }
        link.send(id, Kind::StdinEnd, &[])?;
        Ok(Job::new(link, id, events, command, limit))
    }

    /// The command that a node was given at boot.
    pub(crate) fn first(link: &Link, events: Receiver<Event>, command: &Command, limit: Duration) -> Job {
        Job::new(link, 0, events, command, limit)
    }

    fn new(link: &Link, id: u16, events: Receiver<Event>, command: &Command, limit: Duration) -> Job {
        let limit = command.timeout.unwrap_or(limit);
        let patience = Patience::new(link.emulator(), limit);
        Job { link: link.clone(), id, events, name: command.argv.join(" "), limit, patience }
    }

    /// Sends a signal to its process group.
    pub fn signal(&self, number: i32) -> Result<()> {
        self.link.send(self.id, Kind::Signal, &number.to_le_bytes())
    }

    /// Sends signals to its process group while another thread waits for its end.
    pub fn signaller(&self) -> impl Fn(i32) -> Result<()> + Send + 'static {
        let (link, id) = (self.link.clone(), self.id);
        move |number| link.send(id, Kind::Signal, &number.to_le_bytes())
    }

    /// Waits for its end and collects its output.
    pub fn wait(self) -> Result<Output> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let status = self.follow(&mut stdout, &mut stderr)?;
        Ok(Output { status, stdout, stderr })
    }

    /// Waits for its end and passes on its output at once.
    pub fn follow(mut self, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Result<Status> {
        let mut killed = false;
        loop {
            let gone = |e: std::io::Error| self.error(format!("cannot pass on its output: {e}"));
            match self.events.recv_timeout(self.patience.left()) {
                Ok(Event::Stdout(bytes)) => stdout.write_all(&bytes).and_then(|()| stdout.flush()).map_err(gone)?,
                Ok(Event::Stderr(bytes)) => stderr.write_all(&bytes).and_then(|()| stderr.flush()).map_err(gone)?,
                Ok(Event::Ended(_)) if killed => return Err(self.error(format!("killed after {:?}", self.limit))),
                Ok(Event::Ended(status)) => return Ok(status),
                Ok(Event::Failed(cause)) => return Err(self.error(cause)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.error("the node died".to_owned())),
                Err(RecvTimeoutError::Timeout) if !self.patience.left().is_zero() => {}
                Err(RecvTimeoutError::Timeout) if killed => {
                    return Err(self.error("the node does not answer".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    killed = true;
                    self.patience.extend(GRACE);
                    self.signal(9)?;
                }
            }
        }
    }

    fn error(&self, cause: String) -> Error {
        let name: String = self.name.chars().take(80).collect();
        Error::new(format!("command `{name}`"), cause, "see the node's console log")
    }
}
