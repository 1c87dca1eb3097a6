// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals: of programs that get them by their proxies, and of a `run` that passes them on.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tacet_iod::control::{Request, ask};
use tacet_wire::errno::Errno;

use crate::calls::with_job;
use crate::node::{Job, Node};
use crate::processes::{Set, this_program};
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("a_signal_comes_with_the_next_reply", a_signal_comes_with_the_next_reply),
        test("real_time_signals_come_like_others", real_time_signals_come_like_others),
        test("a_signal_ends_a_blocked_call", a_signal_ends_a_blocked_call),
        test("the_node_ends_a_blocked_call", the_node_ends_a_blocked_call),
        test("a_call_that_has_moved_a_part_goes_on", a_call_that_has_moved_a_part_goes_on),
        test(
            "a_program_that_computes_gets_its_signal_by_the_daemon",
            a_program_that_computes_gets_its_signal_by_the_daemon,
        ),
        test("a_storm_of_alarms_reaches_a_program_that_computes", a_storm_of_alarms_reaches_a_program_that_computes),
        test("a_key_of_the_terminal_is_one_signal", a_key_of_the_terminal_is_one_signal),
        test("a_broken_pipe_is_a_signal", a_broken_pipe_is_a_signal),
        test("an_alarm_rings", an_alarm_rings),
        test(
            "run_passes_the_first_signal_on_and_the_second_kills",
            run_passes_the_first_signal_on_and_the_second_kills,
        ),
    ]
}

/// Calls whose reader takes nothing: a piece of a write, the piece after a whole one, and a file to a socket. A program that
/// takes the signal sees how much has moved; for one that ignores it, the rest follows.
fn a_call_that_has_moved_a_part_goes_on() {
    const CALLS: [(i64, u64); 3] =
        [(libc::SYS_write, 60_000), (libc::SYS_write, 100_000), (libc::SYS_sendfile, 1_000_000)];
    for (number, bytes) in CALLS {
        for count in [None, Some(Arc::new(AtomicU32::new(0)))] {
            with_job(1, |_, _, job| stopped(job, number, bytes, count));
        }
    }
}

/// In a pipe before.
const BEFORE: u64 = 3 * 4096;

