// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The part of the node's state that a partition changes while it is up, and must restore.

use tacet_node::unnamed_pages;

use crate::Result;
use crate::site::Site;

/// The number of pages that the kernel uses varies a little by itself; a lost partition would be sixteen times this.
const LEEWAY_PAGES: i64 = 4096;

/// The state of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub online: String,
    pub present: String,
    /// Pages that the kernel's allocator manages.
    pub managed: u64,
    /// Pages that the kernel uses without naming their class, as a partition's blocks are.
    pub unnamed: i64,
    /// Is the module loaded?
    pub module: bool,
    /// Kernel messages of level warning or worse.
    pub complaints: Vec<String>,
}

const LOOK: &str = r#"
cd /sys/devices/system/cpu; echo "online $(cat online)"; echo "present $(cat present)"
awk '$1 == "managed" { n += $2 } END { print "managed", n }' /proc/zoneinfo
[ ! -d /sys/module/tacet ] || echo "module tacet"
dmesg --notime --level=emerg,alert,crit,err,warn | sed 's/^/said /'
cat /proc/sys/vm/stat_refresh; echo zoneinfo; cat /proc/zoneinfo"#;

/// Messages that the kernel prints for every out-of-tree module, and for an emulator on a busy host.
const EXPECTED: [&str; 3] = ["taints kernel", "tainting kernel", "hrtimer: interrupt took"];

impl Snapshot {
    pub fn take(site: &Site) -> Result<Snapshot> {
        Snapshot::parse(&site.shell(LOOK)?).ok_or_else(|| "the node: no CPUs or no memory".into())
    }

    /// The differences; empty if the state was restored.
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
        if after.unnamed - self.unnamed > LEEWAY_PAGES {
            compare("pages that the kernel uses", &self.unnamed.to_string(), &after.unnamed.to_string());
        }
        differences.extend(self.new_complaints(after).map(|line| format!("kernel: {line}")));
        differences
    }

    /// The kernel's complaints between the two snapshots.
    pub fn new_complaints<'a>(&self, after: &'a Snapshot) -> impl Iterator<Item = &'a String> {
        let new = after.complaints.iter().skip(self.complaints.len());
        new.filter(|line| !EXPECTED.iter().any(|expected| line.contains(expected)))
    }

    fn parse(text: &str) -> Option<Snapshot> {
        let (text, zones) = text.split_once("zoneinfo\n")?;
        let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
        let of = |name: &str| lines.iter().find(|(first, _)| *first == name).map(|(_, rest)| *rest);
        Some(Snapshot {
            online: of("online")?.to_owned(),
            present: of("present")?.to_owned(),
            managed: of("managed")?.parse().ok()?,
            unnamed: unnamed_pages(zones).ok()?,
            module: of("module").is_some(),
            complaints: lines.iter().filter(|(name, _)| *name == "said").map(|(_, said)| (*said).to_owned()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "online 0-3\npresent 0-3\nmanaged 500000\nsaid old trouble\n\
        zoneinfo\nmanaged 500000\nnr_free_pages 400000\n";

    fn with(line: &str) -> String {
        BEFORE.replace("zoneinfo", &format!("{line}\nzoneinfo"))
    }

    fn after(text: &str) -> Vec<String> {
        let parse = |text| Snapshot::parse(text).expect("complete");
        parse(BEFORE).differences(&parse(text))
    }

    #[test]
    fn the_same_node_has_no_differences() {
        assert!(after(BEFORE).is_empty());
        assert!(after(&BEFORE.replace("400000", "399000")).is_empty());
        assert!(after(&BEFORE.replace("400000", "405000")).is_empty());
        assert!(after(&with("said tacet: loading out-of-tree module taints kernel.")).is_empty());
    }

    #[test]
    fn whatever_was_kept_shows() {
        assert_eq!(after(&BEFORE.replace("online 0-3", "online 0-1")), ["CPUs online 0-3, then 0-1"]);
        let kept = ["pages that the kernel uses 100000, then 165000"];
        assert_eq!(after(&BEFORE.replace("400000", "335000")), kept);
        assert_eq!(after(&with("said BUG: worse")), ["kernel: BUG: worse"]);
        assert_eq!(after(&with("module tacet")), ["module loaded false, then true"]);
    }
}
