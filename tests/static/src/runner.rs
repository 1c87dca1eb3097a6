// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the chosen cases: those that share nodes two at a time, then those with nodes of their own one by one.
//!
//! Prints one line for each case and the sum, in the words of cargo's runner, which `cargo xtask test` counts.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::case::{Case, Work};
use crate::nodes::Nodes;
use crate::options::Options;
use crate::{
    Result, batch, boot, calls, cards, long_frames, newcomer, packages, programs, real, refused, stopped, unplug, user,
    users,
};

/// One for each lane; a node with several CPUs, as threads that spin for each other on one CPU progress slowly.
const NODES: u32 = 2;
const SHAPE: [&str; 4] = ["--cpus", "4", "--node-memory", "512M"];

/// The cases that ran so far.
#[derive(Default)]
struct Sum {
    count: usize,
    /// Names.
    failed: Vec<String>,
}

/// Runs the chosen cases. True: all were good.
pub fn run(options: &Options) -> Result<bool> {
    let programs = programs::cases().into_iter().chain(user::cases()).chain(real::cases()).chain(packages::cases());
    let all = programs.chain(refused::cases()).chain(unplug::cases()).chain(stopped::cases());
    let all = all
        .chain(boot::cases())
        .chain(batch::cases())
        .chain(newcomer::cases())
        .chain(calls::cases())
        .chain(users::cases())
        .chain(cards::cases())
        .chain(long_frames::cases());
    let cases: Vec<Case> = all.filter(|case| options.choose(&case.name, case.in_more)).collect();
    if options.list {
        cases.iter().for_each(|case| println!("{}: test", case.name));
        return Ok(true);
    }
    println!("\nrunning {} tests", cases.len());
    let (own, shared): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| matches!(case.work, Work::Own(_)));
    let sum = Mutex::new(Sum::default());
    together(shared, &sum)?;
    for case in own {
        if let Work::Own(test) = case.work {
            let started = Instant::now();
            say(&sum, &case.name, started, test());
        }
    }
    Ok(sum.into_inner().unwrap_or_else(PoisonError::into_inner).print())
}

/// Two lanes on one set of nodes. A set that lost a node is replaced.
fn together(cases: Vec<Case>, sum: &Mutex<Sum>) -> Result<()> {
    let waiting: Mutex<VecDeque<Case>> = Mutex::new(cases.into());
    let left = || waiting.lock().unwrap_or_else(PoisonError::into_inner).len();
    while left() > 0 {
        let before = left();
        let nodes = Nodes::boot(NODES, &SHAPE)?;
        std::thread::scope(|scope| {
            for _ in 0..NODES {
                scope.spawn(|| lane(&nodes, &waiting, sum));
            }
        });
        if left() == before {
            return Err("a set of nodes lost one before its first job".into());
        }
    }
    Ok(())
}

fn lane(nodes: &Nodes, waiting: &Mutex<VecDeque<Case>>, sum: &Mutex<Sum>) {
    // a broken node would fail every later case
    while nodes.alive() == NODES as usize {
        let Some(case) = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else { return };
        let started = Instant::now();
        let result = match &case.work {
            Work::Same(same) => same.check(nodes),
            Work::Shared(test) => test(nodes),
            Work::Own(test) => test(),
        };
        say(sum, &case.name, started, result.map_err(|why| why + &last_words(nodes)));
    }
}

/// The kernels' last lines, if they said anything.
fn last_words(nodes: &Nodes) -> String {
    let last = |node| nodes.console(node).lines().last().map(|line| format!("\n    node {node}: {line}"));
    (0..NODES).filter_map(last).collect()
}

fn say(sum: &Mutex<Sum>, name: &str, started: Instant, result: Result<()>) {
    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = started.elapsed().as_secs_f32();
    sum.count += 1;
    match result {
        Ok(()) => println!("test {name} ... ok ({seconds:.1} s)"),
        Err(why) => {
            println!("test {name} ... FAILED ({seconds:.1} s)\n    {why}");
            sum.failed.push(name.to_owned());
        }
    }
}

impl Sum {
    fn print(&self) -> bool {
        if !self.failed.is_empty() {
            println!("\nfailures:");
            self.failed.iter().for_each(|name| println!("    {name}"));
        }
        let (word, failed) = (if self.failed.is_empty() { "ok" } else { "FAILED" }, self.failed.len());
        let passed = self.count - failed;
        println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n");
        self.failed.is_empty()
    }
}
