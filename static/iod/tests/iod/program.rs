// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The loader's call, which opens a file and tells about it.

use libtest_mimic::Trial;
use tacet_wire::marshal::Shipment;
use tacet_wire::program::{FIXED_BYTES, OPEN_PROGRAM, Opened};

use crate::calls::with_thread;
use crate::node::Thread;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("a_loader_opens_a_file_in_one_exchange", a_loader_opens_a_file_in_one_exchange),
        test("the_loaders_call_is_no_programs", the_loaders_call_is_no_programs),
    ]
}

const ROOM_BYTES: usize = FIXED_BYTES + 256 + 4096;

/// The result, and what the buffer has then.
fn open(thread: &mut Thread, path: &str) -> (i64, Vec<u8>) {
    let (path, room) = (thread.memory.text(path), thread.memory.room(ROOM_BYTES));
    let told = thread.ship(Shipment::open_program(path, room, ROOM_BYTES as u64)).expect("a proxy that serves");
    (told, thread.memory.get(room, usize::try_from(told).unwrap_or(0)))
}

fn a_loader_opens_a_file_in_one_exchange() {
    with_thread(|set, thread| {
        let directory = set.directory.path().canonicalize().unwrap();
        let long: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
        std::fs::write(directory.join("long"), &long).unwrap();
        std::fs::write(directory.join("short"), b"short").unwrap();
        std::os::unix::fs::symlink("long", directory.join("link")).unwrap();

        let (_, told) = open(thread, "link");
        let opened = Opened::decode(&told).unwrap();
        assert_eq!((opened.descriptor, opened.bytes), (Some(3), 100_000));
        assert_eq!(opened.path, directory.join("long").as_os_str().as_encoded_bytes());
        assert!(opened.beginning.len() >= 4096 && long.starts_with(opened.beginning));
        let byte = thread.memory.room(1);
        assert_eq!(thread.call(libc::SYS_pread64, &[3, byte, 1, 77]), 1);
        assert_eq!(thread.memory.get(byte, 1), [77]);

        // Of a file that has come whole nothing stays open.
        let (_, told) = open(thread, "short");
        let opened = Opened::decode(&told).unwrap();
        assert_eq!((opened.descriptor, opened.bytes, opened.beginning), (None, 5, &b"short"[..]));
        assert_eq!(thread.call(libc::SYS_close, &[4]), -i64::from(libc::EBADF));

        for (path, errno) in [("none", libc::ENOENT), (".", libc::EISDIR)] {
            assert_eq!(open(thread, path).0, -i64::from(errno));
        }
        assert_eq!(thread.call(libc::SYS_close_range, &[3, 3]), 0);
        assert_eq!(thread.call(libc::SYS_close, &[3]), -i64::from(libc::EBADF));
    });
}

fn the_loaders_call_is_no_programs() {
    let called = Shipment::new(OPEN_PROGRAM.into(), [0; 6]).map(drop);
    assert_eq!(called, Err(-i64::from(libc::ENOSYS)));
}
