// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every order of a few CPUs, threads and things that Linux does, as far as CPUs that could go on make room for others
//! a few times only. They begin when each CPU is in user mode.

use crate::machine::Machine;
use crate::program::Action;
use crate::world::{Sabotage, World};
use tacet_core::{Common, Permits, Recall};

/// What Linux does, in this order, at any time.
#[derive(Debug, Clone, Copy)]
enum Linux {
    Recall(u32),
    Turn(u32),
    Ring,
    Time(u32),
    /// A task that is not hosted wakes one thread.
    Wake,
}

/// A place in the tree of all orders: at each fork, which branch of how many.
#[derive(Default)]
struct Path {
    forks: Vec<(usize, usize)>,
    depth: usize,
}

impl Path {
    /// Which of so many branches.
    fn choose(&mut self, branches: usize) -> usize {
        if self.depth == self.forks.len() {
            self.forks.push((0, branches));
        }
        let (chosen, expected) = self.forks[self.depth];
        assert_eq!(branches, expected, "the same order has led elsewhere");
        self.depth += 1;
        chosen
    }

    /// On to the next path. False: that was the last one.
    fn advance(&mut self) -> bool {
        self.depth = 0;
        while let Some((chosen, branches)) = self.forks.pop() {
            if chosen + 1 < branches {
                self.forks.push((chosen + 1, branches));
                return true;
            }
        }
        false
    }
}

/// Who did what, told if that fails.
struct Order(Vec<(usize, Option<Linux>)>);

impl Drop for Order {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for pauses in self.0.chunk_by(|one, other| one.1.is_none() && other.1.is_none() && one.0 == other.0) {
                match pauses[0] {
                    (_, Some(step)) => println!("Linux: {step:?}"),
                    (cpu, None) => println!("CPU {cpu}: {} pauses", pauses.len()),
                }
            }
        }
    }
}

struct Case<'c> {
    /// By thread; each has its own CPU.
    programs: &'c [&'c [Action]],
    linux: &'c [Linux],
    /// How often a CPU that could go on makes room for another.
    switches: usize,
    sabotage: Sabotage,
}

impl Case<'_> {
    /// Tries all orders. How many they are.
    fn search(&self) -> u32 {
        let (mut path, mut orders) = (Path::default(), 0);
        let mut common = Box::new(Common::new());
        loop {
            common = self.perform(common, &mut path);
            orders += 1;
            if !path.advance() {
                return orders;
            }
        }
    }

    /// One order; the path says which.
    fn perform(&self, common: Box<Common>, path: &mut Path) -> Box<Common> {
        let mut order = Order(Vec::new());
        let all = Permits::CALLS.0 | Permits::FUTEXES.0 | Permits::SLEEPS.0 | Permits::STAYS.0;
        let programs = self.programs.iter().map(|program| (0, all, program.to_vec())).collect();
        let cpus = self.programs.len();
        let world = World::new(common, cpus, programs);
        world.sabotage.set(self.sabotage);
        let mut machine = Machine::new(&world);
        world.numbers().for_each(|number| machine.linux.post(number, number as usize));
        while machine.linux.ring(0) {}
        (0..cpus).for_each(|cpu| {
            while !world.is_in_user(cpu) {
                machine.run(cpu)
            }
        });
        let (mut linux, mut current, mut switches) = (self.linux.iter(), 0, self.switches);
        loop {
            let may_run = |cpu: &usize| !world.is_asleep(*cpu) && !world.computes(*cpu);
            let holder = machine.holder;
            let going_on = holder.is_some() || may_run(&current);
            let others = holder.is_none() && (!going_on || switches > 0);
            let mut next: Vec<_> = going_on.then_some(current).into_iter().collect();
            next.extend((0..cpus).filter(|&cpu| others && cpu != current).filter(may_run));
            let branches = next.len() + usize::from(linux.len() > 0);
            if branches == 0 {
                break;
            }
            match next.get(path.choose(branches)) {
                Some(&cpu) => {
                    switches -= usize::from(going_on && cpu != current);
                    current = cpu;
                    order.0.push((holder.unwrap_or(cpu), None));
                    machine.run(cpu);
                }
                None => {
                    let step = *linux.next().unwrap();
                    order.0.push((0, Some(step)));
                    perform(&mut machine, step);
                }
            }
        }
        (0..cpus).for_each(|cpu| machine.run(cpu));
        machine.end();
        world.common
    }
}

