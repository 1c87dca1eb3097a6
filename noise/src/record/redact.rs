// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Takes out of a record what its owner may not want to publish: names of hosts, and the kernel arguments that do not
//! affect noise.
//!
//! Called for `--redact`, before anything is written. It changes descriptions, never samples. Names of programs and
//! units that a trace found stay: they are its result.

use std::collections::BTreeMap;

use super::{About, Record};

/// Stands for what was taken out.
const REDACTED: &str = "redacted";

/// Kernel arguments that affect noise: a name, or the part of it before an underscore.
const RELEVANT: [&str; 32] = [
    "audit",
    "clocksource",
    "cpufreq",
    "cpuidle",
    "hugepages",
    "idle",
    "intel_idle",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "maxcpus",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "noirqbalance",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "numa_balancing",
    "preempt",
    "processor",
    "psi",
    "rcu",
    "rcutree",
    "skew_tick",
    "softlockup",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "workqueue",
];

/// The kernel arguments that affect noise.
pub fn relevant(arguments: &str) -> String {
    let is_relevant = |word: &&str| {
        let name = word.split(['=', '.']).next().unwrap_or(word);
        RELEVANT.iter().any(|one| name == *one || name.strip_prefix(one).is_some_and(|rest| rest.starts_with('_')))
    };
    // Words after `--` are not for the kernel.
    arguments.split_whitespace().take_while(|word| *word != "--").filter(is_relevant).collect::<Vec<_>>().join(" ")
}

impl Record {
    /// Replaces the host by `redacted`, the hosts of many nodes by `host1`, `host2` and so on, wherever their names
    /// occur. Of the kernel's arguments those stay that affect noise.
    pub fn redact(&mut self) {
        let mut names = BTreeMap::from([(self.about.host.clone(), REDACTED.to_owned())]);
        if let Some(across) = &self.about.across {
            let hosts = across.places.iter().chain([&across.worst]).map(|place| place.host.clone());
            for host in hosts {
                let next = format!("host{}", names.len());
                names.entry(host).or_insert(next);
            }
        }
        // Longer names first: one may be a part of another.
        let mut names: Vec<(String, String)> = names.into_iter().filter(|(name, _)| !name.is_empty()).collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let hide = |text: &mut String| names.iter().for_each(|(name, by)| *text = text.replace(name, by));
        let About { label, host, kernel_arguments, arguments, across, thieves, .. } = &mut self.about;
        [label, host].into_iter().chain(arguments).for_each(hide);
        *kernel_arguments = match relevant(kernel_arguments) {
            kept if kept == *kernel_arguments => kept,
            kept if kept.is_empty() => REDACTED.to_owned(),
            kept => format!("{kept} {REDACTED}"),
        };
        if let Some(across) = across {
            across.runs.iter_mut().for_each(|run| hide(&mut run.label));
            across.places.iter_mut().chain([&mut across.worst]).for_each(|place| hide(&mut place.host));
        }
        for source in thieves.iter_mut().flat_map(|thieves| &mut thieves.sources) {
            [&mut source.name, &mut source.remedy].into_iter().chain(&mut source.origin).for_each(hide);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::{fixed_work, thieves};

    #[test]
    fn arguments_that_affect_noise() {
        let line = "root=/dev/sda quiet nohz_full=1-3 isolcpus=domain,1-3 rcu_nocbs=1-3 processor.max_cstate=1 -- tsc";
        assert_eq!(relevant(line), "nohz_full=1-3 isolcpus=domain,1-3 rcu_nocbs=1-3 processor.max_cstate=1");
    }

    /// Neither the host's name nor a private argument is anywhere in the description.
    #[test]
    fn nothing_private_is_left() {
        let mut record = fixed_work(&[100, 120]);
        record.about.host = "secret7".into();
        record.about.label = "secret7 tuned".into();
        record.about.arguments = ["measure", "-o", "/data/secret7.parquet"].map(String::from).to_vec();
        record.about.kernel_arguments = "root=UUID=1234 nohz_full=3 luks.key=abc".into();
        let mut found = thieves();
        found.sources[0].origin = Some("agent@secret7.service".into());
        record.about.thieves = Some(found);
        let before = record.samples.clone();
        record.redact();
        let text = serde_json::to_string(&record.about).expect("JSON");
        for word in ["secret7", "1234", "abc"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        assert_eq!((record.about.label.as_str(), record.about.host.as_str()), ("redacted tuned", "redacted"));
        assert_eq!(record.about.kernel_arguments, "nohz_full=3 redacted");
        assert_eq!(record.samples, before);
        record.about.kernel_arguments = "nohz=off".into();
        record.redact();
        assert_eq!(record.about.kernel_arguments, "nohz=off", "nothing was taken out");
    }
}
