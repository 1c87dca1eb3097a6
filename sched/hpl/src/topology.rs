// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the arrangement of the machine's CPUs from `/sys`: packages, cores, last-level caches, as numbers without
//! gaps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::layout::{CPUS, Place};

/// The usual place of `/sys/devices/system/cpu`.
pub const CPU_DIRECTORY: &str = "/sys/devices/system/cpu";

/// The online CPUs and their positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    pub places: BTreeMap<u32, Place>,
}

/// All CPUs that may ever be online. The total is the sum of their counts: it includes CPUs that are offline now.
pub fn possible(directory: &Path) -> Result<Vec<u32>> {
    Ok(list(&directory.join("possible"))?.into_iter().filter(|&cpu| cpu < CPUS).collect())
}

fn list(file: &Path) -> Result<Vec<u32>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    parse_list(&text).ok_or_else(|| format!("{}: not a list of CPUs: {text}", file.display()).into())
}

impl Topology {
    /// Reads the topology of the online CPUs; `/sys` does not show the others' positions.
    pub fn read(directory: &Path) -> Result<Topology> {
        let mut numbers = Numbers::default();
        let mut places = BTreeMap::new();
        for cpu in list(&directory.join("online"))? {
            if cpu >= CPUS {
                return Err(format!("cpu {cpu}: HPL supports only CPUs below {CPUS}").into());
            }
            places.insert(cpu, numbers.place(&directory.join(format!("cpu{cpu}")), cpu)?);
        }
        Ok(Topology { places })
    }

    pub fn first(&self) -> u32 {
        self.places.keys().next().copied().unwrap_or_default()
    }
}

/// The numbers given to names so far.
#[derive(Default)]
struct Numbers {
    packages: BTreeMap<String, u32>,
    cores: BTreeMap<String, u32>,
    caches: BTreeMap<String, u32>,
}

impl Numbers {
    fn place(&mut self, directory: &Path, cpu: u32) -> Result<Place> {
        let read = |name: &str| fs::read_to_string(directory.join(name)).map(|text| text.trim().to_owned());
        let said = |name: &str| read(name).map_err(|error| format!("{}/{name}: {error}", directory.display()));
        let package = said("topology/physical_package_id")?;
        // a core's number is unique only in its package; its list of CPUs is unique in the machine
        let core = said("topology/thread_siblings_list")?;
        let cache = last_cache(directory).unwrap_or_else(|| format!("of cpu {cpu}"));
        Ok(Place {
            package: number(&mut self.packages, package),
            core: number(&mut self.cores, core),
            cache: number(&mut self.caches, cache),
            known: 1,
        })
    }
}

fn number(names: &mut BTreeMap<String, u32>, name: String) -> u32 {
    let next = names.len() as u32;
    *names.entry(name).or_insert(next)
}

/// The list of CPUs that share the cache of the highest level.
fn last_cache(directory: &Path) -> Option<String> {
    let indices = fs::read_dir(directory.join("cache")).ok()?.flatten();
    let caches = indices.filter_map(|index| {
        let level: u32 = fs::read_to_string(index.path().join("level")).ok()?.trim().parse().ok()?;
        let shared = fs::read_to_string(index.path().join("shared_cpu_list")).ok()?;
        Some((level, shared.trim().to_owned()))
    });
    caches.max().map(|(_, shared)| shared)
}

/// Parses a list like `0-3,8`; `None` if it is not such a list.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= 1 << 20 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(directory: &Path, name: &str, text: &str) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn two_packages_of_two_cores_of_two_threads() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), "online", "0-7\n");
        for cpu in 0..8 {
            let file = |name: &str| format!("cpu{cpu}/{name}");
            let (first, package) = (cpu / 2 * 2, cpu / 4);
            write(folder.path(), &file("topology/physical_package_id"), &format!("{package}\n"));
            write(folder.path(), &file("topology/thread_siblings_list"), &format!("{first}-{}\n", first + 1));
            write(folder.path(), &file("cache/index0/level"), "1\n");
            write(folder.path(), &file("cache/index0/shared_cpu_list"), &format!("{first}-{}\n", first + 1));
            write(folder.path(), &file("cache/index3/level"), "3\n");
            write(folder.path(), &file("cache/index3/shared_cpu_list"), ["0-3\n", "4-7\n"][package]);
        }
        let topology = Topology::read(folder.path()).expect("a topology");
        let seen: Vec<_> = topology.places.values().map(|place| (place.package, place.core, place.cache)).collect();
        let whole = |cpu: u32| (cpu / 4, cpu / 2, cpu / 4);
        assert_eq!(seen, (0..8).map(whole).collect::<Vec<_>>());
    }

    #[test]
    fn lists_are_parsed_and_nonsense_is_refused() {
        assert_eq!(parse_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        for wrong in ["", "x", "3-1", "1-", "0-99999999"] {
            assert_eq!(parse_list(wrong), None, "{wrong}");
        }
    }
}
