// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `make demo-cluster`: two nodes with Slurm, on which `srun` starts the same MPI program and the same quanta on Linux and on
//! Tacet.
//!
//! Owns the nodes and the order of the steps. Must never print a result that was not measured in this run.

use std::fs;
use std::time::Duration;

use tacet_bench::{Programs, counted_node};
use tacet_node::cluster::{Cluster, ClusterSpec};
use tacet_node::{Cache, Command, Kernel, KernelLine, provision};

use crate::Result;
use crate::noise::{CPU, ITERATIONS, Noise, of_program};
use crate::picture::{self, Heading};
use crate::place::Place;
use crate::programs::Program;
use crate::progress::Progress;
use crate::row::{self, Row};

const NODES: [&str; 2] = ["n1", "n2"];
const STEPS: usize = 11;
const LIMIT: Duration = Duration::from_secs(180);
/// One rank on each node, with all CPUs that Linux has there.
const SRUN: &str = "srun -N2 -n2 -c4 --cpu-bind=none --label";

/// A running cluster, and the paths of what runs there.
struct Site {
    cluster: Cluster,
    programs: Programs,
}

/// The output of the MPI program on one side: the result, and the ranks' CPUs.
type Said = (String, String);

/// True: all was as expected.
pub fn demo(kernel: KernelLine, quanta: u64) -> Result<bool> {
    let cache = Cache::open()?;
    let mut progress = Progress::new(STEPS);
    let site = Site::open(&cache, kernel, &mut progress)?;
    let mut both = Vec::new();
    for place in [Place::Linux, Place::Tacet] {
        if place == Place::Tacet {
            let up = "srun -N2 -n2 tacet up --cpus 2-3 --memory 256M";
            progress.step(&format!("both nodes give CPUs 2-3 away: {up}"), || site.on_first(up))?;
        }
        let command = quanta_command(&site.programs, place, quanta);
        let noise = progress
            .step(&format!("{place}: {quanta} quanta on CPU {CPU} of each node"), || site.noise(&command, quanta));
        let pi = format!("{SRUN} --mpi=pmi2 {}/home/pi", prefix(place));
        let said = progress.step(&format!("{place}: {pi}"), || site.pi(&pi));
        both.push((noise, said));
    }
    progress.step("both nodes take their CPUs back: tacet down", || site.on_first("srun -N2 -n2 tacet down"))?;
    let release = Kernel::installed(&cache, kernel)?.release;
    drop(site);

    let [(linux, pi_linux), (tacet, pi_tacet)] = &both[..] else { return Err("a side is missing".into()) };
    let method = format!(
        "Counted in an emulator (QEMU, two nodes of 4 virtual CPUs, Linux {release}): instructions outside user mode; not times."
    );
    let title = "Noise on CPU 3 of node n1, then of n2, under Slurm: Linux, then Tacet";
    let heading = Heading { file: "cluster-noise.png", title, method: &method };
    let drawn = progress.step("draw the picture", || picture::write(&heading, linux, tacet));
    let rows = [Row::noise(linux, tacet), mpi(pi_linux, pi_tacet)];
    print!("\n{}", row::report(&rows, &release));
    match &drawn {
        Ok(path) => println!("The picture of both noise profiles: {}", path.display()),
        Err(error) => println!("There is no picture: {error}"),
    }
    Ok(drawn.is_ok() && rows.iter().all(Row::is_as_expected))
}

fn prefix(place: Place) -> &'static str {
    match place {
        Place::Linux => "",
        Place::Tacet => "tacet run -- ",
    }
}

fn quanta_command(programs: &Programs, place: Place, quanta: u64) -> String {
    let program = programs.program("tacet-quanta");
    match place {
        Place::Linux => format!("{SRUN} {program} {quanta} {ITERATIONS} {CPU}"),
        Place::Tacet => format!("{SRUN} tacet run --populate --cpus {CPU} -- {program} {quanta} {ITERATIONS}"),
    }
}

/// Expects the same right result, and on Tacet ranks on CPUs that Linux does not have.
fn mpi(linux: &Result<Said>, tacet: &Result<Said>) -> Row {
    let show = |said: &Result<Said>| match said {
        Ok((result, cpus)) => format!("{result}\nCPUs of the ranks: {cpus}"),
        Err(error) => error.to_string(),
    };
    let good = match (linux, tacet) {
        (Ok(linux), Ok(tacet)) => {
            let hosted = tacet.1.split_whitespace().all(|cpu| ["2", "3"].contains(&cpu)) && !tacet.1.is_empty();
            linux.0 == tacet.0 && linux.0.starts_with("2 ranks") && linux.0.ends_with("right") && hosted
        }
        _ => false,
    };
    Row::same("MPI, a rank on each of two nodes", &show(linux), &show(tacet), good)
}

impl Site {
    /// Boots the nodes and compiles the MPI program in one of them.
    fn open(cache: &Cache, kernel: KernelLine, progress: &mut Progress) -> Result<Site> {
        provision::ensure(cache)?;
        let programs = progress.step("build what measures", || Programs::build(cache))?;
        let mut spec = ClusterSpec::new(kernel, 2);
        progress.step("Slurm for the nodes", || provision::ensure_cluster(cache, spec.slurm))?;
        spec.node = counted_node(kernel, 4, &programs);
        spec.first = Some(format!("ln -sf {}/bin/tacet* /usr/local/bin/", programs.build_directory().display()));
        let name = "boot two nodes with Slurm: 4 CPUs each, emulated";
        let cluster = progress.step(name, || Cluster::up(cache, &spec))?;
        for (name, text) in Program::SOURCES.iter().filter(|(name, _)| *name == "pi.c") {
            fs::write(cluster.home().join(name), text)?;
        }
        let site = Site { cluster, programs };
        progress.step("compile on n1: mpicc pi.c", || site.on_first("mpicc -O2 -o /home/pi /home/pi.c -lm"))?;
        Ok(site)
    }

    /// Runs a script on the first node, which must succeed; returns both its outputs.
    fn on_first(&self, script: &str) -> Result<(String, String)> {
        let output = self.cluster.node(NODES[0])?.run(&Command::shell(script).timeout(LIMIT))?;
        if output.status.success() {
            return Ok((output.text(), output.error_text()));
        }
        let said = output.error_text();
        Err(format!("on n1: `{script}`: {}", said.lines().last().unwrap_or("no message")).into())
    }

    /// Runs the quanta on all nodes at once, and reads what each node's emulator counted.
    fn noise(&self, command: &str, quanta: u64) -> Result<Noise> {
        let (said, _) = self.on_first(command)?;
        let profile = |(rank, name): (usize, &&str)| -> Result<Noise> {
            let own: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix(&format!("{rank}: "))).collect();
            let log = fs::read_to_string(self.cluster.node(name)?.plugin_log())?;
            of_program(&own.join("\n"), &log, quanta).map_err(|error| format!("{name}: {error}").into())
        };
        let nodes = NODES.iter().enumerate().map(profile).collect::<Result<Vec<Noise>>>()?;
        Noise::of_nodes(nodes).ok_or_else(|| "the nodes did not do the same work".into())
    }

    fn pi(&self, command: &str) -> Result<Said> {
        let (said, remarks) = self.on_first(command)?;
        let of = |text: &str, before: &str| {
            let line = text.lines().filter_map(|line| line.strip_prefix("0: ")).find(|line| line.starts_with(before));
            line.map(|line| line.strip_prefix("cpus ").unwrap_or(line).to_owned())
        };
        of(&said, "2 ranks").zip(of(&remarks, "cpus")).ok_or_else(|| format!("it said {said}{remarks}").into())
    }
}
