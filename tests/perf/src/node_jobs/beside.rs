// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instructions that job A's core executes besides A's program while job B begins, runs and ends.
//!
//! Must never return a figure if the plugin counted nothing: a CPU of Linux is the control.

use std::fs;
use std::time::Duration;

use tacet_node::Command;
use tacet_noise::exact::instruments::PROGRAM;
use tacet_noise::exact::log::{Log, Quanta};

use crate::Result;
use crate::configuration::{KEPT, Settings};
use crate::guest::{Guest, numbers};
use crate::metric::Metrics;

/// Job A's CPU.
const OWN: u32 = 1;
/// The CPU of the control.
const LINUX: u32 = 0;
/// A's program runs for longer than other programs of quanta: B needs a while on a busy host.
const MORE: u64 = 3;
const LIMIT: Duration = Duration::from_secs(900);

/// $0 the command, $1 the programs' directory, $2 and $3 the quanta, $4 the CPUs of job B. Job B begins, runs two programs
/// and ends for as long as A's program runs; a round that A's program did not outlive does not count.
const ROUNDS: &str = r#"
    tacet=$0 programs=$1
    TACET_JOB=a $tacet run --populate -- $programs/tacet-quanta $2 $3 >/tmp/quanta &
    quanta=$! rounds=0
    until grep -q begun /tmp/quanta; do kill -0 $quanta; sleep 0.1; done
    while kill -0 $quanta 2>/dev/null; do
        $tacet job begin b --user 0 --cpus $4 >/dev/null
        TACET_JOB=b $tacet run -- $programs/threads barrier 100 >/dev/null
        TACET_JOB=b $tacet run -- sh -c 'head -c 100000 /dev/zero | sort | cat' >/dev/null
        $tacet job end b --return >/dev/null
        if kill -0 $quanta 2>/dev/null; then rounds=$((rounds + 1)); fi
    done
    wait $quanta
    cat /tmp/quanta
    echo "rounds $rounds""#;

/// Adds the figures. The node has the plugin and no partition; it has none afterwards.
pub fn beside(guest: &Guest, settings: &Settings, metrics: &mut Metrics) -> Result<()> {
    let many = MORE * settings.quanta;
    let quanta = [many.to_string(), settings.iterations.to_string()];
    let few = (settings.quanta / 10).max(1);
    guest.native(PROGRAM, &[few.to_string(), quanta[1].clone(), LINUX.to_string()])?;
    let control = record(guest, few, settings.iterations, LINUX)?;
    if stolen(&control) == 0.0 {
        return Err("no instruction was stolen on a CPU of Linux: the plugin counts nothing".into());
    }

    let tacet = guest.programs.tacet().display().to_string();
    guest.run(&[&tacet, "up", "--cpus", &OWN.to_string(), "--spare", KEPT, "--memory", "128M"])?;
    guest.run(&[&tacet, "job", "begin", "a", "--user", "0", "--cpus", &OWN.to_string()])?;
    let directory = guest.programs.build_directory().join("tests/perf").display().to_string();
    let words = ["bash", "-ec", ROUNDS, &tacet, &directory, &quanta[0], &quanta[1], KEPT];
    let output = guest.node.run(&Command::new(words).timeout(LIMIT))?;
    if !output.status.success() {
        return Err(format!("a job beside another: {} {}", output.error_text().trim(), output.text().trim()).into());
    }
    let rounds = numbers(&output.text()).get("rounds").copied().unwrap_or(0.0);
    if rounds < 1.0 {
        return Err("job B did not begin and end while job A's program ran: give more --quanta".into());
    }
    let record = record(guest, many, settings.iterations, OWN)?;
    guest.run(&[&tacet, "job", "end", "a"])?;
    guest.down()?;

    let how = format!(
        "all that the CPU executed besides the program in {} quanta of {} instructions, counted by a plugin of the emulator",
        record.quanta, record.user
    );
    let during = format!(
        "{how}; meanwhile job B began on two CPUs of Linux, ran programs and ended with --return, {rounds} times; baseline: \
         {few} quanta on a CPU of Linux, without jobs"
    );
    let (own, linux) = (stolen(&record), stolen(&control));
    metrics.add("stolen_instructions_job_a", own, "instructions", Some(linux), &during);
    let hits = |record: &Quanta| record.hits.len() as f64;
    metrics.add("quanta_hit_job_a", hits(&record), "quanta", Some(hits(&control)), &during);
    metrics.add("rounds_of_job_b", rounds, "rounds", None, &during);
    Ok(())
}

/// The newest record, which must be of these quanta on this CPU.
fn record(guest: &Guest, quanta: u64, iterations: u64, cpu: u32) -> Result<Quanta> {
    let log = Log::parse(&fs::read_to_string(guest.node.plugin_log())?);
    let record = log.quanta.into_iter().next_back().ok_or("the plugin saw no markers")?;
    record.check(quanta, 2 * iterations, cpu)?;
    Ok(record)
}

fn stolen(record: &Quanta) -> f64 {
    record.hits.iter().map(|hit| hit.kernel + hit.other).sum::<u64>() as f64
}
