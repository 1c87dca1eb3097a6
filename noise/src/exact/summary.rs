// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The result of an exact measurement: how much the kernel and other programs stole, and which part of them did it.
//!
//! Pure. Called by `commands/exact.rs` and by all code that shows exact records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::MEANING;
use super::log::{Other, Quanta};
use super::record::{Quantum, Record};
use super::symbols::Symbols;

/// Shares of quanta for the tail.
const SHARES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

/// The code that stole instructions between the first quantum and the last, the largest part first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Culprits {
    pub entries: Vec<Entry>,
    pub functions: Vec<Function>,
    pub programs: Vec<Program>,
}

/// An entry point of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    pub times: u64,
    /// Instructions of the kernel from this entry until it returned to user mode.
    pub instructions: u64,
}

/// A function of the kernel or, with its name in brackets, of a module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    pub name: String,
    /// How often its first instruction was executed.
    pub calls: u64,
    /// Its own instructions, without those of functions that it calls.
    pub instructions: u64,
}

/// Another program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// None if the emulator cannot tell.
    pub name: Option<String>,
    pub pid: u32,
    /// How often the kernel switched the CPU to it.
    pub turns: u64,
    /// Instructions in user mode.
    pub instructions: u64,
}

/// An exact record in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub label: String,
    pub kernel_release: String,
    pub kernel_arguments: String,
    pub cpus: u32,
    pub measured_cpu: u32,
    pub load: Option<String>,
    pub seed: Option<u64>,
    pub quanta: usize,
    /// Instructions of the program in each quantum.
    pub program_instructions: u64,
    /// Kernel and other programs together.
    pub stolen: Stolen,
    pub kernel: Stolen,
    pub other_user: Stolen,
    /// Entries into the kernel from user mode.
    pub entries: u64,
    /// None if the emulator does not report them.
    pub interrupts: Option<u64>,
    pub exceptions: Option<u64>,
    pub culprits: Culprits,
    pub meaning: &'static str,
}

/// Instructions on the program's CPU that were not the program's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stolen {
    pub instructions: u64,
    pub quanta_hit: usize,
    /// The most in one quantum.
    pub max: u64,
    pub mean: f64,
    /// Pairs of a share of the quanta and the number that none of them exceeds.
    pub tail: Vec<(f64, u64)>,
}

impl Record {
    pub fn summary(&self) -> Summary {
        let about = &self.about;
        let sum = |of: fn(&Quantum) -> u64| self.quanta.iter().map(of).fold(0, u64::saturating_add);
        let seen = |of| about.sees_interrupts.then(|| sum(of));
        Summary {
            label: about.label.clone(),
            kernel_release: about.kernel_release.clone(),
            kernel_arguments: about.kernel_arguments.clone(),
            cpus: about.cpus,
            measured_cpu: about.measured_cpu,
            load: about.load.clone(),
            seed: about.seed,
            quanta: self.quanta.len(),
            program_instructions: self.quanta.iter().map(|quantum| quantum.program).min().unwrap_or(0),
            stolen: Stolen::of(self.quanta.iter().map(Quantum::stolen)),
            kernel: Stolen::of(self.quanta.iter().map(|quantum| quantum.kernel)),
            other_user: Stolen::of(self.quanta.iter().map(|quantum| quantum.other)),
            entries: sum(|quantum| quantum.entries),
            interrupts: seen(|quantum| quantum.interrupts),
            exceptions: seen(|quantum| quantum.exceptions),
            culprits: about.culprits.clone(),
            meaning: MEANING,
        }
    }
}

impl Stolen {
    fn of(quanta: impl Iterator<Item = u64>) -> Stolen {
        let mut sorted: Vec<u64> = quanta.collect();
        sorted.sort_unstable();
        let instructions = sorted.iter().copied().fold(0, u64::saturating_add);
        let at = |share: f64| sorted.get(((share * sorted.len() as f64).ceil() as usize).saturating_sub(1)).copied();
        Stolen {
            instructions,
            quanta_hit: sorted.iter().filter(|stolen| **stolen > 0).count(),
            max: sorted.last().copied().unwrap_or(0),
            mean: instructions as f64 / sorted.len().max(1) as f64,
            tail: SHARES.iter().filter_map(|share| Some((*share, at(*share)?))).collect(),
        }
    }
}

impl Culprits {
    /// Names the code that the plugin saw.
    pub fn of(seen: &Quanta, symbols: &Symbols) -> Culprits {
        let mut functions: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for site in &seen.sites {
            let (start, name) = symbols.symbol(site.address).map_or_else(
                || (site.address, format!("{:#x}", site.address)),
                |(start, name)| (start, name.to_owned()),
            );
            let (calls, instructions) = functions.entry(name).or_default();
            *calls += if start == site.address { site.times } else { 0 };
            *instructions += site.times.saturating_mul(site.instructions);
        }
        let function = |(name, (calls, instructions)): (String, (u64, u64))| Function { name, calls, instructions };
        // code at one address may have been translated more than once
        let mut entries: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for entry in &seen.entries {
            let name = symbols.symbol(entry.address).map(|(_, name)| name.to_owned());
            let (times, instructions) =
                entries.entry(name.unwrap_or_else(|| format!("{:#x}", entry.address))).or_default();
            (*times, *instructions) = (*times + entry.times, *instructions + entry.instructions);
        }
        let entry = |(name, (times, instructions)): (String, (u64, u64))| Entry { name, times, instructions };
        let program = |other: &Other| {
            let Other { name, pid, turns, instructions } = other.clone();
            Program { name, pid, turns, instructions }
        };
        let mut culprits = Culprits {
            entries: entries.into_iter().map(entry).collect(),
            functions: functions.into_iter().map(function).collect(),
            programs: seen.others.iter().map(program).collect(),
        };
        culprits.entries.sort_by_key(|entry| std::cmp::Reverse(entry.instructions));
        culprits.functions.sort_by_key(|function| std::cmp::Reverse(function.instructions));
        culprits.programs.sort_by_key(|program| std::cmp::Reverse(program.instructions));
        culprits
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::examples::record;

    #[test]
    fn hand_computed() {
        let summary = record().summary();
        assert_eq!((summary.quanta, summary.program_instructions), (4, 1000));
        let stolen = [&summary.stolen, &summary.kernel, &summary.other_user];
        assert_eq!(
            stolen.map(|stolen| (stolen.instructions, stolen.max, stolen.quanta_hit)),
            [(150, 120, 2), (100, 70, 2), (50, 50, 1)]
        );
        assert_eq!((summary.stolen.mean, summary.stolen.tail[0], summary.stolen.tail[1]), (37.5, (0.5, 0), (0.9, 120)));
        assert_eq!((summary.entries, summary.interrupts), (3, Some(3)));
        let functions: Vec<_> =
            summary.culprits.functions.iter().map(|f| (f.name.as_str(), f.calls, f.instructions)).collect();
        let timer = "asm_sysvec_apic_timer_interrupt";
        assert_eq!(functions, [("tick [m]", 2, 70), (timer, 3, 30)]);
        assert_eq!((summary.culprits.entries[0].name.as_str(), summary.culprits.entries[0].instructions), (timer, 100));
        assert_eq!(summary.culprits.programs[0].name.as_deref(), Some("daemon"));
    }
}
