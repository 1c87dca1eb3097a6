// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names for the numbers that the kernel reports: addresses of its functions, inodes of cgroup directories.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kernel's functions by address.
#[derive(Debug, Default)]
pub struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Symbols of the running kernel and its modules. Without root the kernel hides the addresses, and there are none.
    pub fn of_this_kernel() -> Symbols {
        Symbols::parse(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> Symbols {
        let symbol = |line: &str| {
            let mut words = line.split_whitespace();
            let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
            let address = u64::from_str_radix(address, 16).ok().filter(|address| *address != 0)?;
            ["t", "w"].contains(&kind.to_ascii_lowercase().as_str()).then(|| (address, name.to_owned()))
        };
        let mut symbols: Vec<(u64, String)> = text.lines().filter_map(symbol).collect();
        symbols.sort_by_key(|(address, _)| *address);
        Symbols(symbols)
    }

    /// The function that contains an address, or the address itself.
    pub fn name(&self, address: u64) -> String {
        let after = self.0.partition_point(|(begin, _)| *begin <= address);
        match after.checked_sub(1).and_then(|at| self.0.get(at)) {
            Some((_, name)) => plain(name).to_owned(),
            None => format!("{address:#x}"),
        }
    }
}

/// The name without the suffix that a compiler adds to a copy of a function.
fn plain(name: &str) -> &str {
    name.split_once('.').map_or(name, |(plain, _)| if plain.is_empty() { name } else { plain })
}

/// Cgroups by the inode number of their directory.
#[derive(Debug, Default)]
pub struct Units(HashMap<u64, String>);

impl Units {
    /// Cgroups of the unified hierarchy, wherever it is mounted.
    pub fn of_this_machine() -> Units {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let unified = mounts.lines().find_map(|line| {
            let mut words = line.split(' ');
            let (point, kind) = (words.nth(1)?, words.next()?);
            (kind == "cgroup2").then(|| PathBuf::from(point))
        });
        let mut units = HashMap::new();
        if let Some(root) = unified {
            collect(&root, &root, &mut units);
        }
        Units(units)
    }

    /// The unit, or the last part of the cgroup's path; `None` for the root and for a cgroup that no longer exists.
    pub fn name(&self, cgroup: u64) -> Option<String> {
        self.0.get(&cgroup).cloned()
    }
}

fn collect(root: &Path, directory: &Path, units: &mut HashMap<u64, String>) {
    let Ok(about) = fs::metadata(directory) else { return };
    if let Some(name) = directory.strip_prefix(root).ok().and_then(unit) {
        units.insert(about.ino(), name);
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(root, &entry.path(), units);
        }
    }
}

/// The innermost part of a cgroup's path that is a unit, otherwise its last part.
fn unit(path: &Path) -> Option<String> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let is_unit = |part: &&&str| [".service", ".scope"].iter().any(|end| part.ends_with(end));
    parts.iter().rev().find(is_unit).or(parts.last()).map(|part| (*part).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names() {
        let symbols = Symbols::parse(
            "ffffffff81000000 T _text\nffffffff81000100 t vmstat_update\nffffffff81000200 d data\n\
             ffffffffc0000010 t probe.isra.0\t[module]\n0000000000000000 T hidden\nnonsense\n",
        );
        assert_eq!(symbols.name(0xffff_ffff_8100_0100), "vmstat_update");
        assert_eq!(symbols.name(0xffff_ffff_8100_0210), "vmstat_update", "data is no function");
        assert_eq!(symbols.name(0xffff_ffff_c000_0011), "probe");
        assert_eq!(symbols.name(0x10), "0x10");
        assert_eq!(Symbols::default().name(0xabc), "0xabc");
    }

    #[test]
    fn cgroups_have_units() {
        for (path, name) in [
            ("system.slice/cron.service", "cron.service"),
            ("system.slice/docker.service/app", "docker.service"),
            ("user.slice/user-1.slice/session-2.scope", "session-2.scope"),
            ("jobs/17", "17"),
        ] {
            assert_eq!(unit(Path::new(path)).as_deref(), Some(name));
        }
        assert_eq!(unit(Path::new("")), None);
    }

    #[test]
    fn directories_are_known_by_their_number() {
        let root = tempfile::tempdir().expect("a directory");
        let service = root.path().join("system.slice/cron.service");
        fs::create_dir_all(&service).expect("directories");
        let mut units = HashMap::new();
        collect(root.path(), root.path(), &mut units);
        let number = fs::metadata(&service).expect("it is there").ino();
        assert_eq!(Units(units).name(number).as_deref(), Some("cron.service"));
    }
}
