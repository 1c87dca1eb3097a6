// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories of the whole static kernel on a machine that is made up: threads that compute, wait, sleep, signal each
//! other, move and ship calls, on CPUs that take turns by a seed, over a link that loses packets.
//!
//! What must hold of each: the kernel does not die and nobody waits for ever; each shipped call is performed once, and all of
//! them are; each process says once how it ends; a proxy that is lost ends its process and no other.

mod far;
mod program;

use far::{DAEMON_PORT, FarEnd, HANDLED, KEY, Plan, SIGKILL, Seen};
use program::{STATUS, Step, file, number_of};
use proptest::prelude::*;
use tacet_host_static::fake::{Config, Faults, Outcome, boot};

const CASES: u32 = 40;
const RAM_BYTES: usize = 6 << 20;

/// One instruction's time.
const TURN_NS: u64 = 200;

fn run(threads: &[Vec<Step>], plan: Plan, cpus: usize, faults: Faults, seed: u64) -> (Outcome, Seen) {
    run_slowly(threads, plan, cpus, faults, seed, TURN_NS)
}

fn run_slowly(
    threads: &[Vec<Step>],
    plan: Plan,
    cpus: usize,
    faults: Faults,
    seed: u64,
    turn_ns: u64,
) -> (Outcome, Seen) {
    let service = u8::from(plan.service_cpu);
    let key: String = KEY.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!(
        "tacet.node=0 tacet.iod=10.0.2.2:{DAEMON_PORT} tacet.link=console tacet.key={key} tacet.service_cpu={service}"
    );
    let (far, seen) = FarEnd::new(plan, file(threads));
    let config = Config { cpus, ram_bytes: RAM_BYTES, command_line: line.leak(), faults, seed, turn_ns };
    let outcome = boot(&config, Box::new(far), tacet_host_static::main);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

fn one_process() -> Plan {
    Plan { processes: 1, ..Plan::default() }
}

/// The numbers of all calls that the lists ship.
fn shipped(threads: &[Vec<Step>]) -> Vec<u64> {
    let ships = |step: &Step| matches!(step, Step::Ship | Step::ShipLong);
    let of = |(thread, steps): (usize, &Vec<Step>)| {
        let numbers = steps.iter().enumerate().filter(|(_, step)| ships(step));
        numbers.map(|(step, _)| number_of(thread, step)).collect::<Vec<_>>()
    };
    threads.iter().enumerate().flat_map(of).collect()
}

#[test]
fn a_program_runs_and_its_calls_come_back() {
    let threads = vec![vec![Step::Ship, Step::Compute, Step::Map, Step::Ship]];
    let (outcome, seen) = run(&threads, one_process(), 1, Faults::default(), 1);
    assert_eq!((outcome.end, outcome.log), (Ok(()), vec![]));
    assert_eq!(seen.failures, Vec::<String>::new());
    assert_eq!(seen.ends[&0], [(STATUS.into(), 0)]);
    let performed: Vec<_> = seen.calls.iter().map(|(&(_, number), &times)| (number, times)).collect();
    assert_eq!(performed, [(number_of(0, 0), 1), (number_of(0, 3), 1)]);
    assert_eq!(seen.ended_jobs, 1);
}

/// A packet that the device has no room for is no lost packet: nobody has to ask for it.
#[test]
fn what_a_link_has_no_room_for_waits() {
    let threads = [vec![Step::Ship; 8], vec![Step::Ship; 8]];
    let (outcome, seen) = run(&threads, one_process(), 2, Faults { full: 240, ..Faults::default() }, 3);
    assert_eq!((outcome.end, outcome.log), (Ok(()), vec![]));
    assert_eq!((seen.repeated, seen.calls.len()), (0, 16));
}

#[test]
fn each_cpu_zeroes_an_equal_part_of_the_memory() {
    for cpus in 1..=4 {
        let (outcome, _) = run(&[vec![]], one_process(), cpus, Faults::default(), 3);
        assert_eq!(outcome.end, Ok(()));
        assert_eq!(outcome.zeroed.iter().sum::<u64>(), RAM_BYTES as u64, "all of it, once");
        let (least, most) = (outcome.zeroed.iter().min().unwrap(), outcome.zeroed.iter().max().unwrap());
        assert!(outcome.zeroed.len() == cpus && most - least <= 4096, "{:?}", outcome.zeroed);
    }
}

/// An emulator may leave a CPU out for as long as a short job takes, which is some 30 turns here.
#[test]
fn a_cpu_may_sleep_through_a_whole_job() {
    for sleeps in 1..60 {
        for seed in 1..5 {
            let faults = Faults { sleeps, ..Faults::default() };
            let (outcome, seen) = run(&[vec![]], one_process(), 2, faults, seed);
            assert_eq!((outcome.end, seen.ended_jobs), (Ok(()), 1), "spans of {sleeps} turns, seed {seed}");
        }
    }
}

#[test]
fn a_proxy_that_is_gone_ends_its_process_alone() {
    for refuses in [true, false] {
        let threads = vec![vec![Step::Ship; 6], vec![Step::Ship, Step::Wait, Step::Ship]];
        let plan = Plan { processes: 2, gone_after: Some((4, refuses)), ..Plan::default() };
        let (outcome, seen) = run(&threads, plan, 2, Faults::default(), 5);
        assert_eq!(outcome.end, Ok(()));
        let why = if refuses { "its proxy is gone" } else { "its proxy is silent" };
        let line = format!("process 0 ends: {why}");
        assert_eq!(seen.failures, if refuses { vec![] } else { vec![line.clone()] }, "`run` knows of ends alone");
        assert_eq!(outcome.log, [line]);
        assert_eq!(seen.ends.get(&0), None, "nobody is there to be told");
        assert_eq!(seen.ends[&1], [(STATUS.into(), 0)]);
        let of_other = shipped(&threads).iter().all(|&number| seen.calls.get(&(1, number)) == Some(&1));
        assert!(of_other, "{:?}", seen.calls);
    }
}

#[test]
fn a_node_boots_again_when_it_is_told_to() {
    let (outcome, seen) = run(&[vec![Step::Ship]], Plan { resets: true, ..one_process() }, 1, Faults::default(), 9);
    assert_eq!((outcome.end, seen.ended_jobs), (Ok(()), 1));
    assert_eq!(outcome.log, ["the machine begins anew"]);
}

/// A node whose CPUs all compute says nothing, unless one of them has no program.
#[test]
fn a_node_with_a_service_cpu_speaks_while_its_program_computes() {
    let computes = vec![vec![Step::Compute; 100]];
    for service_cpu in [false, true] {
        let plan = Plan { service_cpu, ..one_process() };
        let cpus = 1 + usize::from(service_cpu);
        // Slow enough that the program takes many seconds.
        let (outcome, seen) = run_slowly(&computes, plan, cpus, Faults::default(), 3, 1_000_000);
        assert_eq!(outcome.end, Ok(()));
        assert_eq!(seen.ends[&0], [(STATUS.into(), 0)]);
        let speaks = seen.questions > 3;
        assert_eq!(speaks, service_cpu, "{} questions", seen.questions);
        assert!(!service_cpu || outcome.executed[0] == 0, "{:?}", outcome.executed);
    }
}

/// Histories in which a CPU once polled for as long as `run` was gone: after a thread was posted to it while it waited for a
/// reply, after a recall while it had no job, and, ten thousand times a second, while a call was under way.
#[test]
fn histories_that_had_no_end() {
    use Step::{Compute, Map, Move, Ship, ShipLong, Sleep, Wait, Wake};
    let two = Plan { processes: 2, ..Plan::default() };
    let ends = |threads: &[Vec<Step>], plan: &Plan, cpus, after, link, seed| {
        let plan = Plan { orphaned_after: Some(after), ..plan.clone() };
        let (outcome, seen) = run(threads, plan, cpus, faults(link), seed);
        assert_eq!((outcome.end, seen.ended_jobs), (Ok(()), 1));
    };
    let posted = [vec![Wake, ShipLong], vec![Wake, Map, Sleep], vec![Ship], vec![], vec![Compute, Move(0)]];
    ends(&posted, &two, 3, 1, (24, 11, 0, 54_329), 3_373_482_871_536_019_417);
    ends(&[vec![]], &two, 4, 0, (31, 0, 0, 10_117), 7_763_992_546_183_711_612);
    let under_way = [vec![Wait], vec![Ship], vec![], vec![Wake, Move(0), Ship, Ship]];
    let yields = Plan { yields: true, service_cpu: true, ..one_process() };
    ends(&under_way, &yields, 3, 1, (16, 0, 100, 204_932), 10_092_667_205_065_087_944);
}

fn step(threads: u8, cpus: u8) -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Ship),
        1 => Just(Step::ShipLong),
        2 => Just(Step::Compute),
        2 => Just(Step::Yield),
        1 => Just(Step::Sleep),
        2 => Just(Step::Wait),
        2 => Just(Step::Wake),
        2 => (1..threads.max(2)).prop_map(Step::Signal),
        2 => Just(Step::Map),
        2 => (0..cpus).prop_map(Step::Move),
    ]
}

