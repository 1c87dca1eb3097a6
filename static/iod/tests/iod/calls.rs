// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls of many kinds: what they leave on Linux, and what comes back.

use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use libtest_mimic::Trial;

use crate::node::{Job, Node, Thread};
use crate::processes::{Run, Set, this_program};
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("files_are_the_users", files_are_the_users),
        test("the_program_has_three_descriptors_and_no_others", the_program_has_three_descriptors_and_no_others),
        test("closing_everything_closes_nothing_of_the_proxys", closing_everything_closes_nothing_of_the_proxys),
        test("standard_output_ends_when_the_program_closes_it", standard_output_ends_when_the_program_closes_it),
        test("standard_input_is_runs", standard_input_is_runs),
        test("large_reads_and_writes_come_whole", large_reads_and_writes_come_whole),
        test("vectors_are_gathered_and_scattered", vectors_are_gathered_and_scattered),
        test("directories_are_listed", directories_are_listed),
        test("locks_are_between_processes", locks_are_between_processes),
        test("extended_attributes", extended_attributes),
        test("umask_directory_and_limits_are_runs", umask_directory_and_limits_are_runs),
        test("calls_that_stay_on_the_node_are_refused", calls_that_stay_on_the_node_are_refused),
        test("many_threads_at_once", many_threads_at_once),
    ]
}

/// Runs one process's threads as `body` says.
pub fn with_job(processes: u32, body: impl FnOnce(&Set, &mut Run, &Job)) -> crate::processes::Ended {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let mut run = set.run(1, processes);
    let job = node.next().expect("a job");
    body(&set, &mut run, &job);
    (0..processes as usize).for_each(|process| job.thread(process, 1_000_000).exit(0));
    node.ended(job.id, "").expect("a daemon");
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    ended
}

pub fn with_thread(body: impl FnOnce(&Set, &mut Thread)) {
    with_job(1, |set, _, job| body(set, &mut job.thread(0, 1)));
}

pub fn open(thread: &mut Thread, path: &str, flags: i32) -> i64 {
    let path = thread.memory.text(path);
    thread.call(libc::SYS_openat, &[libc::AT_FDCWD as u64, path, flags as u64, 0o644])
}

fn errno(result: i64) -> i32 {
    assert!(result < 0, "{result} is no error");
    -result as i32
}

fn files_are_the_users() {
    with_thread(|set, thread| {
        let file = open(thread, "new", libc::O_CREAT | libc::O_RDWR);
        assert_eq!(file, 3, "the program's first descriptor");
        let text = thread.memory.put(b"0123456789");
        assert_eq!(thread.call(libc::SYS_write, &[3, text, 10]), 10);
        assert_eq!(thread.call(libc::SYS_lseek, &[3, 2, libc::SEEK_SET as u64]), 2);
        let room = thread.memory.room(16);
        assert_eq!(thread.call(libc::SYS_read, &[3, room, 4]), 4);
        assert_eq!(thread.memory.get(room, 5), b"2345\0");
        assert_eq!(thread.call(libc::SYS_pread64, &[3, room, 16, 8]), 2);
        assert_eq!(thread.memory.get(room, 4), b"8945", "only what was read");
        let path = set.directory.path().join("new");
        assert_eq!(std::fs::read(&path).unwrap(), b"0123456789");
        let status = thread.memory.room(144);
        assert_eq!(thread.call(libc::SYS_fstat, &[3, status]), 0);
        let size = thread.memory.get(status + 48, 8);
        assert_eq!(u64::from_le_bytes(size.try_into().unwrap()), 10);
        assert_eq!(errno(open(thread, "absent", libc::O_RDONLY)), libc::ENOENT);
        assert_eq!(errno(thread.call(libc::SYS_read, &[99, room, 4])), libc::EBADF);
        let (from, to) = (thread.memory.text("new"), thread.memory.text("old"));
        assert_eq!(thread.call(libc::SYS_rename, &[from, to]), 0);
        assert!(!path.exists());
        assert_eq!(
            errno(thread.call(libc::SYS_write, &[3, 5, 10])),
            libc::EFAULT,
            "a bad address is the node's to refuse"
        );
    });
}

