// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `make demo`, and `make demo-cluster` (`cluster.rs`): runs the same programs on Linux and on Tacet in one node, prints a table, draws a picture, and checks
//! that the node is as before.
//!
//! Owns the order of the steps and the exit status, which is 0 only if everything was as expected. Called by
//! `cargo xtask demo`, which builds first. Must never print a result that was not measured in this run.

mod before;
mod cluster;
mod noise;
mod picture;
mod place;
mod programs;
mod progress;
mod row;
mod site;
mod static_nodes;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use tacet_bench::Settings;
use tacet_node::{Cache, KernelLine};

use crate::before::Snapshot;
use crate::noise::Noise;
use crate::picture::Heading;
use crate::place::Place;
use crate::programs::{Program, Run};
use crate::progress::Progress;
use crate::row::Row;
use crate::site::Site;

/// The result type of this crate; an error's text is one line.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Show in a node the same programs on Linux and on Tacet
#[derive(Parser)]
#[command(name = "cargo xtask demo")]
struct Arguments {
    /// Linux of the node: 6.1, 6.12 or 7
    #[arg(long, env = "TACET_DEMO_KERNEL", default_value = "7")]
    kernel: KernelLine,
    /// Quanta of the noise profiles
    #[arg(long, default_value_t = 10_000)]
    quanta: u64,
    /// Show MPI and noise on two nodes with Slurm instead
    #[arg(long)]
    cluster: bool,
    /// Only the step on static nodes, for `make test`
    #[arg(long, hide = true)]
    static_only: bool,
}

/// All results of one place.
struct Results {
    noise: Result<Noise>,
    runs: Vec<Result<Run>>,
}

const STEPS: usize = 9 + 2 * (1 + Program::ALL.len());

fn main() -> ExitCode {
    let started = Instant::now();
    match demo(&Arguments::parse()) {
        Ok(good) => {
            println!("\nThis took {:.0} s.", started.elapsed().as_secs_f32());
            if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demo(arguments: &Arguments) -> Result<bool> {
    if arguments.static_only {
        let both = Progress::new(1).step(&static_nodes::title(), static_nodes::run);
        return Ok(static_nodes::row(&both).is_as_expected());
    }
    if arguments.cluster {
        return cluster::demo(arguments.kernel, arguments.quanta);
    }
    let cache = Cache::open()?;
    let settings = Settings::full(arguments.kernel);
    let mut progress = Progress::new(STEPS);
    let site = Site::open(&cache, &settings, &mut progress)?;

    let linux = everything(&site, Place::Linux, arguments.quanta, &mut progress);
    let before = progress.step("look at the node", || Snapshot::take(&site))?;
    progress.step("CPUs 2-3 leave Linux for the co-kernel: tacet up --cpus 2-3 --memory 256M", || site.up())?;
    let tacet = everything(&site, Place::Tacet, arguments.quanta, &mut progress);
    progress.step("give everything back: tacet down", || site.down())?;
    let after = progress.step("look at the node again", || Snapshot::take(&site))?;

    let static_nodes = progress.step(&static_nodes::title(), static_nodes::run);

    let mut rows = vec![Row::noise(&linux.noise, &tacet.noise)];
    let runs = linux.runs.iter().zip(&tacet.runs);
    rows.extend(
        Program::ALL.into_iter().zip(runs).map(|(program, (linux, tacet))| Row::program(program, linux, tacet)),
    );
    rows.push(Row::node(&before, &after));
    rows.push(static_nodes::row(&static_nodes));
    let release = site.close()?;
    let method = format!(
        "Counted in an emulator (QEMU, 4 virtual CPUs, Linux {release}): instructions executed outside user mode; not times."
    );
    let title = "Noise on CPU 3 while CPUs 0-1 carry a load: Linux, then Tacet";
    let heading = Heading { file: "noise.png", title, method: &method };
    let drawn = progress.step("draw the picture", || picture::write(&heading, &linux.noise, &tacet.noise));

    print!("\n{}", row::report(&rows, &release));
    match &drawn {
        Ok(path) => println!("The picture of both noise profiles: {}", path.display()),
        Err(error) => println!("There is no picture: {error}"),
    }
    Ok(drawn.is_ok() && rows.iter().all(Row::is_as_expected))
}

/// Takes the noise profile and runs every program, at one place. A failure is a result too; the others still run.
fn everything(site: &Site, place: Place, quanta: u64, progress: &mut Progress) -> Results {
    let name = format!("{place}: noise, {quanta} quanta on CPU 3, a load on CPUs 0-1");
    let noise = progress.step(&name, || site.noise(place, quanta));
    let runs = Program::ALL.map(|program| {
        let command = program.command(place);
        progress.step(&format!("{place}: {command}"), || site.run(place, &command))
    });
    Results { noise, runs: runs.into() }
}
