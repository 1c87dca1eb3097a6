// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Exchanges over a channel that loses, doubles, holds back, reorders and corrupts packets: each message is worked on
//! exactly once, in order, and each reply is the one to its message.

use proptest::collection::vec;
use proptest::prelude::*;
use tacet_wire::ask::Refusal;
use tacet_wire::client::{Client, Ignored};
use tacet_wire::key::Key;
use tacet_wire::packet::{Header, Kind, LARGE_PACKET_BYTES, MESSAGE_BYTES, PACKET_BYTES, Packet, Party, seal};
use tacet_wire::server::{Event, Server};

const PARTY: Party = Party { node: 1, job: 2, process: 3, thread: 4 };

/// The channel's treatment of a packet.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Deliver,
    Lose,
    Double,
    /// Comes after the next so many packets.
    Hold(u8),
    Corrupt(u16),
    /// Comes signed by somebody else.
    Forge,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Deliver),
        2 => Just(Fate::Lose),
        1 => Just(Fate::Double),
        2 => (1..90u8).prop_map(Fate::Hold),
        1 => any::<u16>().prop_map(Fate::Corrupt),
        1 => Just(Fate::Forge),
    ]
}

struct Flying {
    to_server: bool,
    after: u64,
    datagram: Vec<u8>,
}

struct World {
    key: Key,
    client: Client,
    server: Server,
    buffer: Vec<u8>,
    message: Vec<u8>,
    reply: Vec<u8>,
    fates: std::vec::IntoIter<Fate>,
    flying: Vec<Flying>,
    moved: u64,
    sent: u64,
    /// The messages that the server has worked on.
    worked: Vec<Vec<u8>>,
    /// Steps until the work in progress is done.
    working: u8,
    interrupted: bool,
}

impl World {
    fn new(fates: Vec<Fate>, packet_bytes: usize) -> Self {
        Self {
            key: Key::new(&[1; 32]),
            client: Client::new(9, packet_bytes),
            server: Server::new(Kind::Call, PARTY),
            buffer: vec![0; MESSAGE_BYTES],
            message: vec![0; MESSAGE_BYTES],
            reply: vec![0; MESSAGE_BYTES],
            fates: fates.into_iter(),
            flying: vec![],
            moved: 0,
            sent: 0,
            worked: vec![],
            working: 0,
            interrupted: false,
        }
    }

    /// Exchanges a message; the reply.
    fn call(&mut self, sequence: u64, message: &[u8], work: u8, interrupt: bool) -> Vec<u8> {
        self.buffer[..message.len()].copy_from_slice(message);
        self.client.begin(Kind::Call, PARTY, sequence, message.len()).unwrap();
        self.interrupted = !interrupt;
        for _ in 0..100_000 {
            if self.working > 0 {
                self.working -= 1;
                if self.working == 0 && self.interrupted {
                    let reply = answer(&self.message[..self.worked.last().unwrap().len()]);
                    self.reply[..reply.len()].copy_from_slice(&reply);
                    self.server.reply(reply.len()).unwrap();
                } else {
                    self.working = self.working.max(1);
                }
            }
            self.send();
            if self.flying.is_empty() && (self.working == 0 || work > 0 || interrupt) {
                self.client.timeout();
                if interrupt {
                    self.client.interrupt();
                }
            }
            if let Some(bytes) = self.step(work) {
                return self.buffer[..bytes].to_vec();
            }
        }
        panic!("no reply to message {sequence}");
    }

    fn send(&mut self) {
        let mut datagram = vec![0; LARGE_PACKET_BYTES];
        while let Some(used) = self.client.next_packet(&self.key, &self.buffer, &mut datagram) {
            self.launch(true, &datagram[..used]);
        }
        while let Some(used) = self.server.next_packet(&self.key, &self.reply, &mut datagram) {
            self.launch(false, &datagram[..used]);
        }
    }

    fn launch(&mut self, to_server: bool, datagram: &[u8]) {
        self.sent += 1;
        let mut fly = |after, datagram: &[u8]| {
            self.flying.push(Flying { to_server, after: self.moved + after, datagram: datagram.to_vec() });
        };
        match self.fates.next().unwrap_or(Fate::Deliver) {
            Fate::Deliver => fly(0, datagram),
            Fate::Lose => {}
            Fate::Double => {
                fly(0, datagram);
                fly(2, datagram);
            }
            Fate::Hold(packets) => fly(packets.into(), datagram),
            Fate::Corrupt(bit) => {
                let mut datagram = datagram.to_vec();
                let bit = usize::from(bit) % (8 * datagram.len());
                datagram[bit / 8] ^= 1 << (bit % 8);
                fly(0, &datagram);
            }
            Fate::Forge => {
                let packet = Packet::parse(datagram).unwrap();
                let mut forged = vec![0; LARGE_PACKET_BYTES];
                let payload = vec![0xee; packet.payload().len()];
                let used = seal(&packet.header, &payload, &Key::new(&[2; 32]), &mut forged).unwrap();
                fly(0, &forged[..used]);
            }
        }
    }

