// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A million broken messages and packets: nothing panics, and nothing leads out of a buffer.

use crate::support::{BASE, Memory, PROCESS};
use proptest::test_runner::{RngAlgorithm, TestRng};
use tacet_wire::demarshal::{Argument, Call, Span};
use tacet_wire::key::Key;
use tacet_wire::marshal::Shipment;
use tacet_wire::packet::{HEADER_BYTES, Header, Kind, MESSAGE_BYTES, Packet, Party, seal};
use tacet_wire::server::{Event, Server};

const PARTY: Party = Party { node: 1, job: 2, process: 3, thread: 4 };

/// Random numbers that are the same each time.
struct Dice(TestRng);

impl Dice {
    fn new() -> Self {
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &[5; 32]))
    }

    fn number(&mut self) -> u64 {
        use proptest::prelude::Rng;
        self.0.next_u64()
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit as u64) as usize
    }

    /// Changes a few bytes of a message, or its length.
    fn mutate(&mut self, message: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(message.len());
            let interesting = [0, 1, 0x7f, 0x80, 0xff, self.number() as u8];
            message[at] = interesting[self.below(interesting.len())];
        }
        match self.below(10) {
            0 => message.truncate(self.below(message.len()) + 1),
            1 => message.extend_from_slice(&self.number().to_le_bytes()),
            _ => {}
        }
    }
}

/// Messages of all shipped calls.
fn honest() -> Vec<Vec<u8>> {
    let memory = Memory::new(0x4000);
    memory.put_words(BASE, &[BASE + 0x100, 8, BASE + 0x200, 1, BASE + 0x300, 16, 0]);
    memory.put_words(BASE + 0x200, &[BASE + 0x400, 40]);
    let mut messages = vec![];
    for number in 0..480 {
        for arguments in [[BASE; 6], [3, BASE, 1, BASE, 8, BASE], [0; 6], [BASE, 9, 9, 9, 9, 9], [1, 7, 8, 9, 8, 0]] {
            let Ok(mut shipment) = Shipment::new(number, arguments) else { continue };
            let mut message = vec![0; MESSAGE_BYTES];
            if let Ok(used) = shipment.request(&memory, &mut message) {
                message.truncate(used);
                messages.push(message);
            }
        }
    }
    assert!(messages.len() > 300, "{} messages", messages.len());
    messages
}

fn spans(call: &Call) -> (Vec<Span>, Vec<Span>) {
    let (mut inputs, mut outputs) = (vec![], vec![]);
    for argument in call.arguments {
        match argument {
            // of a store that this test does not have
            Argument::Value(_) | Argument::Stored(_) => {}
            Argument::Input(span) | Argument::InputVector(span) => inputs.push(span),
            Argument::Output(span) | Argument::OutputVector(span) => outputs.push(span),
            Argument::InputMessage { name, control, data } => inputs.extend([name, control, data]),
            Argument::OutputMessage { lengths, name, control, data } => {
                outputs.extend([lengths, name, control, data]);
            }
        }
    }
    (inputs, outputs)
}

fn lie_apart_within(spans: &[Span], bytes: usize) -> bool {
    let mut end = 0;
    spans.iter().all(|span| {
        let follows = span.start >= end && span.start + span.bytes <= bytes;
        end = span.start + span.bytes;
        follows
    })
}

#[test]
fn decoding_keeps_to_its_buffers() {
    let mut dice = Dice::new();
    let honest = honest();
    let mut reply = vec![0; MESSAGE_BYTES];
    let (mut decoded, mut refused) = (0, 0);
    for _ in 0..600_000 {
        let mut message = honest[dice.below(honest.len())].clone();
        dice.mutate(&mut message);
        let Ok(call) = Call::decode(&message, PROCESS, &mut reply) else {
            refused += 1;
            continue;
        };
        decoded += 1;
        let (inputs, outputs) = spans(&call);
        assert!(lie_apart_within(&inputs, message.len()), "{call:?}");
        assert!(lie_apart_within(&outputs, reply.len()), "{call:?}");
        let result = [0, 1, 7, -1, i64::MAX, i64::MIN, dice.number() as i64][dice.below(7)];
        assert!(call.reply(result, 0, false, &mut reply) <= reply.len());
    }
    assert!(decoded > 10_000 && refused > 10_000, "{decoded} decoded, {refused} refused");
}

