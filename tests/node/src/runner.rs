// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the chosen scenarios on the chosen kernels, two at a time: much of a scenario is waiting, so two nodes fill two
//! cores.

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use tacet_node::{Cache, KernelLine, provision};

use crate::bench::Bench;
use crate::list::SCENARIOS;
use crate::options::Options;
use crate::queue::{self, Queue};
use crate::report::Report;
use crate::scenario::{Part, Scenario};
use crate::stage;
use crate::times::Times;

/// Everything that was asked for.
pub fn run(options: &Options) -> ExitCode {
    if options.list {
        list();
        return ExitCode::SUCCESS;
    }
    let chosen = chosen(options);
    if chosen.is_empty() {
        println!("not ok: no scenario: --list names them, and what runs only with --full\n0 passed, 1 failed");
        return ExitCode::FAILURE;
    }
    let times = Times::read(options.full);
    announce(&chosen, &times);
    let report = Report::new(options.full, times);
    match prepare() {
        Ok(cache) => two_at_a_time(&cache, options, &chosen, &report),
        Err(error) => report.broken(format!("not ok the programs of the scenarios: {error}")),
    }
    report.end()
}

/// Each scenario with the kernels on which it runs by default and with everything.
fn list() {
    let names = |kernels: Vec<KernelLine>| kernels.iter().map(KernelLine::to_string).collect::<Vec<_>>().join(" ");
    println!("{:10} {:11} {:5} scenario (and its script)", "by default", "with FULL=1", "part");
    for scenario in SCENARIOS {
        let on = |everything| names(scenario.on(&KernelLine::ALL, everything));
        let part = if scenario.part == Part::First { "first" } else { "more" };
        println!("{:10} {:11} {part:5} {} ({})", on(false), on(true), scenario.name, scenario.script);
    }
}

fn chosen(options: &Options) -> Vec<(KernelLine, &'static Scenario)> {
    let named = SCENARIOS.iter().filter(|scenario| options.choose(scenario));
    named
        .flat_map(|scenario| scenario.on(&options.kernels, options.full).into_iter().map(move |on| (on, scenario)))
        .enumerate()
        .filter_map(|(place, chosen)| options.in_half(place).then_some(chosen))
        .collect()
}

fn announce(chosen: &[(KernelLine, &Scenario)], times: &Times) {
    let known = chosen.iter().filter_map(|(kernel, scenario)| times.seconds(*kernel, scenario.name));
    let (count, seconds) = known.fold((0, 0), |(count, sum), seconds| (count + 1, sum + seconds));
    println!("{} scenarios; {count} of them took {seconds} s the last time, and two run at a time", chosen.len());
}

fn prepare() -> tacet_node::Result<Cache> {
    let cache = Cache::open()?;
    provision::ensure(&cache)?;
    stage::programs(&cache)?;
    Ok(cache)
}

fn two_at_a_time(cache: &Cache, options: &Options, chosen: &[(KernelLine, &'static Scenario)], report: &Report) {
    let of = |kernel: KernelLine| chosen.iter().filter(move |(on, _)| *on == kernel).map(|(_, scenario)| *scenario);
    let queue = |kernel: &KernelLine| Queue::new(*kernel, of(*kernel).map(|s| (s, report.expected(*kernel, s))));
    let queues = Mutex::new(options.kernels.iter().map(queue).collect::<Vec<_>>());
    let lane = || {
        let mut bench: Option<Bench<'_>> = None;
        loop {
            let kernel = bench.as_ref().map(Bench::kernel);
            let next = queue::next(&mut queues.lock().unwrap_or_else(PoisonError::into_inner), kernel);
            let Some((kernel, scenario)) = next else { return };
            let same = bench.take().filter(|bench| bench.kernel() == kernel);
            let mut here = same.unwrap_or_else(|| Bench::new(cache, kernel, options.full));
            report.add(here.verdict(scenario, || report.may_repeat()));
            bench = Some(here);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(lane);
        scope.spawn(lane);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(kernels: &[KernelLine], only: &[&str]) -> Options {
        let only = only.iter().map(|word| (*word).to_owned()).collect();
        let mut options = Options::default();
        (options.kernels, options.only) = (kernels.to_vec(), only);
        options
    }

    #[test]
    fn a_scenario_that_was_named_runs_on_the_kernel_that_was_chosen() {
        for kernel in KernelLine::ALL {
            let chosen = chosen(&options(&[kernel], &["more threads than cores"]));
            assert_eq!(chosen.iter().map(|(on, _)| *on).collect::<Vec<_>>(), [kernel]);
        }
        assert!(chosen(&options(&KernelLine::ALL, &["no such scenario"])).is_empty());
    }
}
