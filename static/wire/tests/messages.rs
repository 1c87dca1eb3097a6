// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets, asks and jobs: what one end encodes, the other decodes, and nothing else.

use proptest::collection::vec;
use proptest::prelude::*;
use tacet_wire::ask::{Answer, Ask, Refusal};
use tacet_wire::job::{Job, Process, Processes, Texts, User};
use tacet_wire::key::Key;
use tacet_wire::packet::{
    HEADER_BYTES, Header, Kind, LARGE_MESSAGE_BYTES, MAX_FRAGMENTS, MESSAGE_BYTES, Malformed, PACKET_BYTES, Packet,
    Party, seal,
};

fn header(index: u16, count: u16, bytes: u32) -> Header {
    let party = Party { node: 1, job: 2, process: 3, thread: 4 };
    Header { kind: Kind::Call, party, slot: 5, index, count, flags: 6, bytes, sequence: 1 << 40, have: 1 << 63 }
}

proptest! {
    #[test]
    fn a_packet_is_what_was_sealed(payload in vec(any::<u8>(), 1..PACKET_BYTES - HEADER_BYTES), secret: [u8; 32]) {
        let (key, header) = (Key::new(&secret), header(0, 1, payload.len() as u32));
        let mut datagram = [0; PACKET_BYTES];
        let used = seal(&header, &payload, &key, &mut datagram).unwrap();
        let packet = Packet::parse(&datagram[..used]).unwrap();
        prop_assert_eq!(packet.header, header);
        prop_assert_eq!(packet.payload(), &payload[..]);
        prop_assert!(packet.is_genuine(&key));
        prop_assert!(!packet.is_genuine(&Key::new(&[0; 32])) || secret == [0; 32]);
    }

    #[test]
    fn a_changed_byte_is_noticed(at in 0..HEADER_BYTES + 9, change in 1u8..) {
        let key = Key::new(&[1; 32]);
        let mut datagram = [0; HEADER_BYTES + 9];
        seal(&header(0, 1, 9), b"nine byte", &key, &mut datagram).unwrap();
        datagram[at] ^= change;
        prop_assert!(!Packet::parse(&datagram).is_ok_and(|packet| packet.is_genuine(&key)));
    }

    #[test]
    fn fragments_cover_their_message_once(bytes in 1..MESSAGE_BYTES, room in MESSAGE_BYTES.div_ceil(MAX_FRAGMENTS)..40_000) {
        let count = bytes.div_ceil(room);
        let mut next = 0;
        for index in 0..count {
            let payload = vec![0; room.min(bytes - next)];
            let mut datagram = vec![0; HEADER_BYTES + room];
            let header = header(index as u16, count as u16, bytes as u32);
            let used = seal(&header, &payload, &Key::new(&[1; 32]), &mut datagram).unwrap();
            let packet = Packet::parse(&datagram[..used]).unwrap();
            prop_assert_eq!(packet.offset(), next);
            next += packet.payload().len();
        }
        prop_assert_eq!(next, bytes);
    }

    /// With any sizes, a payload stays within the message, and the message within its limit.
    #[test]
    fn no_sizes_lead_out_of_the_message(index: u16, count in 0..70u16, bytes in 0..300_000u32, payload in 0..9000usize) {
        let mut datagram = vec![0; HEADER_BYTES + payload];
        for index in [index, index % count.max(1)] {
            let used = seal(&header(index, count, bytes), &vec![0; payload], &Key::new(&[1; 32]), &mut datagram).unwrap();
            if let Ok(packet) = Packet::parse(&datagram[..used]) {
                prop_assert!(packet.offset() + payload <= bytes as usize && bytes as usize <= LARGE_MESSAGE_BYTES);
            }
        }
    }

    #[test]
    fn a_job_returns_as_it_was(id: u32, wrapped_key: [u8; 32], seed: [u8; 32], numbers: [u64; 4], small: [u32; 7],
        ports in vec(any::<(u16, u32, u64)>(), 0..9), texts in vec("[^\0]{0,9}", 0..20), name in vec(any::<u8>(), 0..9)) {
        let processes: Vec<Process> =
            ports.into_iter().map(|(port, process_id, memory_bytes)| Process { port, process_id, memory_bytes }).collect();
        let encoded: Vec<u8> = processes.iter().flat_map(|process| process.to_bytes()).collect();
        let joined: Vec<u8> = texts.iter().flat_map(|text| text.bytes().chain([0])).collect();
        let [shared_bytes, stack_bytes, realtime_ns, monotonic_ns] = numbers;
        let [flags, first_rank, ranks, uid, gid, euid, egid] = small;
        let job = Job {
            id, wrapped_key, seed, flags, first_rank, ranks, shared_bytes, stack_bytes, realtime_ns, monotonic_ns,
            user: User { uid, gid, euid, egid }, host_name: &name, program: b"./a.out",
            processes: Processes::new(&encoded).unwrap(), arguments: Texts::new(&joined).unwrap(),
            environment: Texts::new(b"").unwrap(),
        };
        prop_assert_eq!(job.processes.iter().collect::<Vec<_>>(), processes);
        prop_assert_eq!(job.arguments.iter().map(<[u8]>::to_vec).collect::<Vec<_>>(),
            texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
        prop_assert_eq!(job.arguments.iter().count(), texts.len());
        prop_assert_eq!(job.environment.iter().count(), 0);
        let mut message = vec![0; 2000];
        let used = Answer::Job(job).encode(&mut message).unwrap();
        prop_assert_eq!(Answer::decode(&message[..used]), Some(Answer::Job(job)));
        for short in 0..used {
            prop_assert_eq!(Answer::decode(&message[..short]), None);
        }
        prop_assert_eq!(Answer::decode(&message[..used + 1]), None);
    }
}

#[test]
fn asks_and_answers_return_as_they_were() {
    let mut message = [0; 200];
    let asks = [
        Ask::Hello { nonce: [3; 16], cpus: 4, memory_bytes: 1 << 40, service_cpu: true },
        Ask::Next,
        Ask::Started { job: 7, map: b"text 0x400000" },
        Ask::Watch { job: 7 },
        Ask::Ended { job: 7, failure: b"" },
        Ask::Corrected { errors: u64::MAX },
    ];
    for ask in asks {
        let used = ask.encode(&mut message).unwrap();
        assert_eq!(Ask::decode(&message[..used]), Some(ask));
        assert_eq!(Ask::decode(&message[..used + 1]), None);
        assert_eq!(Ask::decode(&message[..used - 1]), None);
        assert_eq!(ask.encode(&mut [0; 3]), None);
    }
    let answers = [
        Answer::Welcome { nonce: [4; 16] },
        Answer::Noted,
        Answer::Signal { process: None, signal: 9 },
        Answer::Signal { process: Some(3), signal: 15 },
        Answer::PowerOff,
        Answer::Reset,
        Answer::Orphaned,
    ];
    for answer in answers {
        let used = answer.encode(&mut message).unwrap();
        assert_eq!(Answer::decode(&message[..used]), Some(answer));
        assert_eq!(Answer::decode(&message[..used + 1]), None);
    }
    for refusal in [Refusal::NoSession, Refusal::NoJob] {
        let payload = refusal.encode(&[7; 16]);
        assert_eq!(Refusal::decode(&payload), Some((refusal, [7; 16])));
        assert_eq!(Refusal::decode(&payload[..payload.len() - 1]), None);
        assert_eq!(Refusal::decode(&[&payload[..], &[0]].concat()), None);
    }
    assert_eq!(Refusal::decode(&[3, 0, 0, 0]), None);
}

#[test]
fn strangers_are_told_apart_from_wrong_sizes() {
    let key = Key::new(&[1; 32]);
    let mut datagram = [0; HEADER_BYTES + 9];
    seal(&header(0, 1, 10), b"nine byte", &key, &mut datagram).unwrap();
    assert_eq!(Packet::parse(&datagram).unwrap_err(), Malformed::Sizes);
    assert_eq!(Packet::parse(&datagram[..HEADER_BYTES - 1]).unwrap_err(), Malformed::Stranger);
    // A last fragment that is longer than the others: 9 of 11 bytes.
    seal(&header(1, 2, 11), b"nine byte", &key, &mut datagram).unwrap();
    assert_eq!(Packet::parse(&datagram).unwrap_err(), Malformed::Sizes);
    let version = datagram[2];
    datagram[2] = version + 1;
    assert_eq!(Packet::parse(&datagram).unwrap_err(), Malformed::Stranger);
    datagram[2] = version;
    datagram[3] = 6;
    assert_eq!(Packet::parse(&datagram).unwrap_err(), Malformed::Stranger);
}
