// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `noise`: the cost of the noise laboratory itself, on this machine. Writes `build/bench/noise.json`.
//!
//! Runs the command as a person does, one run after the other; ratios compare alternating runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use wait4::Wait4;

use crate::Result;
use crate::metric::{Metric, Metrics, write};
use crate::provenance::here;
use crate::times::middle;

/// The number of Fugaku's threads (Gerofi et al., SC '21).
const FULL_SCALE: u64 = 7_630_848;
const STENCIL_THREADS: u64 = 1_000_000;
/// One second of intervals of 250 us.
const STENCIL_INTERVALS: u64 = 4000;
const SAMPLES: u64 = 1_000_000;
const TURNS: usize = 7;

struct Laboratory {
    program: PathBuf,
    folder: tempfile::TempDir,
}

/// A command that ended with status 0.
struct Done {
    seconds: f64,
    /// The largest resident set.
    peak_bytes: u64,
    said: String,
}

/// Measures everything.
pub fn noise() -> Result<Vec<Metric>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let build = top.join("build");
    let laboratory = Laboratory { program: build.join("bin/tacet-noise"), folder: tempfile::tempdir()? };
    let mut metrics = Metrics::at(&here(&top));
    laboratory.simulation(&mut metrics)?;
    laboratory.stencil(&mut metrics)?;
    laboratory.records(&mut metrics)?;
    laboratory.tracing(&mut metrics)?;
    let metrics = metrics.into_vec();
    write(&metrics, &build.join("bench/noise.json"))?;
    Ok(metrics)
}

impl Laboratory {
    fn run(&self, words: &[&str]) -> Result<Done> {
        let said = self.folder.path().join("said");
        let begin = Instant::now();
        let mut child = Command::new(&self.program)
            .args(words)
            .current_dir(self.folder.path())
            .stdout(fs::File::create(&said)?)
            .spawn()?;
        let ended = child.wait4()?;
        let seconds = begin.elapsed().as_secs_f64();
        if !ended.status.success() {
            return Err(format!("tacet noise {}: {}", words.join(" "), ended.status).into());
        }
        Ok(Done { seconds, peak_bytes: ended.rusage.maxrss, said: fs::read_to_string(said)? })
    }

    fn simulate(&self, threads: u64, words: &[&str]) -> Result<Done> {
        let threads = threads.to_string();
        let always = ["predict", "--json", "--interval", "250us", "--noise", "1ms@500s", "--threads", &threads];
        self.run(&[&always[..], words].concat())
    }

    fn simulation(&self, metrics: &mut Metrics) -> Result<()> {
        step("global synchronisation");
        let how = "a barrier each 250 us, noise 1ms@500s, one hour of program time, both CPUs, whole process";
        let small = self.simulate(1000, &["--simulate", "1h"])?.seconds;
        let full = self.simulate(FULL_SCALE, &["--simulate", "1h"])?;
        let (full, peak) = (full.seconds, full.peak_bytes as f64);
        let baseline = "baseline: 1,000 threads";
        metrics.add("simulate_full_scale_hour_seconds", full, "s", Some(small), &format!("{how}; {baseline}"));
        metrics.add("simulate_full_scale_peak_bytes", peak, "bytes", None, &format!("{how}; largest resident set"));
        for (name, threads) in [("100k", 100_000), ("1m", 1_000_000)] {
            let seconds = self.simulate(threads, &["--simulate", "1h"])?.seconds;
            metrics.add(
                &format!("simulate_{name}_hour_seconds"),
                seconds,
                "s",
                Some(small),
                &format!("{how}; {baseline}"),
            );
        }
        Ok(())
    }

    fn stencil(&self, metrics: &mut Metrics) -> Result<()> {
        step("stencil");
        let seconds = self.simulate(STENCIL_THREADS, &["--synchronise", "stencil", "--simulate", "1s"])?.seconds;
        let rate = (STENCIL_THREADS * STENCIL_INTERVALS) as f64 / seconds;
        let how = "1,000,000 threads, 4,000 intervals of 250 us, neighbours wait for each other, whole process";
        metrics.add("stencil_thread_intervals_per_second", rate, "1/s", None, how);
        Ok(())
    }

    fn records(&self, metrics: &mut Metrics) -> Result<()> {
        step("records");
        let samples = SAMPLES.to_string();
        let fine = ["measure", "--cpus", "0", "--quantum", "10us", "--samples", &samples, "-o", "fine.parquet"];
        self.run(&[&fine[..], &["--trust-clock"]].concat())?;
        let times: Vec<f64> =
            (0..TURNS).map(|_| Ok(self.run(&["analyse", "--json", "fine.parquet"])?.seconds)).collect::<Result<_>>()?;
        let how = format!("1,000,000 samples of 10 us, middle of {TURNS} runs of `analyse`, whole process");
        metrics.add("samples_analysed_per_second", SAMPLES as f64 / middle(times), "1/s", None, &how);
        let coarse = ["measure", "--cpus", "0", "--duration", "36s", "-o", "coarse.parquet", "--trust-clock"];
        self.run(&coarse)?;
        let bytes = fs::metadata(self.folder.path().join("coarse.parquet"))?.len() as f64;
        let how = "36 s of fixed work of 6.5 ms on one CPU, times 100: what does not grow with time is in it";
        metrics.add("record_bytes_per_core_hour", bytes * 100.0, "bytes", None, how);
        Ok(())
    }

    /// Noise with and without the trace, in alternating runs. If other work makes noise on the machine, the ratio says
    /// little.
    fn tracing(&self, metrics: &mut Metrics) -> Result<()> {
        step("tracing");
        let (mut plain, mut traced) = (Vec::new(), Vec::new());
        let words = [
            "--cpus",
            "1",
            "--quantum",
            "1ms",
            "--duration",
            "4s",
            "--trust-clock",
            "--json",
            "--force",
            "-o",
            "x.parquet",
        ];
        for _ in 0..TURNS {
            plain.push(rate(&serde_json::from_str(&self.run(&[&["measure"], &words[..]].concat())?.said)?)?);
            let facts: Value = serde_json::from_str(&self.run(&[&["trace"], &words[..]].concat())?.said)?;
            traced.push(rate(&facts["summary"])?);
        }
        let spread = |values: &[f64]| {
            let (least, most) = values.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
            format!("{least:.2e} to {most:.2e}")
        };
        let how = format!(
            "noise rate of CPU 1, middle of {TURNS} turns of 4 s ({}); baseline: not traced ({})",
            spread(&traced),
            spread(&plain)
        );
        metrics.add("traced_noise_rate", middle(traced), "share", Some(middle(plain)), &how);
        Ok(())
    }
}

fn rate(summary: &Value) -> Result<f64> {
    summary["noise_rate"].as_f64().ok_or_else(|| "no noise rate in the output".into())
}

fn step(what: &str) {
    eprintln!("bench: {what}");
}
