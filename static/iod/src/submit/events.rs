// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everything that can happen while a job runs, in one queue: the daemon's lines, signals, deaths of proxies.
//!
//! A thread waits for each; `running` takes the events one by one. Nothing here decides what follows.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;

use super::gone::Place;
use crate::control::{Dropped, Lines, Reply, Request, connect, send};
use crate::error::{Error, Result};
use crate::proxy::Note;

/// Between attempts to reach a daemon that is being restarted.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub enum Event {
    Control(Reply),
    ControlGone,
    /// A daemon again; this is the way to it.
    ControlBack(UnixStream),
    Signal {
        signal: i32,
        /// The kernel has sent it, as a key of the terminal does: to the proxies too.
        to_all: bool,
    },
    /// A proxy has signals for its program, which makes no call.
    ChildSignals(u32, u64),
    /// A proxy says nothing more: it is about to die.
    ChildSilent(u32),
    /// It can be buried without a wait. With what a proxy says when its program ends, if it could.
    ChildDied(u32, Option<Dropped>),
}

#[derive(Debug, Clone)]
pub struct Events {
    queue: Sender<Event>,
}

impl Events {
    pub fn begin(stream: &UnixStream) -> Result<(Self, Receiver<Event>)> {
        let (queue, inbox) = channel();
        let events = Events { queue };
        let stream = stream.try_clone().map_err(|error| Error::new("control socket", error, "run it again"))?;
        let queue = events.queue.clone();
        spawn("control", move || listen(&stream, &queue))?;
        Ok((events, inbox))
    }

    /// From here on, these signals are events, and do not end the process.
    pub fn take_signals(&self) -> Result<()> {
        let signals = SignalsInfo::<WithRawSiginfo>::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]);
        let mut signals = signals.map_err(|error| Error::new("signals", error, "run it again"))?;
        let queue = self.queue.clone();
        spawn("signals", move || {
            for signal in signals.forever() {
                let event = Event::Signal { signal: signal.si_signo, to_all: signal.si_code == libc::SI_KERNEL };
                if queue.send(event).is_err() {
                    return;
                }
            }
        })
    }

    /// Listens to a proxy until it dies, and answers in its place then.
    pub fn listen_to(&self, rank: u32, process: Pid, stream: UnixStream, place: Place) -> Result<()> {
        let queue = self.queue.clone();
        spawn("proxy", move || {
            let mut farewell = None;
            let mut lines = Lines::new(&stream);
            while let Ok(Some(note)) = lines.read() {
                match note {
                    Note::Signals(signals) => drop(queue.send(Event::ChildSignals(rank, signals))),
                    Note::Farewell(dropped) => farewell = Some(dropped),
                }
            }
            let _ = queue.send(Event::ChildSilent(rank));
            // Its status stays for `Child::bury`.
            while waitid(Id::Pid(process), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
            let _ = queue.send(Event::ChildDied(rank, farewell));
            drop((queue, stream));
            place.answer();
        })
    }

    /// Waits for another daemon, and tells it about the job, after a pause.
    pub fn await_daemon(&self, control: PathBuf, adopt: Request, pause: Duration) {
        let queue = self.queue.clone();
        // Without the thread, the job goes on unseen by a new daemon.
        let _ = spawn("control", move || {
            std::thread::sleep(pause);
            let stream = loop {
                std::thread::sleep(PAUSE);
                match connect(&control) {
                    Ok(stream) if send(&stream, &adopt).is_ok() => break stream,
                    _ => {}
                }
            };
            let Ok(to_daemon) = stream.try_clone() else { return };
            if queue.send(Event::ControlBack(to_daemon)).is_ok() {
                listen(&stream, &queue);
            }
        });
    }
}

fn listen(stream: &UnixStream, queue: &Sender<Event>) {
    let mut lines = Lines::new(stream);
    while let Ok(Some(reply)) = lines.read() {
        if queue.send(Event::Control(reply)).is_err() {
            return;
        }
    }
    let _ = queue.send(Event::ControlGone);
}

pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    let builder = std::thread::Builder::new().name(name.into()).stack_size(128 << 10);
    builder.spawn(body).map(drop).map_err(|error| Error::new("job", error, "raise the limit of threads"))
}
