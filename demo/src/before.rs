// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of the node that a partition changes while it is up and must leave as it was.

use crate::Result;
use crate::site::Site;

/// Free memory moves a little by itself; a lost partition would be sixteen times this.
const LEEWAY_KIB: u64 = 16 << 10;

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub online: String,
    pub present: String,
    /// Pages that the kernel's allocator manages.
    pub managed: u64,
    /// With the caches dropped, and what programs left in memory file systems counted as free.
    pub free_kib: u64,
    /// Whether the module is loaded.
    pub module: bool,
    /// Kernel messages of level warning and worse.
    pub complaints: Vec<String>,
}

const LOOK: &str = r#"
sync; echo 3 >/proc/sys/vm/drop_caches; sleep 1; echo 3 >/proc/sys/vm/drop_caches
cd /sys/devices/system/cpu; echo "online $(cat online)"; echo "present $(cat present)"
awk '$1 == "managed" { n += $2 } END { print "managed", n }' /proc/zoneinfo
awk '/^(MemFree|Shmem):/ { n += $2 } END { print "free", n }' /proc/meminfo
[ ! -d /sys/module/tacet ] || echo "module tacet"
dmesg --notime --level=emerg,alert,crit,err,warn | sed 's/^/said /'"#;

/// What the kernel says of every module that is not its own, and of an emulator on a busy host.
const EXPECTED: [&str; 3] = ["taints kernel", "tainting kernel", "hrtimer: interrupt took"];

impl Snapshot {
    pub fn take(site: &Site) -> Result<Snapshot> {
        Snapshot::parse(&site.shell(LOOK)?).ok_or_else(|| "the node: no CPUs or no memory".into())
    }

    /// What is not as it was; empty when all is.
    pub fn differences(&self, after: &Snapshot) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, before: &str, after: &str| {
            if before != after {
                differences.push(format!("{what} {before}, then {after}"));
            }
        };
        compare("CPUs online", &self.online, &after.online);
        compare("CPUs present", &self.present, &after.present);
        compare("managed pages", &self.managed.to_string(), &after.managed.to_string());
        compare("module loaded", &self.module.to_string(), &after.module.to_string());
        if self.free_kib.abs_diff(after.free_kib) > LEEWAY_KIB {
            compare("free KiB", &self.free_kib.to_string(), &after.free_kib.to_string());
        }
        differences.extend(self.new_complaints(after).map(|line| format!("kernel: {line}")));
        differences
    }

    /// What the kernel complained of between the two.
    pub fn new_complaints<'a>(&self, after: &'a Snapshot) -> impl Iterator<Item = &'a String> {
        let new = after.complaints.iter().skip(self.complaints.len());
        new.filter(|line| !EXPECTED.iter().any(|expected| line.contains(expected)))
    }

    fn parse(text: &str) -> Option<Snapshot> {
        let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
        let of = |name: &str| lines.iter().find(|(first, _)| *first == name).map(|(_, rest)| *rest);
        Some(Snapshot {
            online: of("online")?.to_owned(),
            present: of("present")?.to_owned(),
            managed: of("managed")?.parse().ok()?,
            free_kib: of("free")?.parse().ok()?,
            module: of("module").is_some(),
            complaints: lines.iter().filter(|(name, _)| *name == "said").map(|(_, said)| (*said).to_owned()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "online 0-3\npresent 0-3\nmanaged 500000\nfree 1000000\nsaid old trouble\n";

    fn after(text: &str) -> Vec<String> {
        let parse = |text| Snapshot::parse(text).expect("complete");
        parse(BEFORE).differences(&parse(text))
    }

    #[test]
    fn the_same_node_has_no_differences() {
        assert!(after(BEFORE).is_empty());
        assert!(after(&BEFORE.replace("1000000", "998000")).is_empty());
        assert!(after(&format!("{BEFORE}said tacet: loading out-of-tree module taints kernel.\n")).is_empty());
    }

    #[test]
    fn whatever_was_kept_shows() {
        assert_eq!(after(&BEFORE.replace("online 0-3", "online 0-1")), ["CPUs online 0-3, then 0-1"]);
        assert_eq!(after(&BEFORE.replace("1000000", "740000")), ["free KiB 1000000, then 740000"]);
        assert_eq!(after(&format!("{BEFORE}said BUG: worse\n")), ["kernel: BUG: worse"]);
        assert_eq!(after(&format!("{BEFORE}module tacet\n")), ["module loaded false, then true"]);
    }
}