fn the_program_has_three_descriptors_and_no_others() {
    with_thread(|_, thread| {
        for descriptor in 0..3 {
            assert!(thread.call(libc::SYS_fcntl, &[descriptor, libc::F_GETFD as u64, 0]) >= 0);
        }
        for descriptor in 3..64 {
            let flags = thread.call(libc::SYS_fcntl, &[descriptor, libc::F_GETFD as u64, 0]);
            assert_eq!(errno(flags), libc::EBADF, "descriptor {descriptor}");
        }
        let directory = open(thread, "/proc/self/fd", libc::O_RDONLY | libc::O_DIRECTORY);
        assert_eq!(names(thread, directory), ["0", "1", "2", "3"]);
    });
}

fn closing_everything_closes_nothing_of_the_proxys() {
    with_thread(|_, thread| {
        assert_eq!(thread.call(libc::SYS_close_range, &[0, u64::from(u32::MAX), 0]), 0);
        assert_eq!(errno(thread.call(libc::SYS_fcntl, &[1, libc::F_GETFD as u64, 0])), libc::EBADF);
        for descriptor in 0..1024 {
            thread.call(libc::SYS_close, &[descriptor]);
        }
        assert_eq!(open(thread, "file", libc::O_CREAT | libc::O_RDWR), 0);
        for to in 1..100 {
            assert_eq!(thread.call(libc::SYS_dup2, &[0, to]), to as i64);
        }
        assert!(thread.call(libc::SYS_getppid, &[]) > 0);
    });
}

fn standard_output_ends_when_the_program_closes_it() {
    with_job(1, |_, run, job| {
        let mut thread = job.thread(0, 1);
        let (pipe, room) = (thread.memory.room(8), thread.memory.room(8));
        assert_eq!(thread.call(libc::SYS_pipe2, &[pipe, 0]), 0);
        // Nobody but the program has the pipe's end: the reader sees its end at once.
        assert_eq!(thread.call(libc::SYS_close, &[4]), 0);
        assert_eq!(thread.call(libc::SYS_read, &[3, room, 8]), 0);
        drop(run.stdin.take());
        assert_eq!(thread.call(libc::SYS_read, &[0, room, 8]), 0);
    });
}

fn standard_input_is_runs() {
    with_job(1, |_, run, job| {
        let mut stdin = run.stdin.take().unwrap();
        let mut thread = job.thread(0, 1);
        let room = thread.memory.room(16);
        std::thread::scope(|scope| {
            let reading = scope.spawn(move || {
                let first = (thread.call(libc::SYS_read, &[0, room, 16]), thread.memory.get(room, 5));
                let second = thread.call(libc::SYS_read, &[0, room, 16]);
                (first, second)
            });
            // A blocked read of one thread delays no call of another.
            let mut other = job.thread(0, 2);
            for _ in 0..100 {
                assert!(other.call(libc::SYS_getppid, &[]) > 0);
            }
            stdin.write_all(b"input").unwrap();
            drop(stdin);
            assert_eq!(reading.join().unwrap(), ((5, b"input".to_vec()), 0));
        });
    });
}

fn large_reads_and_writes_come_whole() {
    with_thread(|set, thread| {
        let data: Vec<u8> = (0..300_000_u32).map(|index| (index % 251) as u8).collect();
        let file = open(thread, "large", libc::O_CREAT | libc::O_RDWR) as u64;
        let at = thread.memory.put(&data);
        assert_eq!(thread.call(libc::SYS_write, &[file, at, 65536]), 65536);
        assert_eq!(thread.call(libc::SYS_pwrite64, &[file, at, 300_000, 0]), 300_000);
        assert_eq!(std::fs::read(set.directory.path().join("large")).unwrap(), data);
        let room = thread.memory.room(400_000);
        assert_eq!(thread.call(libc::SYS_pread64, &[file, room, 65536, 1000]), 65536);
        assert_eq!(thread.memory.get(room, 65536), data[1000..66536]);
        assert_eq!(thread.call(libc::SYS_lseek, &[file, 0, 0]), 0);
        assert_eq!(thread.call(libc::SYS_read, &[file, room, 400_000]), 300_000);
        assert_eq!(thread.memory.get(room, 300_000), data);
    });
}