fn stopped(job: &Job, number: i64, bytes: u64, count: Option<Arc<AtomicU32>>) {
    let mut writer = job.thread(0, 1);
    let [ends, text] = [writer.memory.room(8), writer.memory.put(&vec![b'x'; bytes as usize])];
    let before = match number {
        libc::SYS_write => {
            assert_eq!(writer.call(libc::SYS_pipe2, &[ends, 0]), 0);
            BEFORE
        }
        _ => {
            let kind = [libc::AF_UNIX as u64, libc::SOCK_STREAM as u64];
            assert_eq!(writer.call(libc::SYS_socketpair, &[kind[0], kind[1], 0, ends]), 0);
            0
        }
    };
    let numbers = writer.memory.get(ends, 8);
    let [from, to] = [0, 4].map(|place| u64::from(numbers[place]));
    assert_eq!(writer.call(libc::SYS_write, &[to, text, before]), before as i64);
    let file = writer.memory.text("file");
    let file = writer.call(libc::SYS_open, &[file, (libc::O_RDWR | libc::O_CREAT) as u64, 0o600]) as u64;
    assert_eq!(writer.call(libc::SYS_pwrite64, &[file, text, bytes, 0]), bytes as i64);
    let mut reader = job.thread(0, 2);
    let (waiting, space) = (reader.memory.room(4), reader.memory.room(1 << 16));
    writer.goes_on.clone_from(&count);
    let writes = std::thread::spawn(move || match number {
        libc::SYS_write => writer.call(number, &[to, text, bytes]),
        _ => writer.call(number, &[to, file, 0, bytes]),
    });
    let mut held = 0;
    while held <= before {
        assert_eq!(reader.call(libc::SYS_ioctl, &[from, libc::FIONREAD, waiting]), 0);
        held = u32::from_le_bytes(*reader.memory.get(waiting, 4).first_chunk().unwrap()).into();
    }
    kill(proxy(job), Signal::SIGUSR1).unwrap();
    let Some(count) = count else {
        let moved = writes.join().unwrap();
        assert!(moved > 0 && moved < bytes as i64, "{moved} of {bytes}");
        return;
    };
    while count.load(Ordering::SeqCst) == 0 && !writes.is_finished() {
        std::thread::yield_now();
    }
    let mut left = before + bytes;
    while left > 0 && !(writes.is_finished() && count.load(Ordering::SeqCst) == 0) {
        left -= reader.call(libc::SYS_read, &[from, space, 1 << 16]) as u64;
    }
    assert_eq!(writes.join().unwrap(), bytes as i64);
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

fn proxy(job: &Job) -> Pid {
    Pid::from_raw(job.proxies[0].1 as i32)
}

fn a_signal_comes_with_the_next_reply() {
    with_job(1, |_, _, job| {
        let mut thread = job.thread(0, 1);
        thread.call(libc::SYS_getppid, &[]);
        assert_eq!(thread.pending, 0);
        for signal in [Signal::SIGUSR1, Signal::SIGTERM, Signal::SIGINT, Signal::SIGCHLD] {
            kill(proxy(job), signal).unwrap();
        }
        let all: u64 = [libc::SIGUSR1, libc::SIGTERM, libc::SIGINT, libc::SIGCHLD].map(bit).iter().sum();
        while thread.pending != all {
            thread.call(libc::SYS_getppid, &[]);
        }
        thread.pending = 0;
        thread.call(libc::SYS_getppid, &[]);
        assert_eq!(thread.pending, 0, "each comes once");
    });
}

/// To the proxy, by the daemon to a proxy, and by the daemon to a node.
fn real_time_signals_come_like_others() {
    let [first, last] = [libc::SIGRTMIN(), libc::SIGRTMAX()];
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    let mut thread = job.thread(0, 1);
    assert!(Command::new("kill").args([format!("-{last}"), proxy(&job).to_string()]).status().unwrap().success());
    ask(&set.control(), &Request::Kill { job: job.id, signal: first }).unwrap();
    while thread.pending != bit(first) | bit(last) {
        thread.call(libc::SYS_getppid, &[]);
    }
    node.ask_for_orders(job.id);
    node.started(job.id, &[1]).unwrap();
    ask(&set.control(), &Request::Kill { job: job.id, signal: last }).unwrap();
    assert_eq!(node.repeat_ask_for_orders(job.id), last as u32);
    thread.exit(0);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
}

fn a_signal_ends_a_blocked_call() {
    with_job(1, |_, _, job| {
        let (mut reading, mut waiting) = (job.thread(0, 1), job.thread(0, 2));
        std::thread::scope(|scope| {
            let room = reading.memory.room(8);
            let read = scope.spawn(move || (reading.call(libc::SYS_read, &[0, room, 8]), reading.pending, reading));
            // The signal may come before the call has blocked, or after.
            kill(proxy(job), Signal::SIGUSR2).unwrap();
            let (result, pending, mut reading) = read.join().unwrap();
            assert_eq!((result, pending), (Errno::RESTART, bit(libc::SIGUSR2)));
            assert!(reading.call(libc::SYS_getppid, &[]) > 0);
        });
        waiting.call(libc::SYS_getppid, &[]);
        assert_eq!(waiting.pending, 0);
    });
}

fn the_node_ends_a_blocked_call() {
    with_job(1, |_, _, job| {
        let mut thread = job.thread(0, 1);
        let room = thread.memory.room(8);
        thread.line.interrupt = true;
        assert_eq!(thread.call(libc::SYS_read, &[0, room, 8]), Errno::RESTART);
        assert_eq!(thread.pending, 0);
        thread.line.interrupt = false;
        assert_eq!(thread.call(libc::SYS_read, &[99, room, 8]), -i64::from(libc::EBADF));
    });
}

/// It makes no call; its node listens to the daemon.
fn a_program_that_computes_gets_its_signal_by_the_daemon() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 2);
    let job = node.next().unwrap();
    std::thread::scope(|scope| {
        let order = scope.spawn(|| node.order_for(job.id));
        kill(Pid::from_raw(job.proxies[1].1 as i32), Signal::SIGALRM).unwrap();
        assert_eq!(order.join().unwrap(), Ok((Some(1), libc::SIGALRM as u32)));
    });
    let mut thread = job.thread(1, 1);
    thread.call(libc::SYS_getppid, &[]);
    assert_eq!(thread.pending, 0, "it comes once");
    (0..2).for_each(|process| job.thread(process, 2).exit(0));
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
}

