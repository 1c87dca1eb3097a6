// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds out whether a quota of a cgroup (cpu.max) stopped this process while it measured.
//!
//! Such pauses look like noise of the machine, but the user's own limit makes them. `Plan::measure` asks before and after;
//! nothing here runs while samples are taken.

use std::fs;
use std::path::{Path, PathBuf};

use crate::units::Nanoseconds;

/// The counts of each cgroup above this process that has a quota.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quotas(Vec<Quota>);

#[derive(Debug, Clone, PartialEq)]
struct Quota {
    group: PathBuf,
    limit: String,
    throttled: u64,
    throttled_us: u64,
}

impl Quotas {
    pub fn now() -> Quotas {
        Quotas::under(Path::new("/sys/fs/cgroup"), &fs::read_to_string("/proc/self/cgroup").unwrap_or_default())
    }

    /// Follows the process's cgroup (version 2, from /proc/self/cgroup) up to the root.
    fn under(root: &Path, own: &str) -> Quotas {
        let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::/")) else { return Quotas::default() };
        let groups = Path::new(path).ancestors().map(|group| (root.join(group), Path::new("/").join(group)));
        Quotas(groups.filter_map(|(at, group)| Quota::of(&at, group)).collect())
    }

    /// One sentence for each cgroup whose quota stopped the process since `before`.
    pub fn since(&self, before: &Quotas) -> Vec<String> {
        let stopped = |now: &Quota| {
            let then = before.0.iter().find(|then| then.group == now.group);
            let since = |count: fn(&Quota) -> u64| count(now).saturating_sub(then.map_or(0, count));
            let (times, us) = (since(|quota| quota.throttled), since(|quota| quota.throttled_us));
            (times > 0).then(|| {
                format!(
                    "the quota of cgroup {} (cpu.max {}) stopped its programs {times} times, for {} in all: that is noise of \
                     this limit, not of the machine",
                    now.group.display(),
                    now.limit,
                    Nanoseconds(us as f64 * 1000.0)
                )
            })
        };
        self.0.iter().filter_map(stopped).collect()
    }
}

impl Quota {
    /// `None` without a quota.
    fn of(at: &Path, group: PathBuf) -> Option<Quota> {
        let limit = fs::read_to_string(at.join("cpu.max")).ok()?.trim().to_owned();
        if limit.starts_with("max") {
            return None;
        }
        let text = fs::read_to_string(at.join("cpu.stat")).ok()?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        Some(Quota { group, limit, throttled: field("nr_throttled"), throttled_us: field("throttled_usec") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, group: &str, limit: &str, throttled: u64, us: u64) {
        let at = root.join(group);
        fs::create_dir_all(&at).expect("a folder");
        fs::write(at.join("cpu.max"), format!("{limit}\n")).expect("written");
        let stat = format!("usage_usec 5\nnr_periods 9\nnr_throttled {throttled}\nthrottled_usec {us}\nnr_bursts 0\n");
        fs::write(at.join("cpu.stat"), stat).expect("written");
    }

    /// A quota of a group above stops the process as one of its own does.
    #[test]
    fn every_group_above_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, own) = (folder.path(), "1:cpu:/old\n0::/batch/job/step\n");
        write(root, "batch", "50000 100000", 3, 90_000);
        write(root, "batch/job", "max 100000", 0, 0);
        write(root, "batch/job/step", "20000 100000", 7, 1000);
        write(root, "other", "1000 100000", 0, 0);
        let before = Quotas::under(root, own);
        assert_eq!(Quotas::under(root, own).since(&before), Vec::<String>::new());
        write(root, "batch", "50000 100000", 193, 9_690_000);
        write(root, "other", "1000 100000", 50, 1000);
        assert_eq!(
            Quotas::under(root, own).since(&before),
            [
                "the quota of cgroup /batch (cpu.max 50000 100000) stopped its programs 190 times, for 9.6 s in all: that is \
                 noise of this limit, not of the machine"
            ]
        );
        assert_eq!(Quotas::under(root, "0::/absent\n"), Quotas::default());
        assert_eq!(Quotas::under(root, ""), Quotas::default());
    }
}