#[test]
fn replies_of_a_broken_proxy_stay_in_the_program() {
    let mut dice = Dice::new();
    let memory = Memory::new(0x4000);
    memory.put_words(BASE, &[BASE + 0x100, 8, BASE + 0x200, 1, BASE + 0x300, 16, 0]);
    memory.put_words(BASE + 0x200, &[BASE + 0x400, 40]);
    let mut message = vec![0; MESSAGE_BYTES];
    let mut ended = 0;
    for _ in 0..200_000 {
        let number = [0, 19, 43, 45, 47, 55, 232, 299, 17, 7][dice.below(10)];
        let Ok(mut shipment) = Shipment::new(number, [3, BASE, 1, BASE + 0x800, BASE + 0x900, 0]) else { continue };
        if shipment.request(&memory, &mut message).is_err() {
            continue;
        }
        let mut reply: Vec<u8> = (0..24 + dice.below(200)).map(|_| 0).collect();
        reply[..8].copy_from_slice(&[1, 40, dice.number() as i64][dice.below(3)].to_le_bytes());
        dice.mutate(&mut reply);
        ended += u32::from(shipment.finish(&reply, &memory).result.is_some());
        memory.put_words(BASE, &[BASE + 0x100, 8, BASE + 0x200, 1, BASE + 0x300, 16, 0]);
        memory.put_words(BASE + 0x200, &[BASE + 0x400, 40]);
    }
    assert!(ended > 10_000, "{ended}");
}

#[test]
fn a_server_survives_what_anybody_sends() {
    let mut dice = Dice::new();
    let key = Key::new(&[1; 32]);
    let mut server = Server::new(Kind::Call, PARTY);
    let mut message = vec![0; MESSAGE_BYTES];
    let (mut executed, mut ignored, mut malformed) = (0, 0, 0);
    let mut datagram = vec![0; 2000];
    for round in 0..200_000u64 {
        let fits = dice.below(2) == 0;
        let count =
            if fits { 1 + dice.below(3) as u16 } else { [0, 1, 2, 3, 64, 65, dice.number() as u16][dice.below(7)] };
        let index = if fits {
            dice.below(count.into()) as u16
        } else {
            [0, 1, 2, count.wrapping_sub(1), dice.number() as u16][dice.below(5)]
        };
        let payload = vec![0; [0, 1, 100, 150, 1408][dice.below(5)]];
        let whole = u32::from(count) * payload.len() as u32;
        let bytes =
            if fits { whole } else { [whole, whole, whole, 0, 300, u32::MAX, dice.number() as u32][dice.below(7)] };
        let sequence =
            [0, 1, round / 50, round / 50 + 1, u64::MAX >> 1][dice.below(if round < 199_000 { 4 } else { 5 })];
        let flags = dice.number() as u16;
        let header =
            Header { kind: Kind::Call, party: PARTY, slot: 0, index, count, flags, bytes, sequence, have: u64::MAX };
        let used = seal(&header, &payload, &key, &mut datagram).unwrap();
        let mut sent = datagram[..used].to_vec();
        if dice.below(4) == 0 {
            dice.mutate(&mut sent);
        }
        let Ok(packet) = Packet::parse(&sent) else {
            malformed += 1;
            continue;
        };
        match server.receive(&packet, &key, &mut message) {
            Ok(Event::Message(bytes)) => {
                assert!(bytes <= MESSAGE_BYTES);
                executed += 1;
                server.reply(1 + dice.below(5000)).unwrap();
            }
            Ok(_) => {}
            Err(_) => ignored += 1,
        }
        let mut sent = 0;
        while let Some(used) = server.next_packet(&key, &message, &mut datagram) {
            assert!(used >= HEADER_BYTES);
            sent += 1;
        }
        assert!(sent <= 64);
    }
    assert!(executed > 1000 && ignored > 1000 && malformed > 1000, "{executed} {ignored} {malformed}");
}
