// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `make bench BENCH=core|calls|forward|jobs|memory|noise|pico|static|tune|sched`: runs the benches and prints one table. Only arguments and
//! output are here; the library measures.
//!
//! usage: tacet-bench [NAME] [--kernel 6.1|6.12|7] [--quanta N] [--iterations N] [--load KIND,...] [--runs N]
//!        [--jobs NAME,...] [--undisturbed] [--resume]
//! NAME: `core` (default, or $BENCH); `calls`: calls that cores answer themselves, and synchronisation of threads and
//! ranks; `forward`: a forwarded call, by the way that its proxy waited, on each kernel (`--jobs` selects); `jobs`: jobs that begin, run
//! beside each other and end, and the partition's changes (`--quanta`); `memory`: anonymous memory from the partition; `noise`: the laboratory itself; `pico`: reads of a
//! disk by the cores; `static`: static nodes (in these three, `--jobs` selects parts); `tune`: the countermeasures;
//! `sched`: MPI jobs under three schedulers, on the newest kernel, beside daemons (`--undisturbed`: alone), which takes
//! hours and continues an earlier bench with `--resume`; `profile`: Tacet's profile alone; `attribute`: which
//! disturbance reaches the core.

use std::process::ExitCode;

use tacet_bench::{
    Result, Settings, calls, core, forward, memory, node_jobs, noise, pico, sched, static_nodes, table, tune,
};
use tacet_node::{Cache, KernelLine, provision};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut name = std::env::var("BENCH").unwrap_or_else(|_| "core".to_owned());
    let mut settings = Settings::full(KernelLine::V6_12);
    let mut kernel = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word}: a value is missing"));
        match word.as_str() {
            "--kernel" => kernel = Some(value()?.parse()?),
            "--jobs" => settings.jobs.extend(value()?.split(',').map(str::to_owned)),
            "--undisturbed" => settings.undisturbed = true,
            "--resume" => settings.resume = true,
            "--runs" => settings.runs = value()?.parse()?,
            "--quanta" => settings.quanta = value()?.parse()?,
            "--load" => settings.disturbances = value()?.split(',').map(str::to_owned).collect(),
            "--iterations" => settings.iterations = value()?.parse()?,
            flag if flag.starts_with('-') => return Err(format!("{flag}: no such option").into()),
            _ => name = word,
        }
    }
    if name == "noise" {
        print!("{}", table(&noise::noise()?));
        return Ok(());
    }
    // only 7 has sched_ext, and 6.12's deadline server cannot be switched off on a quiet CPU
    let usual = if matches!(name.as_str(), "pico" | "sched" | "tune") { KernelLine::V7 } else { KernelLine::V6_12 };
    settings.kernel = kernel.unwrap_or(usual);
    let cache = Cache::open()?;
    provision::ensure(&cache)?;
    match name.as_str() {
        "core" => print!("{}", table(&core::core(&cache, &settings)?)),
        "calls" => print!("{}", table(&calls::calls(&cache, &settings)?)),
        "forward" => print!("{}", table(&forward::forward(&cache, &settings)?)),
        "jobs" => print!("{}", table(&node_jobs::node_jobs(&cache, &settings)?)),
        "memory" => print!("{}", table(&memory::memory(&cache, &settings)?)),
        "pico" => print!("{}", table(&pico::pico(&cache, &settings)?)),
        "static" => {
            let (metrics, failures) = static_nodes::static_nodes(&cache, &settings)?;
            print!("{}", table(&metrics));
            if !failures.is_empty() {
                return Err(failures.join("\nbench: ").into());
            }
        }
        "tune" => print!("{}", table(&tune::tune(&cache, &settings)?)),
        "sched" => print!("{}", table(&sched::sched(&cache, &settings)?)),
        "profile" => core::one(&cache, &settings)?,
        "attribute" => core::attribute(&cache, &settings)?,
        _ => {
            return Err(format!(
                "{name}: no such bench: core, calls, forward, jobs, memory, noise, pico, static, tune, sched, profile, attribute"
            )
            .into());
        }
    }
    Ok(())
}