/// Each alarm comes before the proxy knows what to do with the last one.
fn a_storm_of_alarms_reaches_a_program_that_computes() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    node.ask_for_orders(job.id);
    let mut thread = job.thread(0, 1);
    let often = [0_u64, 100, 0, 100].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let timer = thread.memory.put(&often);
    assert_eq!(thread.call(libc::SYS_setitimer, &[0, timer, 0]), 0);
    assert_eq!(node.repeat_ask_for_orders_for(job.id), (Some(0), libc::SIGALRM as u32));
    assert_eq!(node.order_for(job.id).unwrap(), (Some(0), libc::SIGALRM as u32));
    thread.exit(0);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
}

/// The kernel sends it to `run` and to the proxy, in the foreground of a terminal that `script` makes.
fn a_key_of_the_terminal_is_one_signal() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let mut command = Command::new("script");
    let run = format!("exec {} run {} 1 1", this_program().display(), set.control().display());
    command.args(["-q", "-e", "-c", &run, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut script) = command.spawn() else { return };
    let job = node.next().unwrap();
    let mut thread = job.thread(0, 1);
    let size = thread.memory.room(8);
    assert_eq!(thread.call(libc::SYS_ioctl, &[0, libc::TIOCGWINSZ, size]), 0, "the proxy has the terminal");
    script.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    while thread.pending == 0 {
        thread.call(libc::SYS_getppid, &[]);
    }
    assert_eq!(thread.pending, bit(libc::SIGINT));
    thread.pending = 0;
    for _ in 0..200 {
        thread.call(libc::SYS_getppid, &[]);
    }
    assert_eq!(thread.pending, 0);
    thread.exit(6);
    node.ended(job.id, "").unwrap();
    assert_eq!(script.wait().unwrap().code(), Some(6));
}

fn a_broken_pipe_is_a_signal() {
    with_job(1, |_, _, job| {
        let mut thread = job.thread(0, 1);
        let (pipe, text) = (thread.memory.room(8), thread.memory.put(b"x"));
        assert_eq!(thread.call(libc::SYS_pipe2, &[pipe, 0]), 0);
        assert_eq!(thread.call(libc::SYS_close, &[3]), 0);
        assert_eq!(thread.call(libc::SYS_write, &[4, text, 1]), -i64::from(libc::EPIPE));
        assert_eq!(thread.pending, bit(libc::SIGPIPE));
        thread.pending = 0;
        thread.call(libc::SYS_getppid, &[]);
        assert_eq!(thread.pending, 0);
    });
}

fn an_alarm_rings() {
    with_job(1, |_, _, job| {
        let mut thread = job.thread(0, 1);
        let room = thread.memory.room(8);
        let soon = [0_u64, 0, 0, 1000].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let timer = thread.memory.put(&soon);
        assert_eq!(thread.call(libc::SYS_setitimer, &[0, timer, 0]), 0);
        let read = if thread.pending == 0 { thread.call(libc::SYS_read, &[0, room, 8]) } else { Errno::RESTART };
        assert_eq!((read, thread.pending), (Errno::RESTART, bit(libc::SIGALRM)));
    });
}

fn run_passes_the_first_signal_on_and_the_second_kills() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let process = Pid::from_raw(run.child.id() as i32);
    let job = node.next().unwrap();
    let mut thread = job.thread(0, 1);
    kill(process, Signal::SIGINT).unwrap();
    while thread.pending & bit(libc::SIGINT) == 0 {
        thread.call(libc::SYS_getppid, &[]);
    }
    // Once the node listens, orders go there.
    kill(process, Signal::SIGTERM).unwrap();
    while thread.try_call(libc::SYS_getppid, &[]).is_ok() {}
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(128 + libc::SIGKILL));
}
