// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node's questions to the daemon: it greets, gets jobs, and reports on them (`tacet_shipping::ask`). CPU 0 alone
//! does this, between jobs. It greets a daemon that is silent or was started anew until the daemon answers.

use crate::exchange::{Lost, Message, Wish};
use crate::host::Alone;
use crate::node::Node;
use crate::settings::Settings;
use tacet_arch::native::alone::{die, log};
use tacet_arch::native::cycles;
use tacet_shipping::ask::{Answer, Ask};
use tacet_shipping::key::{Key, NONCE_BYTES};
use tacet_shipping::packet::{Kind, Party};

/// The node's session with its daemon. CPU 0 uses it between jobs; during a job, any CPU that looks for orders.
pub struct Session {
    pub key: Key,
    /// Of the last ask; it goes on over sessions.
    pub sequence: u64,
    pub nonce: [u8; NONCE_BYTES],
}

impl Session {
    /// `random`: bytes that nobody guesses, if the processor makes some.
    pub fn new(key: &Key, random: Option<[u8; 32]>) -> Self {
        let mut nonce = [0; NONCE_BYTES];
        match random {
            Some(random) => nonce.iter_mut().zip(random).for_each(|(byte, random)| *byte = random),
            // Another one with each boot, which is what a nonce must be.
            None => nonce.iter_mut().zip(cycles().to_le_bytes()).for_each(|(byte, now)| *byte = now),
        }
        Self { key: key.clone(), sequence: 0, nonce }
    }

    /// The greeting, which begins another session.
    pub fn hello(&self, node: &Node) -> Ask<'static> {
        Ask::Hello { nonce: self.nonce, cpus: node.cpus.len() as u32, memory_bytes: node.free_bytes }
    }

    /// The daemon has welcomed the node with this nonce.
    pub fn begin(&mut self, node: &Node, welcome: &[u8; NONCE_BYTES]) {
        let Settings { key, node, .. } = &node.settings;
        self.key = key.session(*node, &self.nonce, welcome);
    }
}

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
    pub fn greet(&mut self, host: &Alone) {
        let node = host.node;
        loop {
            let hello = node.session.with(|session| session.hello(node));
            let welcome = self.ask(host, &node.settings.key, &hello, |answer| match answer {
                Answer::Welcome { nonce } => Some(nonce),
                _ => None,
            });
            if let Ok(Some(nonce)) = welcome {
                node.session.with(|session| session.begin(node, &nonce));
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
    pub fn next_job(&mut self, host: &Alone) -> usize {
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
                        Answer::PowerOff => tacet_arch::native::alone::power_off(0),
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
    pub fn tell(&mut self, host: &Alone, ask: &Ask<'_>) {
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
        host: &Alone,
        key: &Key,
        ask: &Ask<'_>,
        take: impl FnOnce(Answer<'_>) -> Option<T>,
    ) -> Result<Option<T>, Forgotten> {
        let bytes = self.converse(host, key, ask)?;
        let take = |message: &[u8]| take(Answer::decode(message)?);
        Ok(host.exchange().with(|exchange| take(exchange.message.get(..bytes)?)))
    }

    /// Sends an ask and waits for the answer: so many bytes of the exchange's message.
    fn converse(&self, host: &Alone, key: &Key, ask: &Ask<'_>) -> Result<usize, Forgotten> {
        let exchange = host.exchange();
        let Some(bytes) = exchange.with(|exchange| ask.encode(exchange.message)) else {
            die(format_args!("a message to the daemon does not fit"));
        };
        let settings = &host.node.settings;
        let party = Party { node: settings.node, ..Party::default() };
        let sequence = host.node.session.with(|session| {
            session.sequence += 1;
            session.sequence
        });
        let (port, refuser) = (settings.daemon_port, &settings.key);
        let message = Message { kind: Kind::Ask, party, sequence, port, key, refuser };
        host.node.converse(exchange, &message, bytes, &host.cpu, || Wish::Wait).map_err(|lost: Lost| match lost {
            Lost::Silent | Lost::Refused(_) | Lost::TooLong | Lost::GivenUp => Forgotten,
        })
    }
}
