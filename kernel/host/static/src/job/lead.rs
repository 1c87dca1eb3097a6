// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node's questions to the daemon: it greets, gets jobs, and reports on them (`tacet_wire::ask`). CPU 0 alone
//! does this, between jobs. It greets a daemon that is silent or was started anew until the daemon answers.

use crate::base::StaticHost;
use crate::link::exchange::{Lost, Message, Wish};
use crate::machine::{die, log, power_off, reset};
use tacet_wire::ask::{Answer, Ask};
use tacet_wire::key::Key;
use tacet_wire::packet::{Kind, Party};

/// The node's conversation with its daemon.
pub struct Leader {
    /// It was said that the daemon is silent.
    complained: bool,
}

/// The daemon forgot the session, or nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forgotten;

impl Leader {
    pub fn new() -> Self {
        Self { complained: false }
    }

    /// Begins a session, as often as it takes.
    pub fn greet(&mut self, host: &StaticHost) {
        let node = host.node;
        loop {
            let hello = node.hello();
            let welcome = self.ask(host, &node.settings.key, &hello, |answer| match answer {
                Answer::Welcome { nonce } => Some(nonce),
                _ => None,
            });
            if let Ok(Some(nonce)) = welcome {
                node.begin_session(&nonce);
                self.complained = false;
                return;
            }
            if !self.complained {
                log(b"the daemon does not answer; is its key this node's?");
                self.complained = true;
            }
        }
    }

    /// Waits for a job: its description is in the node's buffer, so many bytes.
    pub fn next_job(&mut self, host: &StaticHost) -> usize {
        loop {
            let key = host.node.session.with(|session| session.key.clone());
            let got = self.converse(host, &key, &Ask::Next);
            if let Ok(bytes) = got {
                let job = host.exchange().with(|exchange| {
                    let message = exchange.message.get(..bytes)?;
                    match Answer::decode(message)? {
                        Answer::Job(_) => host.node.description.with(|text| {
                            text.get_mut(..bytes)?.copy_from_slice(message);
                            Some(bytes)
                        }),
                        Answer::PowerOff => power_off(0),
                        Answer::Reset => reset(),
                        _ => None,
                    }
                });
                if let Some(bytes) = job {
                    return bytes;
                }
            } else {
                self.greet(host);
            }
        }
    }

    /// Tells the daemon something about a job. A daemon that was started anew meanwhile hears it after a greeting.
    pub fn tell(&mut self, host: &StaticHost, ask: &Ask<'_>) {
        loop {
            let key = host.node.session.with(|session| session.key.clone());
            match self.ask(host, &key, ask, |_| Some(())) {
                Ok(_) => return,
                Err(Forgotten) => self.greet(host),
            }
        }
    }

    fn ask<T>(
        &mut self,
        host: &StaticHost,
        key: &Key,
        ask: &Ask<'_>,
        take: impl FnOnce(Answer<'_>) -> Option<T>,
    ) -> Result<Option<T>, Forgotten> {
        let bytes = self.converse(host, key, ask)?;
        let take = |message: &[u8]| take(Answer::decode(message)?);
        Ok(host.exchange().with(|exchange| take(exchange.message.get(..bytes)?)))
    }

    /// Sends an ask and waits for the answer: so many bytes of the exchange's message.
    fn converse(&self, host: &StaticHost, key: &Key, ask: &Ask<'_>) -> Result<usize, Forgotten> {
        let exchange = host.exchange();
        let Some(bytes) = exchange.with(|exchange| ask.encode(exchange.message)) else {
            die(format_args!("a message to the daemon does not fit"));
        };
        let settings = &host.node.settings;
        let party = Party { node: settings.node, ..Party::default() };
        let sequence = host.node.session.with(|session| session.next_sequence());
        let (port, refuser) = (settings.daemon_port, &settings.key);
        let message = Message { kind: Kind::Ask, party, sequence, port, key, refuser };
        host.node.link.converse(exchange, &message, bytes, &host.cpu, || Wish::Wait).map_err(|lost: Lost| match lost {
            Lost::Silent | Lost::Refused(_) | Lost::TooLong | Lost::GivenUp => Forgotten,
        })
    }
}