    /// Moves one packet; the reply's length, if that completes it.
    fn step(&mut self, work: u8) -> Option<usize> {
        let next = (0..self.flying.len()).min_by_key(|at| self.flying[*at].after)?;
        let Flying { to_server, datagram, .. } = self.flying.remove(next);
        self.moved += 1;
        let packet = Packet::parse(&datagram).ok()?;
        if !to_server {
            return self.client.receive(&packet, &self.key, &mut self.buffer).ok()?;
        }
        match self.server.receive(&packet, &self.key, &mut self.message) {
            Ok(Event::Message(bytes)) => {
                assert_eq!(self.working, 0, "a message while another is in work");
                self.worked.push(self.message[..bytes].to_vec());
                self.working = work + 1;
            }
            Ok(Event::Interrupt) => self.interrupted = true,
            Ok(Event::Nothing) | Err(_) => {}
        }
        None
    }
}

fn answer(message: &[u8]) -> Vec<u8> {
    let bytes = usize::from(message[0]) * 267 + 1;
    message.iter().cycle().take(bytes).map(|byte| byte.wrapping_mul(3)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_message_is_worked_on_once_and_in_order(
        fates in vec(fate(), 0..500),
        calls in vec((prop_oneof![1..200usize, 1..MESSAGE_BYTES], any::<u8>(), 0..60u8, any::<bool>()), 1..10),
        packet_bytes in PACKET_BYTES..=LARGE_PACKET_BYTES,
    ) {
        let mut world = World::new(fates, packet_bytes);
        for (number, (bytes, first, work, interrupt)) in calls.iter().enumerate() {
            let message: Vec<u8> = (0..*bytes).map(|at| first.wrapping_add((at * 7 / 3) as u8)).collect();
            let reply = world.call(number as u64 + 1, &message, *work, *interrupt);
            prop_assert_eq!(&reply, &answer(&message));
            prop_assert_eq!(world.worked.len(), number + 1);
            prop_assert_eq!(&world.worked[number], &message);
        }
    }
}

#[test]
fn without_losses_each_fragment_travels_once() {
    // Ethernet's, those of jumbo frames, and of a link without frames of Ethernet's size.
    for packet in [PACKET_BYTES, 8960, LARGE_PACKET_BYTES] {
        let mut world = World::new(vec![], packet);
        let message = vec![200; MESSAGE_BYTES];
        let reply = world.call(1, &message, 0, false);
        let fragments = |bytes: usize| bytes.div_ceil(packet - 64) as u64;
        assert_eq!(world.sent, fragments(message.len()) + fragments(reply.len()));
    }
}

/// One lost fragment of many costs a report, and itself again.
#[test]
fn a_gap_is_filled_without_repeating_the_rest() {
    for lost in [0, 20, 46] {
        let fates = (0..=lost).map(|at| if at == lost { Fate::Lose } else { Fate::Deliver }).collect();
        let mut world = World::new(fates, PACKET_BYTES);
        world.call(1, &[0; 66_000], 0, false);
        assert_eq!(world.worked.len(), 1);
        assert!(world.sent <= 47 + 1 + 4, "{} packets", world.sent);
    }
}

#[test]
fn packets_of_others_are_told_apart() {
    let key = Key::new(&[1; 32]);
    let (mut client, mut server) = (Client::new(9, PACKET_BYTES), Server::new(Kind::Call, PARTY));
    let (mut buffer, mut message, mut datagram) = (vec![7; 100], vec![0; 100], vec![0; PACKET_BYTES]);
    client.begin(Kind::Call, PARTY, 5, 100).unwrap();
    let used = client.next_packet(&key, &buffer, &mut datagram).unwrap();
    let call = datagram[..used].to_vec();
    let call = Packet::parse(&call).unwrap();
    assert_eq!(server.receive(&call, &Key::new(&[2; 32]), &mut message), Err(Ignored::Forged));
    let mut other = Server::new(Kind::Call, Party { process: 2, ..PARTY });
    assert_eq!(other.receive(&call, &key, &mut message), Err(Ignored::Misdirected));
    assert_eq!(client.receive(&call, &key, &mut buffer), Err(Ignored::Misdirected));
    assert_eq!(server.receive(&call, &key, &mut message), Ok(Event::Message(100)));
    assert_eq!(server.reply(MESSAGE_BYTES + 1), None);
    server.reply(50).unwrap();
    let used = server.next_packet(&key, &[8; 50], &mut datagram).unwrap();
    let reply = Packet::parse(&datagram[..used]).unwrap();
    assert_eq!(client.receive(&reply, &Key::new(&[2; 32]), &mut buffer), Err(Ignored::Forged));
    assert_eq!(client.receive(&reply, &key, &mut buffer), Ok(Some(50)));
    assert_eq!(client.receive(&reply, &key, &mut buffer), Err(Ignored::Stale));
    client.begin(Kind::Call, PARTY, 4, 100).unwrap();
    let used = client.next_packet(&key, &buffer, &mut datagram).unwrap();
    let replayed = Packet::parse(&datagram[..used]).unwrap();
    assert_eq!(server.receive(&replayed, &key, &mut message), Err(Ignored::Stale));
}

#[test]
fn what_cannot_be_sent_is_not_begun() {
    let mut client = Client::new(0, PACKET_BYTES);
    assert!(client.begin(Kind::Call, PARTY, 1, 0).is_none());
    assert!(client.begin(Kind::Call, PARTY, 1, MESSAGE_BYTES + 1).is_none());
    assert!(!client.is_in_progress());
    assert_eq!(client.timeout(), 1);
    assert_eq!(client.next_packet(&Key::new(&[1; 32]), &[], &mut [0; PACKET_BYTES]), None);
}

/// Packets that break the protocol, although they are signed.
#[test]
fn a_server_keeps_to_one_message_at_a_time() {
    let key = Key::new(&[1; 32]);
    let mut server = Server::new(Kind::Call, PARTY);
    let mut message = vec![0; MESSAGE_BYTES];
    let mut datagram = [0; PACKET_BYTES];
    let mut send = |server: &mut Server, sequence, index, count, bytes, payload: &[u8]| {
        let header =
            Header { kind: Kind::Call, party: PARTY, slot: 0, index, count, flags: 0, bytes, sequence, have: 0 };
        let used = seal(&header, payload, &key, &mut datagram).unwrap();
        server.receive(&Packet::parse(&datagram[..used]).unwrap(), &key, &mut message)
    };
    assert_eq!(send(&mut server, 1, 0, 2, 15, &[1; 10]), Ok(Event::Nothing));
    // Another length, another number of fragments, fragments of another length.
    assert_eq!(send(&mut server, 1, 1, 2, 16, &[1; 6]), Err(Ignored::Sizes));
    assert_eq!(send(&mut server, 1, 2, 3, 21, &[1; 1]), Err(Ignored::Sizes));
    assert_eq!(send(&mut server, 1, 1, 2, 15, &[1; 4]), Err(Ignored::Sizes));
    assert_eq!(send(&mut server, 1, 1, 2, 15, &[1; 5]), Ok(Event::Message(15)));
    assert!(server.is_working());
    assert_eq!(send(&mut server, 2, 0, 1, 5, &[2; 5]), Err(Ignored::Stale));
    assert!(server.is_working());
    assert_eq!(server.reply(3), Some(()));
    assert_eq!(server.reply(3), None);
    assert_eq!(send(&mut server, 0, 0, 1, 5, &[2; 5]), Err(Ignored::Stale));
    assert_eq!(send(&mut server, 2, 0, 1, 5, &[2; 5]), Ok(Event::Message(5)));
    assert_eq!(message[..6], [2, 2, 2, 2, 2, 1]);
}

/// What a daemon sends that does not know the sender of `datagram`.
fn refusal_of(datagram: &[u8], key: &Key) -> Vec<u8> {
    let packet = Packet::parse(datagram).unwrap();
    let payload = Refusal::NoSession.encode(packet.tag());
    let bytes = payload.len() as u32;
    let header = Header { kind: Kind::Refusal, index: 0, count: 1, flags: 0, bytes, have: 0, ..packet.header };
    let mut refusal = vec![0; PACKET_BYTES];
    let used = seal(&header, &payload, key, &mut refusal).unwrap();
    refusal.truncate(used);
    refusal
}

/// The packet that a client of this session sends for its `sequence`th ask.
fn ask(client: &mut Client, sequence: u64, session: &Key) -> Vec<u8> {
    client.begin(Kind::Ask, PARTY, sequence, 4).unwrap();
    let mut datagram = vec![0; PACKET_BYTES];
    let used = client.next_packet(session, &[2, 0, 0, 0], &mut datagram).unwrap();
    datagram.truncate(used);
    datagram
}

#[test]
fn only_the_refusal_of_the_last_packet_ends_an_exchange() {
    let (set, session) = (Key::new(&[1; 32]), Key::new(&[2; 32]));
    let mut client = Client::new(9, PACKET_BYTES);
    let first = ask(&mut client, 1, &session);
    let old = refusal_of(&first, &set);
    let refused = |client: &mut Client, refusal: &[u8]| client.receive_refusal(&Packet::parse(refusal).unwrap(), &set);
    // Another ask of the session; the same ask of another boot, which has another key; and a forged packet's refusal,
    // which a restarted daemon makes for anybody.
    let other = ask(&mut client, 2, &session);
    assert_eq!(refused(&mut client, &old), None);
    ask(&mut client, 1, &Key::new(&[3; 32]));
    assert_eq!(refused(&mut client, &old), None);
    let forged = ask(&mut Client::new(9, PACKET_BYTES), 1, &Key::new(&[4; 32]));
    assert_eq!(refused(&mut client, &refusal_of(&forged, &set)), None);
    assert!(client.is_in_progress());
    // The right one, by somebody who has not the set's key, and then genuine.
    let last = ask(&mut client, 2, &session);
    assert_eq!(last, other);
    assert_eq!(refused(&mut client, &refusal_of(&last, &session)), None);
    assert_eq!(refused(&mut client, &refusal_of(&last, &set)), Some(Refusal::NoSession));
    assert!(!client.is_in_progress());
    assert_eq!(refused(&mut client, &refusal_of(&last, &set)), None, "it is over");
}