fn vectors_are_gathered_and_scattered() {
    with_thread(|set, thread| {
        let file = open(thread, "v", libc::O_CREAT | libc::O_RDWR) as u64;
        let (a, b) = (thread.memory.put(b"abc"), thread.memory.put(b"defgh"));
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let vector = thread.memory.put(&words(&[a, 3, b, 5]));
        assert_eq!(thread.call(libc::SYS_writev, &[file, vector, 2]), 8);
        assert_eq!(std::fs::read(set.directory.path().join("v")).unwrap(), b"abcdefgh");
        let (c, d) = (thread.memory.room(2), thread.memory.room(16));
        let vector = thread.memory.put(&words(&[c, 2, d, 16]));
        assert_eq!(thread.call(libc::SYS_preadv, &[file, vector, 2, 1, 0]), 7);
        assert_eq!((thread.memory.get(c, 2), thread.memory.get(d, 6)), (b"bc".to_vec(), b"defgh\0".to_vec()));
    });
}

fn names(thread: &mut Thread, directory: i64) -> Vec<String> {
    let room = thread.memory.room(4096);
    let mut names = Vec::new();
    loop {
        let bytes = thread.call(libc::SYS_getdents64, &[directory as u64, room, 4096]);
        assert!(bytes >= 0, "getdents64: {bytes}");
        if bytes == 0 {
            names.sort();
            return names;
        }
        let entries = thread.memory.get(room, bytes as usize);
        let mut at = 0;
        while at < entries.len() {
            let length = u16::from_le_bytes([entries[at + 16], entries[at + 17]]) as usize;
            let name = entries[at + 19..at + length].split(|byte| *byte == 0).next().unwrap();
            if name != b"." && name != b".." {
                names.push(String::from_utf8(name.to_vec()).unwrap());
            }
            at += length;
        }
    }
}

fn directories_are_listed() {
    with_thread(|_, thread| {
        let path = thread.memory.text("sub");
        assert_eq!(thread.call(libc::SYS_mkdir, &[path, 0o755]), 0);
        assert_eq!(errno(thread.call(libc::SYS_mkdir, &[path, 0o755])), libc::EEXIST);
        assert_eq!(thread.call(libc::SYS_chdir, &[path]), 0);
        let mut expected: Vec<String> = (0..200).map(|number| format!("file-with-a-name-{number}")).collect();
        for name in &expected {
            let file = open(thread, name, libc::O_CREAT | libc::O_WRONLY);
            assert_eq!(thread.call(libc::SYS_close, &[file as u64]), 0);
        }
        expected.sort();
        let directory = open(thread, ".", libc::O_RDONLY | libc::O_DIRECTORY);
        assert_eq!(names(thread, directory), expected);
        let room = thread.memory.room(256);
        let bytes = thread.call(libc::SYS_getcwd, &[room, 256]);
        assert!(thread.memory.get(room, bytes as usize).ends_with(b"/sub\0"));
    });
}

fn locks_are_between_processes() {
    with_job(2, |_, _, job| {
        let (mut one, mut two) = (job.thread(0, 1), job.thread(1, 1));
        let files: Vec<u64> =
            [&mut one, &mut two].map(|thread| open(thread, "l", libc::O_CREAT | libc::O_RDWR) as u64).into();
        let lock = |thread: &Thread, kind: i32| {
            let lock = [&(kind as u16).to_le_bytes()[..], &[0; 30]].concat();
            thread.memory.put(&lock)
        };
        let at = lock(&one, libc::F_WRLCK);
        assert_eq!(one.call(libc::SYS_fcntl, &[files[0], libc::F_SETLK as u64, at]), 0);
        let at = lock(&two, libc::F_WRLCK);
        assert_eq!(errno(two.call(libc::SYS_fcntl, &[files[1], libc::F_SETLK as u64, at])), libc::EAGAIN);
        assert_eq!(two.call(libc::SYS_fcntl, &[files[1], libc::F_GETLK as u64, at]), 0);
        let holder = two.memory.get(at + 24, 4);
        assert_eq!(u32::from_le_bytes(holder.try_into().unwrap()), job.proxies[0].1, "the program's own number");
        let at = lock(&one, libc::F_UNLCK);
        assert_eq!(one.call(libc::SYS_fcntl, &[files[0], libc::F_SETLK as u64, at]), 0);
        let at = lock(&two, libc::F_WRLCK);
        assert_eq!(two.call(libc::SYS_fcntl, &[files[1], libc::F_SETLK as u64, at]), 0);
    });
}