#[derive(Debug, Clone)]
struct History {
    threads: Vec<Vec<Step>>,
    cpus: usize,
    plan: Plan,
    faults: (u8, u8, u8, u64),
    seed: u64,
}

fn histories() -> impl Strategy<Value = History> {
    let shape = (1usize..=4, 1usize..=5);
    shape
        .prop_flat_map(|(cpus, threads)| {
            let of_one = prop::collection::vec(step(threads as u8, cpus as u8), 0..8);
            let order = prop_oneof![3 => Just(None), 1 => (0usize..6).prop_map(Some)];
            (
                prop::collection::vec(of_one, threads),
                Just(cpus),
                1..=(cpus as u32).min(2),
                any::<bool>(),
                order,
                (0u8..40, 0u8..40, 0u8..=200, 0u64..300_000),
                (any::<u64>(), any::<bool>()),
            )
        })
        .prop_map(|(threads, cpus, processes, yields, signal, faults, (seed, service))| {
            let signal_after = signal.map(|calls| (calls, HANDLED));
            let service_cpu = service && cpus > processes as usize;
            let plan = Plan { processes, yields, signal_after, service_cpu, ..Plan::default() };
            History { threads, cpus, plan, faults, seed }
        })
}

fn faults((lost, doubled, full, delay_ns): (u8, u8, u8, u64)) -> Faults {
    Faults { lost, doubled, full, delay_ns, sleeps: 0 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_call_is_performed_once_and_each_process_ends_once(history in histories()) {
        let History { threads, cpus, plan, faults: link, seed } = history;
        let (processes, service_cpu) = (plan.processes, plan.service_cpu);
        let (outcome, seen) = run(&threads, plan, cpus, faults(link), seed);
        prop_assert_eq!(&outcome.end, &Ok(()));
        prop_assert!(!service_cpu || outcome.executed[0] == 0, "{:?}", outcome.executed);
        prop_assert_eq!(&outcome.log, &Vec::<String>::new());
        prop_assert_eq!(seen.ended_jobs, 1);
        prop_assert_eq!(seen.corrected, (1..=cpus as u64).sum::<u64>(), "each CPU's errors, once");
        for rank in 0..processes {
            prop_assert_eq!(&seen.ends[&rank], &vec![(u64::from(STATUS), 0)]);
            for number in shipped(&threads) {
                // An interrupted one is made again, as Linux does it where the handler allows that.
                let times = seen.calls.get(&(rank, number)).copied().unwrap_or(0);
                prop_assert!(times == 1 || times > 1 && seen.interrupted > 0, "{} of {}: {}", number, rank, times);
            }
        }
    }

    #[test]
    fn whatever_is_lost_the_job_ends(history in histories(), after in 0usize..8, orphans: bool) {
        let History { threads, cpus, plan, faults: link, seed } = history;
        // A silent one is lost after half a minute of the machine's time, which takes many turns: the test above has it.
        let plan = match orphans {
            true => Plan { orphaned_after: Some(after), signal_after: None, ..plan },
            false => Plan { gone_after: Some((after, true)), ..plan },
        };
        let processes = plan.processes;
        let (outcome, seen) = run(&threads, plan, cpus, faults(link), seed);
        prop_assert_eq!(&outcome.end, &Ok(()));
        prop_assert_eq!(seen.ended_jobs, 1);
        for rank in 0..processes {
            let ends = seen.ends.get(&rank).map_or(&[][..], |ends| ends);
            prop_assert!(ends.len() <= 1, "{:?}", ends);
            let allowed = |end: &(u64, u64)| *end == (STATUS.into(), 0) || *end == (0, SIGKILL);
            prop_assert!(ends.iter().all(allowed), "{:?}", ends);
        }
    }
}
