// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a remedy is in force already, as the machine's own files say. `remedies` asks, for the CPUs of one source.
//!
//! A file that is absent or unreadable says no: then the remedy is offered. Reads only.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::measure::machine::parse_cpus;

/// How a machine shows that a remedy is in force. In a path, `CPU` stands for the number of each CPU of the source.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// No file shows it.
    Unseen,
    /// Remedies that only a source with this beginning of its origin has; for all others it is not one.
    Of(&'static str, &'static Check),
    /// Remedies for kernels from this version, or for those before it.
    From((u32, u32), &'static Check),
    Before((u32, u32), &'static Check),
    /// A list of CPUs on the boot line, `name=3` or `name=flag,3`, with this flag if there is one.
    Booted(&'static str, Option<&'static str>),
    /// A word of the boot line.
    Word(&'static str),
    /// The first word of a file.
    Holds(&'static str, &'static str),
    /// A number in a file, this or more.
    Least(&'static str, u64),
    /// A list of CPUs in a file, without these.
    ListWithout(&'static str),
    /// A mask of CPUs in a file, without these.
    MaskWithout(&'static str),
    /// All files of this name below the devices' queues have a mask without these.
    QueuesWithout,
    /// The interrupt in the source's name, `name (irq 24)`, goes elsewhere; or all of them do, if it has no number.
    InterruptsElsewhere,
    /// All threads whose name begins so may run elsewhere only; an empty beginning stands for the source's own name.
    ThreadsElsewhere(&'static str),
    /// Linux balances no load there.
    Isolated,
}

/// The subject of a check.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub name: &'a str,
    pub origin: &'a str,
    pub cpus: &'a [u32],
}

/// The machine whose files are below this directory.
#[derive(Debug)]
pub struct Machine(PathBuf);

impl Machine {
    pub fn this() -> Machine {
        Machine("/".into())
    }

    #[cfg(test)]
    pub fn at(root: &std::path::Path) -> Machine {
        Machine(root.into())
    }

    /// Whether this remedy has nothing to add here: it is in force, or it is not one for this source and this kernel.
    pub fn has(&self, check: &Check, about: About<'_>) -> bool {
        match *check {
            Check::Unseen => false,
            Check::Of(origin, check) => !about.origin.starts_with(origin) || self.has(check, about),
            Check::From(version, check) => self.kernel() < version || self.has(check, about),
            Check::Before(version, check) => self.kernel() >= version || self.has(check, about),
            Check::Booted(name, flag) => self.booted(name, flag, about.cpus),
            Check::Word(word) => self.boot_line().split_whitespace().any(|one| one == word),
            Check::Holds(path, wanted) => {
                self.each(path, about.cpus, |text| text.split_whitespace().next() == Some(wanted))
            }
            Check::Least(path, least) => {
                self.each(path, about.cpus, |text| text.trim().parse().is_ok_and(|number: u64| number >= least))
            }
            Check::ListWithout(path) => {
                self.each(path, about.cpus, |text| without(parse_cpus(text.trim()).ok(), about.cpus))
            }
            Check::MaskWithout(path) => self.each(path, about.cpus, |text| without(mask(text), about.cpus)),
            Check::QueuesWithout => {
                let masks = self.queues();
                !masks.is_empty() && masks.iter().all(|text| without(mask(text), about.cpus))
            }
            Check::InterruptsElsewhere => self.interrupts_elsewhere(about),
            Check::ThreadsElsewhere(begin) => {
                let begin = if begin.is_empty() { about.name } else { begin };
                let lists = self.affinities(begin);
                !lists.is_empty() && lists.iter().all(|list| without(parse_cpus(list).ok(), about.cpus))
            }
            Check::Isolated => ["sys/devices/system/cpu/isolated", "sys/fs/cgroup/cpuset.cpus.isolated"]
                .iter()
                .any(|file| covers(self.read(file).and_then(|text| parse_cpus(text.trim()).ok()), about.cpus)),
        }
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.0.join(path.trim_start_matches('/'))).ok()
    }

    fn list(&self, path: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.0.join(path)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    fn each(&self, path: &str, cpus: &[u32], holds: impl Fn(&str) -> bool) -> bool {
        let paths: BTreeSet<String> = cpus.iter().map(|cpu| path.replace("CPU", &cpu.to_string())).collect();
        !paths.is_empty() && paths.iter().all(|path| self.read(path).is_some_and(|text| holds(&text)))
    }

    fn boot_line(&self) -> String {
        self.read("proc/cmdline").unwrap_or_default()
    }

    /// `(6, 12)` of `6.12.57+deb13-amd64`; the oldest possible if nothing says it.
    fn kernel(&self) -> (u32, u32) {
        let release = self.read("proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    /// The last one on the boot line counts, as for Linux.
    fn booted(&self, name: &str, flag: Option<&str>, cpus: &[u32]) -> bool {
        let line = self.boot_line();
        let mut values = line.split_whitespace().rev().filter_map(|word| word.split_once('='));
        let Some((_, value)) = values.find(|(key, _)| *key == name) else { return false };
        let is_number = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
        let (list, flags): (Vec<&str>, Vec<&str>) = value.split(',').partition(is_number);
        let flagged = flag.is_none_or(|flag| flags.contains(&flag));
        flagged && (flags.contains(&"all") || covers(parse_cpus(&list.join(",")).ok(), cpus))
    }

    fn queues(&self) -> Vec<String> {
        let queues = self.list("sys/class/net").into_iter().flat_map(|device| fs::read_dir(device.join("queues")));
        let files = queues.flatten().flatten().map(|queue| queue.path().join("rps_cpus"));
        files.filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    fn interrupts_elsewhere(&self, about: About<'_>) -> bool {
        let number = about.name.rsplit_once("(irq ").and_then(|(_, rest)| rest.strip_suffix(')'));
        let numbers: Vec<String> = match number {
            Some(number) => vec![number.into()],
            None => {
                let names = self.list("proc/irq").into_iter();
                let names = names.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
                names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
            }
        };
        let elsewhere = |number: &String| {
            let list = self.read(&format!("proc/irq/{number}/smp_affinity_list"));
            list.is_some_and(|list| without(parse_cpus(list.trim()).ok(), about.cpus))
        };
        !numbers.is_empty() && numbers.iter().all(elsewhere)
    }

    fn affinities(&self, begin: &str) -> Vec<String> {
        let of = |process: PathBuf| {
            let name = fs::read_to_string(process.join("comm")).ok()?;
            if !name.starts_with(begin) {
                return None;
            }
            let status = fs::read_to_string(process.join("status")).ok()?;
            status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(|list| list.trim().to_owned())
        };
        self.list("proc").into_iter().filter_map(of).collect()
    }
}

fn covers(list: Option<Vec<u32>>, cpus: &[u32]) -> bool {
    list.is_some_and(|list| !cpus.is_empty() && cpus.iter().all(|cpu| list.contains(cpu)))
}

fn without(list: Option<Vec<u32>>, cpus: &[u32]) -> bool {
    list.is_some_and(|list| cpus.iter().all(|cpu| !list.contains(cpu)))
}

/// `ff,00000003`: words of 32 CPUs, the highest first.
fn mask(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for (index, word) in text.trim().rsplit(',').enumerate() {
        let bits = u32::from_str_radix(word, 16).ok()?;
        let first = u32::try_from(index).ok()?.checked_mul(32)?;
        cpus.extend((0..32).filter(|bit| bits & (1 << bit) != 0).map(|bit| first + bit));
    }
    Some(cpus)
}

/// A machine of these files.
#[cfg(test)]
pub(super) fn made(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each check says no on a machine without the file, yes where the remedy is in force for all CPUs of the source, and
    /// no where it is for some.
    #[test]
    fn each_check_reads_its_file() {
        let irq = "virtio0-req.3 (irq 24)";
        let cases: &[(Check, &str, &str, &str, &str)] = &[
            (Check::Booted("nohz_full", None), "", "proc/cmdline", "a nohz_full=2-3 b\n", "nohz_full=3\n"),
            (Check::Booted("rcu_nocbs", None), "", "proc/cmdline", "rcu_nocbs=all\n", "rcu_nocbs=1\n"),
            (
                Check::Booted("isolcpus", Some("managed_irq")),
                "",
                "proc/cmdline",
                "isolcpus=2 isolcpus=managed_irq,domain,2,3",
                "isolcpus=2,3",
            ),
            (Check::Word("tsc=reliable"), "", "proc/cmdline", "quiet tsc=reliable", "tsc=reliably"),
            (Check::Holds("/sys/q/cpuCPU/runtime", "0"), "", "sys/q/cpu3/runtime", "0\n", "950000\n"),
            (Check::Least("/proc/sys/vm/stat_interval", 60), "", "proc/sys/vm/stat_interval", "3600\n", "1\n"),
            (Check::ListWithout("/proc/w"), "", "proc/w", "0-1\n", "0-2\n"),
            (Check::MaskWithout("/sys/w"), "", "sys/w", "1,00000003\n", "00000007\n"),
            (Check::QueuesWithout, "", "sys/class/net/eth0/queues/rx-0/rps_cpus", "00000000,00000003\n", "f\n"),
            (Check::InterruptsElsewhere, irq, "proc/irq/24/smp_affinity_list", "0-1\n", "1-2\n"),
            (Check::InterruptsElsewhere, "TIMER", "proc/irq/24/smp_affinity_list", "0-1\n", "1-2\n"),
            (Check::Isolated, "", "sys/devices/system/cpu/isolated", "2-3\n", "2\n"),
            (Check::Isolated, "", "sys/fs/cgroup/cpuset.cpus.isolated", "2-3\n", "\n"),
        ];
        for (check, name, file, yes, no) in cases {
            let about = About { name, origin: "", cpus: &[2, 3] };
            let says = |text: Option<&str>| {
                let mut files: Vec<(&str, &str)> = text.map(|text| (*file, text)).into_iter().collect();
                files.push(("sys/q/cpu2/runtime", "0\n"));
                Machine::at(made(&files).path()).has(check, about)
            };
            let root = made(&[(file, yes), ("sys/q/cpu2/runtime", "0\n")]);
            assert!(Machine::at(root.path()).has(check, about), "{check:?} {file}: {yes}");
            let root = made(&[(file, no), ("sys/q/cpu2/runtime", "0\n")]);
            assert!(!Machine::at(root.path()).has(check, about), "{check:?} {file}: {no}");
            assert!(!says(None), "{check:?}: no file");
        }
    }

    #[test]
    fn threads_count_together() {
        let status = |list: &str| format!("Name:\tx\nCpus_allowed_list:\t{list}\n");
        let (away, near) = (status("0-1"), status("0-3"));
        let both = |second: &str| {
            made(&[
                ("proc/7/comm", "rcuop/2\n"),
                ("proc/7/status", &away),
                ("proc/8/comm", "rcuop/3\n"),
                ("proc/8/status", second),
            ])
        };
        let about = About { name: "rcuop", origin: "", cpus: &[2, 3] };
        for (begin, second, expected) in [("rcuo", &away, true), ("rcuo", &near, false), ("", &away, true)] {
            let root = both(second);
            assert_eq!(
                Machine::at(root.path()).has(&Check::ThreadsElsewhere(begin), about),
                expected,
                "{begin} {second}"
            );
        }
        let root = both(&away);
        assert!(!Machine::at(root.path()).has(&Check::ThreadsElsewhere("ksmd"), about), "no such thread");
    }

    #[test]
    fn some_remedies_are_for_some() {
        let root = made(&[("proc/sys/kernel/osrelease", "6.12.57+deb13-amd64\n")]);
        let machine = Machine::at(root.path());
        let about = About { name: "", origin: "bound worker, queued by cron", cpus: &[3] };
        assert!(machine.has(&Check::From((7, 0), &Check::Unseen), about));
        assert!(!machine.has(&Check::Before((7, 0), &Check::Unseen), about));
        assert!(machine.has(&Check::Of("unbound worker", &Check::Unseen), about));
        assert!(!machine.has(&Check::Of("bound worker", &Check::Unseen), about));
    }
}