fn extended_attributes() {
    with_thread(|set, thread| {
        open(thread, "x", libc::O_CREAT | libc::O_RDWR);
        let (path, name, value) = (thread.memory.text("x"), thread.memory.text("user.a"), thread.memory.put(b"value"));
        let set_it = thread.call(libc::SYS_setxattr, &[path, name, value, 5, 0]);
        // File systems differ in what they take; Linux says the same to everybody.
        let native = Command::new("python3")
            .args([
                "-c",
                "import os,sys\ntry: os.setxattr(sys.argv[1],'user.b',b'v')\nexcept OSError as e: sys.exit(e.errno)",
            ])
            .arg(set.directory.path().join("x"))
            .status();
        if let Ok(native) = native {
            assert_eq!(native.code(), Some(-set_it as i32));
        }
        if set_it == 0 {
            let room = thread.memory.room(16);
            assert_eq!(thread.call(libc::SYS_getxattr, &[path, name, room, 16]), 5);
            assert_eq!(thread.memory.get(room, 5), b"value");
            assert_eq!(thread.call(libc::SYS_getxattr, &[path, name, 0, 0]), 5, "a question for the length");
            assert_eq!(errno(thread.call(libc::SYS_getxattr, &[path, name, room, 2])), libc::ERANGE);
        }
    });
}

/// `run` under another umask, limit and directory: what the program makes and sees follows.
fn umask_directory_and_limits_are_runs() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 027; ulimit -n 77; exec \"$0\" \"$@\""]).arg(this_program());
    command.process_group(0);
    let run = Run::with(command, &set.control(), set.directory.path(), 1, 1);
    let job = node.next().unwrap();
    let mut thread = job.thread(0, 1);
    let path = thread.memory.text("masked");
    assert_eq!(thread.call(libc::SYS_creat, &[path, 0o666]), 3);
    let made = std::fs::metadata(set.directory.path().join("masked")).unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o640);
    assert_eq!(made.uid(), nix::unistd::geteuid().as_raw());
    let limit = thread.memory.room(16);
    assert_eq!(thread.call(libc::SYS_prlimit64, &[0, u64::from(libc::RLIMIT_NOFILE), 0, limit]), 0);
    assert_eq!(thread.memory.get(limit, 8), 77_u64.to_le_bytes());
    let fifo = thread.memory.text("fifo");
    assert_eq!(thread.call(libc::SYS_mknod, &[fifo, u64::from(libc::S_IFIFO | 0o666), 0]), 0);
    assert!(std::fs::metadata(set.directory.path().join("fifo")).unwrap().file_type().is_fifo());
    thread.exit(0);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
}

/// The node is not to ask for these; a node that does gets an errno, and nothing happens.
fn calls_that_stay_on_the_node_are_refused() {
    with_thread(|_, thread| {
        for number in
            [libc::SYS_fork, libc::SYS_execve, libc::SYS_mmap, libc::SYS_rt_sigaction, libc::SYS_clone3, 99_999]
        {
            let result = thread.raw_call(number as u32, &[0; 6]);
            assert_eq!(errno(result), libc::ENOSYS, "call {number}");
        }
        assert!(thread.call(libc::SYS_getppid, &[]) > 0);
    });
}

fn many_threads_at_once() {
    with_job(2, |_, _, job| {
        std::thread::scope(|scope| {
            for number in 1..=48 {
                scope.spawn(move || {
                    let mut thread = job.thread(number % 2, number as u32);
                    let file = open(&mut thread, &format!("t{number}"), libc::O_CREAT | libc::O_RDWR | libc::O_APPEND);
                    assert!(file > 2, "{file}");
                    let text = thread.memory.put(&[number as u8; 100]);
                    for _ in 0..20 {
                        assert_eq!(thread.call(libc::SYS_write, &[file as u64, text, 100]), 100);
                    }
                    let room = thread.memory.room(2000);
                    assert_eq!(thread.call(libc::SYS_pread64, &[file as u64, room, 2000, 0]), 2000);
                    assert_eq!(thread.memory.get(room, 2000), [number as u8; 2000]);
                    assert_eq!(thread.call(libc::SYS_exit, &[0]), 0, "the proxy thread ends too");
                });
            }
        });
    });
}
