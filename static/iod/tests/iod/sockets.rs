// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets of programs: connections, waiting for them, and messages with descriptors beside the data.

use libtest_mimic::Trial;

use crate::calls::{with_job, with_thread};
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![test("sockets_and_poll", sockets_and_poll), test("messages_with_descriptors", messages_with_descriptors)]
}

fn sockets_and_poll() {
    with_job(1, |_, _, job| {
        let mut thread = job.thread(0, 1);
        let inet = libc::AF_INET as u64;
        let server = thread.call(libc::SYS_socket, &[inet, libc::SOCK_STREAM as u64, 0]) as u64;
        let address = [&(libc::AF_INET as u16).to_le_bytes()[..], &[0, 0, 127, 0, 0, 1], &[0; 8]].concat();
        let at = thread.memory.put(&address);
        assert_eq!(thread.call(libc::SYS_bind, &[server, at, 16]), 0);
        assert_eq!(thread.call(libc::SYS_listen, &[server, 1]), 0);
        let (name, length) = (thread.memory.room(16), thread.memory.put(&16_u32.to_le_bytes()));
        assert_eq!(thread.call(libc::SYS_getsockname, &[server, name, length]), 0);
        let name = thread.memory.get(name, 16);
        let at = thread.memory.put(&name);
        let mut other = job.thread(0, 2);
        std::thread::scope(|scope| {
            let accepting = scope.spawn(move || other.call(libc::SYS_accept4, &[server, 0, 0, 0]));
            let client = thread.call(libc::SYS_socket, &[inet, libc::SOCK_STREAM as u64, 0]) as u64;
            assert_eq!(thread.call(libc::SYS_connect, &[client, at, 16]), 0);
            let accepted = accepting.join().unwrap();
            assert!(accepted > 0, "{accepted}");
            let pollfd = |fd: u64| [&(fd as i32).to_le_bytes()[..], &libc::POLLIN.to_le_bytes(), &[0, 0]].concat();
            let polled = thread.memory.put(&pollfd(accepted as u64));
            assert_eq!(thread.call(libc::SYS_poll, &[polled, 1, 0]), 0, "nothing has been sent");
            let text = thread.memory.put(b"by socket");
            assert_eq!(thread.call(libc::SYS_sendto, &[client, text, 9, 0, 0, 0]), 9);
            assert_eq!(thread.call(libc::SYS_poll, &[polled, 1, u64::MAX]), 1);
            assert_eq!(thread.memory.get(polled + 6, 2), libc::POLLIN.to_le_bytes());
            let room = thread.memory.room(16);
            assert_eq!(thread.call(libc::SYS_recvfrom, &[accepted as u64, room, 16, 0, 0, 0]), 9);
            assert_eq!(thread.memory.get(room, 9), b"by socket");
            let epoll = thread.call(libc::SYS_epoll_create1, &[0]) as u64;
            let event = thread.memory.put(&[&1_u32.to_le_bytes()[..], &0x1234_u64.to_le_bytes()].concat());
            assert_eq!(thread.call(libc::SYS_epoll_ctl, &[epoll, 1, accepted as u64, event]), 0);
            assert_eq!(thread.call(libc::SYS_close, &[client]), 0);
            let events = thread.memory.room(24);
            assert_eq!(thread.call(libc::SYS_epoll_wait, &[epoll, events, 2, u64::MAX]), 1);
            assert_eq!(thread.memory.get(events + 4, 8), 0x1234_u64.to_le_bytes());
        });
    });
}

fn messages_with_descriptors() {
    with_thread(|_, thread| {
        let pair = thread.memory.room(8);
        assert_eq!(thread.call(libc::SYS_socketpair, &[libc::AF_UNIX as u64, libc::SOCK_STREAM as u64, 0, pair]), 0);
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let text = thread.memory.put(b"take");
        let vector = thread.memory.put(&words(&[text, 4]));
        // One descriptor: standard error.
        let rights =
            [&20_u64.to_le_bytes()[..], &1_u32.to_le_bytes(), &1_u32.to_le_bytes(), &2_u32.to_le_bytes(), &[0; 4]];
        let control = thread.memory.put(&rights.concat());
        let message = thread.memory.put(&words(&[0, 0, vector, 1, control, 24, 0]));
        assert_eq!(thread.call(libc::SYS_sendmsg, &[3, message, 0]), 4);
        let (room, control) = (thread.memory.room(8), thread.memory.room(24));
        let vector = thread.memory.put(&words(&[room, 8]));
        let message = thread.memory.put(&words(&[0, 0, vector, 1, control, 24, 0]));
        assert_eq!(thread.call(libc::SYS_recvmsg, &[4, message, 0]), 4);
        assert_eq!(thread.memory.get(room, 4), b"take");
        assert_eq!(thread.memory.get(message + 40, 8), 24_u64.to_le_bytes(), "the length of what came beside the data");
        assert_eq!(thread.memory.get(control + 16, 4), 5_u32.to_le_bytes(), "the program's next descriptor");
        assert!(thread.call(libc::SYS_fcntl, &[5, libc::F_GETFD as u64, 0]) >= 0);
    });
}