fn perform(machine: &mut Machine<'_>, step: Linux) {
    match step {
        Linux::Recall(thread) => machine.linux.recall(thread, Recall::Always),
        Linux::Turn(thread) => machine.linux.recall(thread, Recall::Turn),
        Linux::Ring => drop(machine.linux.ring(0)),
        Linux::Wake => machine.linux.wake(0, 0, 1),
        Linux::Time(ns) => machine.world.now.set(machine.world.now.get() + u64::from(ns)),
    }
}

const WAIT: Action = Action::Wait { word: 0, value: 0, bitset: u32::MAX, ns: None };
const WAIT_TIMED: Action = Action::Wait { word: 0, value: 0, bitset: u32::MAX, ns: Some(50_000) };
const CHANGE: Action = Action::Store { word: 0, value: 1 };
const WAKE: Action = Action::Wake { word: 0, count: 1, bitset: u32::MAX };

#[test]
fn a_wait_meets_a_wake_up_and_a_recall() {
    let programs: &[&[Action]] = &[&[WAIT], &[CHANGE, WAKE]];
    let linux = &[Linux::Recall(0), Linux::Ring];
    let case = Case { programs, linux, switches: 2, sabotage: Sabotage::None };
    println!("{} orders", case.search());
}

#[test]
fn a_wait_meets_a_wake_up_and_the_end_of_a_turn() {
    let programs: &[&[Action]] = &[&[WAIT, Action::Yield], &[CHANGE, WAKE]];
    let linux = &[Linux::Turn(0), Linux::Ring];
    let case = Case { programs, linux, switches: 1, sabotage: Sabotage::None };
    println!("{} orders", case.search());
}

#[test]
fn a_wait_meets_a_wake_up_and_its_time() {
    let programs: &[&[Action]] = &[&[WAIT_TIMED], &[CHANGE, WAKE]];
    let case = Case { programs, linux: &[Linux::Time(60_000)], switches: 2, sabotage: Sabotage::None };
    println!("{} orders", case.search());
}

#[test]
fn a_wait_meets_a_wake_up_its_time_and_a_recall() {
    let programs: &[&[Action]] = &[&[WAIT_TIMED], &[CHANGE, WAKE]];
    let linux = &[Linux::Time(60_000), Linux::Recall(0), Linux::Ring];
    let case = Case { programs, linux, switches: 1, sabotage: Sabotage::None };
    println!("{} orders", case.search());
}

#[test]
fn two_threads_wait_for_each_other_while_one_is_recalled() {
    let programs: &[&[Action]] = &[&[WAIT, WAKE], &[CHANGE, WAKE, WAIT]];
    let linux = &[Linux::Recall(1), Linux::Ring];
    let case = Case { programs, linux, switches: 1, sabotage: Sabotage::None };
    println!("{} orders", case.search());
}

#[test]
fn two_threads_wait_while_linux_wakes_and_one_is_recalled() {
    let programs: &[&[Action]] = &[&[WAIT], &[WAIT]];
    let linux = &[Linux::Wake, Linux::Recall(0), Linux::Ring];
    let case = Case { programs, linux, switches: 1, sabotage: Sabotage::None };
    println!("{} orders", case.search());
}

/// What the search is for: a thread is woken after its CPU has looked for woken threads, and before it looks for recalled
/// ones. It is neither then, and the bell is answered.
#[test]
fn a_recall_that_is_read_only_at_its_bell_is_found() {
    let programs: &[&[Action]] = &[&[WAIT], &[CHANGE, WAKE]];
    let linux = &[Linux::Recall(0), Linux::Ring];
    let case = Case { programs, linux, switches: 2, sabotage: Sabotage::ForgetsRecalls };
    let failure = std::panic::catch_unwind(|| case.search()).expect_err("every order went well");
    let message = failure.downcast_ref::<String>().expect("a failed assertion");
    assert!(message.ends_with("thread 0 runs on after its recall"), "{message}");
}
