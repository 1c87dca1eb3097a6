// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The noise on CPU 3: fixed work quanta there, a load on CPUs 0-1, and what the emulator's plugin counted.
//!
//! Called through `site.rs` and by `cluster.rs`. Must never return a profile of another run: it checks the program's output, the number of
//! quanta, the CPU and the load.

use crate::Result;
use crate::place::Place;
use tacet_bench::Log;

/// Rounds of the quantum's loop of two instructions.
pub const ITERATIONS: u64 = 20_000;
/// The CPU that executes the quanta.
pub const CPU: u64 = 3;
/// The plugin counts an interrupted block of code twice; a difference beyond this is other work.
const RESTARTED: u64 = 64;

/// The noise that the program met at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noise {
    /// For each quantum: instructions executed on its CPU that did not belong to the program.
    pub stolen: Vec<u64>,
    /// The program's own instructions in each quantum.
    pub user: u64,
}

impl Noise {
    pub fn hit(&self) -> usize {
        self.stolen.iter().filter(|stolen| **stolen > 0).count()
    }

    pub fn max(&self) -> u64 {
        self.stolen.iter().copied().max().unwrap_or(0)
    }

    pub fn total(&self) -> u64 {
        self.stolen.iter().sum()
    }

    pub fn mean(&self) -> f64 {
        self.total() as f64 / self.stolen.len().max(1) as f64
    }

    /// The quanta of several nodes, one node after the other. None without nodes, or if their quanta differ.
    pub fn of_nodes(nodes: Vec<Noise>) -> Option<Noise> {
        let first = nodes.first()?;
        let same = nodes.iter().all(|node| node.is_comparable(first));
        let user = first.user;
        same.then(|| Noise { stolen: nodes.into_iter().flat_map(|node| node.stolen).collect(), user })
    }

    /// Did both do the same work?
    pub fn is_comparable(&self, other: &Noise) -> bool {
        self.stolen.len() == other.stolen.len() && self.user.abs_diff(other.user) <= RESTARTED
    }
}

/// A script that runs the quanta at a place while the load works. The load needs an unused module.
pub fn script(place: Place, quanta: u64, programs: &str) -> String {
    let prefix = match place {
        Place::Linux => format!("taskset -c {CPU}"),
        Place::Tacet => format!("tacet run --populate --cpus {CPU} --"),
    };
    format!(
        r#"set -e; rm -rf /tmp/load; mkdir /tmp/load
        module=$(modinfo -n cordic)
        case $module in *.xz) xz -dc "$module" >/tmp/load/cordic.ko;; *) cp "$module" /tmp/load/cordic.ko;; esac
        {programs}/load 0-1 600 /tmp/load cordic >/tmp/load/said & load=$!
        until grep -q started /tmp/load/said; do sleep 0.1; done; sleep 2
        {prefix} {programs}/tacet-quanta {quanta} {ITERATIONS} || failed=1
        touch /tmp/load/stop; wait $load; cat /tmp/load/said; exit ${{failed:-0}}"#
    )
}

/// The profile, from the script's output and the last complete record in the plugin's log.
pub fn read(said: &str, log: &str, quanta: u64) -> Result<Noise> {
    let rounds = said.lines().filter_map(|line| line.strip_prefix("load ")?.split_once(' ')?.1.parse::<u64>().ok());
    if rounds.sum::<u64>() == 0 {
        return Err("the load did nothing".into());
    }
    of_program(said, log, quanta)
}

/// The profile of a program beside which no load was started: from its output and the last complete record of its node.
pub fn of_program(said: &str, log: &str, quanta: u64) -> Result<Noise> {
    if !said.contains(&format!("quanta {quanta} cpu {CPU}")) {
        return Err(format!("the quanta did not end on CPU {CPU}").into());
    }
    let noise = last_record(log).ok_or("the plugin counted nothing")?;
    if noise.stolen.len() as u64 != quanta || noise.user < 2 * ITERATIONS {
        return Err(format!("the plugin saw {} quanta of {} instructions", noise.stolen.len(), noise.user).into());
    }
    Ok(noise)
}

fn last_record(log: &str) -> Option<Noise> {
    let record = Log::parse(log).quanta.into_iter().rfind(|record| u64::from(record.cpu) == CPU)?;
    let mut stolen = vec![0; usize::try_from(record.quanta).ok()?];
    for hit in &record.hits {
        *stolen.get_mut(usize::try_from(hit.index).ok()?)? = hit.kernel + hit.other;
    }
    Some(Noise { stolen, user: record.user })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "fwq 3 0 quanta 2 user 40014\nhit 0 user 40014 kernel 9 entries 1\nend 3\n\
        fwq 3 0 quanta 4 user 40014\nhit 1 user 40014 kernel 23 entries 1\nhit 3 user 40019 kernel 7 entries 1\n\
        at ffffffffc0001980 times 1 instructions 9\nend 3\nfwq 3 0 quanta 4 user 1\n";
    const SAID: &str = "quanta 4 cpu 3\nload timers 0\nload membarrier 5\n";

    #[test]
    fn the_last_complete_record_counts() {
        let noise = read(SAID, LOG, 4).expect("a record");
        assert_eq!(noise, Noise { stolen: vec![0, 23, 0, 7], user: 40014 });
        assert_eq!((noise.hit(), noise.max(), noise.total()), (2, 23, 30));
    }

    #[test]
    fn nodes_are_one_after_the_other_if_they_did_the_same_work() {
        let node = |stolen: &[u64], user| Noise { stolen: stolen.to_vec(), user };
        let all = Noise::of_nodes(vec![node(&[0, 5], 40_014), node(&[7, 0], 40_014)]).expect("both");
        assert_eq!((all.stolen, all.user), (vec![0, 5, 7, 0], 40_014));
        assert_eq!(Noise::of_nodes(vec![node(&[0, 5], 40_014), node(&[7], 40_014)]), None);
        assert_eq!(Noise::of_nodes(vec![node(&[0], 40_014), node(&[7], 60_014)]), None);
        assert_eq!(Noise::of_nodes(Vec::new()), None);
    }

    #[test]
    fn what_was_not_measured_is_refused() {
        assert!(read(SAID, "", 4).is_err());
        assert!(read(SAID, LOG, 5).is_err());
        assert!(of_program(SAID, LOG, 4).is_ok() && of_program("quanta 4 cpu 2\n", LOG, 4).is_err());
        assert!(read("quanta 4 cpu 1\nload timers 2\n", LOG, 4).is_err());
        assert!(read("quanta 4 cpu 3\nload timers 0\n", LOG, 4).is_err());
    }
}
