// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Rust's standard library asks of a kernel, statically linked with musl: threads, channels, locks, files, a panic
//! that is caught, a thread's own stack.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::thread;

fn main() {
    println!("words {:?}", std::env::args().skip(1).collect::<Vec<_>>());
    println!("sum {}, barrier {}, channel {}", scoped(), barrier(), channel());
    println!("turns {}", turns());
    println!("deep {}", thread::Builder::new().stack_size(4 << 20).spawn(|| deep(10_000)).unwrap().join().unwrap());
    panic::set_hook(Box::new(|_| ()));
    println!("panic {}", thread::spawn(|| panic!("meant")).join().is_err());
    files().unwrap();
    let lines: Vec<String> = io::stdin().lock().lines().map_while(Result::ok).collect();
    println!("input {lines:?}");
    io::stdout().flush().unwrap();
    std::process::exit(lines.len() as i32);
}

fn scoped() -> u64 {
    let sum = AtomicU64::new(0);
    let numbers: Vec<u64> = (0..100_000).collect();
    thread::scope(|scope| {
        for part in numbers.chunks(12_500) {
            let sum = &sum;
            scope.spawn(move || sum.fetch_add(part.iter().sum(), Ordering::Relaxed));
        }
    });
    sum.into_inner()
}

fn barrier() -> usize {
    let barrier = Arc::new(Barrier::new(7));
    let waits = |_| {
        let barrier = Arc::clone(&barrier);
        thread::spawn(move || (0..20).filter(|_| barrier.wait().is_leader()).count())
    };
    let threads: Vec<_> = (0..7).map(waits).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
}

fn channel() -> u64 {
    let (sender, receiver) = mpsc::sync_channel(3);
    for from in 0..5u64 {
        let sender = sender.clone();
        thread::spawn(move || (0..100).for_each(|number| sender.send(from * number).unwrap()));
    }
    drop(sender);
    receiver.iter().sum()
}

/// Two threads write in turns.
fn turns() -> String {
    let state = Arc::new((Mutex::new(String::new()), Condvar::new()));
    let other = Arc::clone(&state);
    let write = |state: &(Mutex<String>, Condvar), letter, parity| {
        for _ in 0..10 {
            let mut text = state.1.wait_while(state.0.lock().unwrap(), |text| text.len() % 2 != parity).unwrap();
            text.push(letter);
            state.1.notify_all();
        }
    };
    let thread = thread::spawn(move || write(&other, 'b', 1));
    write(&state, 'a', 0);
    thread.join().unwrap();
    let text = state.0.lock().unwrap();
    text.clone()
}

fn deep(left: u64) -> u64 {
    let filler = std::hint::black_box([left; 16]);
    if left == 0 { 0 } else { 1 + deep(filler[3] - 1) }
}

fn files() -> io::Result<()> {
    let directory = std::env::temp_dir().join(format!("tacet-rust-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let mut count = BTreeMap::new();
    for number in 0..50 {
        fs::write(directory.join(number.to_string()), "line\n".repeat(number))?;
    }
    for entry in fs::read_dir(&directory)? {
        let text = fs::read_to_string(entry?.path())?;
        *count.entry(text.lines().count() % 10).or_insert(0) += 1;
    }
    fs::remove_dir_all(&directory)?;
    println!("files {count:?}, left {}", directory.exists());
    Ok(())
}
