// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fake node's `systemctl`: properties in systemd's memory and in its files, and a slice that starts and stops. The
//! fake node calls it; it knows only the words that the tuner uses.

use std::{fs, io};

use tacet_tune::node::Node;

use super::Fake;

impl Fake {
    pub(super) fn as_systemd(&self, words: &[&str]) -> io::Result<String> {
        let memory = |unit: &str| format!("/fake/systemd/{unit}");
        let file = |unit: &str| format!("/run/systemd/system.control/{unit}.d/50-AllowedCPUs.conf");
        match words {
            ["show", "--property", "AllowedCPUs", "--property", "NeedDaemonReload", "--", unit] => {
                // a unit of which systemd knows nothing has an empty property
                let property = self.linux.read(&memory(unit)).unwrap_or("\n".to_owned());
                Ok(format!("AllowedCPUs={property}NeedDaemonReload={}", self.get("/fake/stale")))
            }
            ["set-property", "--runtime", "--", unit, assignment] => {
                self.step()?;
                let value = assignment.strip_prefix("AllowedCPUs=").unwrap();
                self.set(&memory(unit), &format!("{}\n", value.replace(',', " ")));
                let group = format!("/sys/fs/cgroup/{unit}/cpuset.cpus");
                if !value.is_empty() && self.linux.exists(&group) {
                    self.set(&group, &format!("{value}\n"));
                }
                self.set(&file(unit), &format!("# written by systemd\n[Unit]\nAllowedCPUs={value}\n"));
                Ok(String::new())
            }
            ["show", "--property", "ActiveState", "--", unit] => {
                let active = self.linux.exists(&format!("/sys/fs/cgroup/{unit}"));
                Ok(format!("ActiveState={}\n", if active { "active" } else { "inactive" }))
            }
            ["start", "--", unit] => {
                self.step()?;
                let group = format!("/sys/fs/cgroup/{unit}");
                self.set(&format!("{group}/cgroup.procs"), "");
                self.controlled(&group);
                let cpus = self.linux.read(&memory(unit)).unwrap_or_default().trim().replace(' ', ",");
                if !cpus.is_empty() && self.linux.exists(&format!("{group}/cpuset.cpus")) {
                    self.set(&format!("{group}/cpuset.cpus"), &format!("{cpus}\n"));
                }
                Ok(String::new())
            }
            ["stop", "--", unit] => {
                self.step()?;
                for path in [format!("/sys/fs/cgroup/{unit}"), memory(unit)] {
                    let path = self.linux.path(&path);
                    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
                    removed.unwrap_or(());
                }
                Ok(String::new())
            }
            ["daemon-reload"] => {
                self.step()?;
                for unit in self.linux.list("/fake/systemd")? {
                    let text = self.linux.read(&file(&unit)).unwrap_or_default();
                    let value = text.lines().find_map(|line| line.strip_prefix("AllowedCPUs=")).unwrap_or_default();
                    self.set(&memory(&unit), &format!("{value}\n"));
                }
                self.set("/fake/stale", "no\n");
                Ok(String::new())
            }
            other => panic!("systemctl {other:?}"),
        }
    }
}
