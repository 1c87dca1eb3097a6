// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A directory in place of a node: it answers as the kernel and systemd do, and can stop after any step, as after kill
//! -9.
//!
//! It models files that do not show what was written, files that change other files, and refusals of the kernel.
#![allow(dead_code, reason = "each test uses a part")]

mod systemd;
mod tree;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use tacet_tune::claim::{self, Claim, Owner};
use tacet_tune::cpus::Cpus;
use tacet_tune::node::{Linux, Lock, Node};

pub struct Fake {
    linux: Linux,
    directory: tempfile::TempDir,
    /// How many more changes take effect; None: all.
    left: Cell<Option<u32>>,
    /// The CPUs to which threads were bound.
    bound: RefCell<BTreeMap<u32, Cpus>>,
    /// Files that refuse every write, with the error.
    refuses: RefCell<BTreeMap<String, i32>>,
}

/// Contents of files; directories have none.
pub type Snapshot = BTreeMap<String, Option<String>>;

const EBUSY: i32 = 16;
const EINVAL: i32 = 22;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
/// An interrupt that the kernel manages.
pub const MANAGED: &str = "/proc/irq/9/smp_affinity_list";

fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Fake {
    /// Eight CPUs, two threads a core, two memory nodes; Linux 7.3 with systemd.
    pub fn node() -> Fake {
        // the test creates and removes thousands of small files: in memory if possible
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        tree::grow(directory.path());
        Fake {
            linux: Linux::at(directory.path()),
            directory,
            left: Cell::new(None),
            bound: RefCell::default(),
            refuses: RefCell::default(),
        }
    }

    /// After this many steps, no further change takes effect.
    pub fn stop_after(&self, steps: u32) {
        self.left.set(Some(steps));
    }

    pub fn go_on(&self) {
        self.left.set(None);
    }

    pub fn has_stopped(&self) -> bool {
        self.left.get() == Some(0)
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// From now on every write there fails so.
    pub fn refuse(&self, path: &str, errno: i32) {
        self.refuses.borrow_mut().insert(path.to_owned(), errno);
    }

    /// A change by somebody else; it does not count as a step.
    pub fn set(&self, path: &str, text: &str) {
        let path = self.linux.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn get(&self, path: &str) -> String {
        self.linux.read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// All files and directories except the journal's.
    pub fn snapshot(&self) -> Snapshot {
        let mut found = BTreeMap::new();
        collect(self.root(), self.root(), &mut found);
        found.retain(|path, _| !path.starts_with("var"));
        found
    }

    /// The first difference from another node's snapshot.
    pub fn differs(&self, theirs: &Snapshot) -> Option<String> {
        let ours = self.snapshot();
        let path = ours.keys().chain(theirs.keys()).find(|path| ours.get(*path) != theirs.get(*path))?;
        Some(format!("{path}: {:?}, not {:?}", ours.get(path), theirs.get(path)))
    }

    pub fn has_journal(&self) -> bool {
        self.linux.exists(tacet_tune::journal::JOURNAL)
    }

    fn step(&self) -> io::Result<()> {
        match self.left.get() {
            Some(0) => Err(io::Error::other("stopped")),
            Some(left) => {
                self.left.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn isolated(&self) -> Cpus {
        let groups = self.linux.list("/sys/fs/cgroup").unwrap_or_default();
        let of = |group: &String| {
            let group = format!("/sys/fs/cgroup/{group}");
            let isolated =
                self.linux.read(&format!("{group}/cpuset.cpus.partition")).is_ok_and(|text| text == "isolated\n");
            let cpus = self.linux.read(&format!("{group}/cpuset.cpus")).ok()?;
            isolated.then(|| Cpus::from_list(&cpus)).flatten()
        };
        groups.iter().filter_map(of).fold(Cpus::default(), |all, cpus| all.union(&cpus))
    }

    /// Since 6.7, when the isolated CPUs change, the kernel sets the mask of unbound workers to the requested mask
    /// without isolated CPUs. If the process is killed in this step, the mask stays as it is, because the kernel cannot
    /// create a thread for it.
    fn show_workers(&self) {
        if self.has_stopped() {
            return;
        }
        let asked = Cpus::from_mask(&self.get("/fake/workqueue_requested")).unwrap();
        self.set("/sys/devices/virtual/workqueue/cpumask", &mask(&asked.without(&self.isolated())));
    }

    /// Threads may run on the CPUs they were bound to without isolated CPUs; on all of those if no other is left.
    fn show_affinities(&self) {
        for (thread, wanted) in self.bound.borrow().iter() {
            let allowed = wanted.without(&self.isolated());
            let path = format!("/proc/{thread}/status");
            if self.linux.exists(&path) && !allowed.is_empty() {
                self.set(&path, &tree::status(&allowed));
            }
        }
    }

    /// An offline CPU is not listed as a sibling.
    fn show_topology(&self) {
        let on = |cpu: &u32| self.get(&format!("/sys/devices/system/cpu/cpu{cpu}/online")) == "1\n";
        let online: Cpus = (0..8).filter(on).collect();
        self.set("/sys/devices/system/cpu/online", &format!("{online}\n"));
        self.set(&format!("/proc/{}/status", tree::BOUND_ANEW), &tree::status(&online));
        for cpu in 0..8 {
            let core: Cpus = [cpu / 2 * 2, cpu / 2 * 2 + 1].into_iter().collect();
            let shown = if online.contains(cpu) { core.intersection(&online).to_string() } else { String::new() };
            self.set(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), &format!("{shown}\n"));
        }
    }

    fn kernel_takes(&self, path: &str, text: &str) -> io::Result<String> {
        let (name, text) = (path.rsplit('/').next().unwrap(), text.trim_end());
        let list = || Cpus::from_list(text).map(|cpus| format!("{cpus}\n")).ok_or(errno(EINVAL));
        if let Some(number) = self.refuses.borrow().get(path) {
            return Err(errno(*number));
        }
        match name {
            _ if path == MANAGED => Err(errno(EIO)),
            // programs are in it
            "cpuset.cpus" if text.is_empty() && !self.get(path).trim().is_empty() => Err(errno(ENOSPC)),
            "smp_affinity_list" | "watchdog_cpumask" | "cpuset.cpus" | "cpuset.mems" | "cpus_list" => list(),
            "cpumask" | "default_smp_affinity" | "rps_cpus" => Ok(mask(&Cpus::from_mask(text).ok_or(errno(EINVAL))?)),
            "scaling_governor" if !["performance", "powersave"].contains(&text) => Err(errno(EINVAL)),
            // as on Linux 6.1
            "cpuset.cpus.partition" if text != "member" && self.get(path).contains("invalid") => Ok(self.get(path)),
            "cpuset.cpus.partition" => match text {
                "isolated" if self.get(&path.replace(".partition", "")).trim().is_empty() => {
                    Ok("isolated invalid (cpuset.cpus is empty)\n".to_owned())
                }
                "isolated" | "member" | "root" => Ok(format!("{text}\n")),
                _ => Err(errno(EINVAL)),
            },
            "perf_event_max_sample_rate"
                if ["0\n", "100\n"].contains(&self.get("/proc/sys/kernel/perf_cpu_time_max_percent").as_str()) =>
            {
                Err(errno(EINVAL))
            }
            "schemata" => Ok(merged(&self.get(path), text)),
            _ => Ok(format!("{}\n", text.trim_end())),
        }
    }

    fn controllers(&self, words: &str) -> io::Result<()> {
        const PATH: &str = "/sys/fs/cgroup/cgroup.subtree_control";
        let mut now: Vec<String> = self.get(PATH).split_whitespace().map(str::to_owned).collect();
        for word in words.split_whitespace() {
            let name = word.get(1..).unwrap_or_default().to_owned();
            now.retain(|other| *other != name);
            if word.starts_with('+') {
                now.push(name);
            }
        }
        // the kernel shows its own order
        now.sort_unstable();
        self.set(PATH, &format!("{}\n", now.join(" ")));
        for group in self
            .linux
            .list("/sys/fs/cgroup")?
            .iter()
            .filter(|name| self.linux.exists(&format!("/sys/fs/cgroup/{name}/cgroup.procs")))
        {
            self.controlled(&format!("/sys/fs/cgroup/{group}"));
        }
        Ok(())
    }

    /// A cgroup has the files of the controllers that its parent enables.
    fn controlled(&self, group: &str) {
        let on = self.get("/sys/fs/cgroup/cgroup.subtree_control");
        for (name, text) in [
            ("cpuset.cpus", "\n"),
            ("cpuset.cpus.partition", "member\n"),
            ("cpuset.mems", "\n"),
            ("memory.low", "0\n"),
            ("hugetlb.2MB.max", "max\n"),
            ("hugetlb.2MB.rsvd.max", "max\n"),
        ] {
            let path = format!("{group}/{name}");
            match on.split_whitespace().any(|one| name.split('.').next() == Some(one)) {
                true if !self.linux.exists(&path) => self.set(&path, text),
                true => (),
                false => fs::remove_file(self.linux.path(&path)).unwrap_or(()),
            }
        }
    }
}

fn collect(root: &Path, at: &Path, found: &mut BTreeMap<String, Option<String>>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if path.is_dir() {
            found.insert(name, None);
            collect(root, &path, found);
        } else {
            found.insert(name, Some(fs::read_to_string(&path).unwrap()));
        }
    }
}

pub fn mask(cpus: &Cpus) -> String {
    format!("{:0>8}\n", cpus.mask())
}

/// The lines of a schemata file, with those of the same resource replaced, padded as kernels do.
fn merged(now: &str, written: &str) -> String {
    let key = |line: &str| line.trim().split(':').next().unwrap_or_default().to_owned();
    let filled = |line: &str| {
        let (resource, domains) = line.trim().split_once(':').unwrap();
        let filled = |domain: &str| match domain.split_once('=').unwrap() {
            (domain, value) if resource == "MB" => format!("{domain}={value:>3}"),
            (domain, value) => format!("{domain}={value:0>3}"),
        };
        format!("    {resource}:{}", domains.split(';').map(filled).collect::<Vec<_>>().join(";"))
    };
    let new = |line: &str| written.lines().find(|other| key(other) == key(line)).map(&filled);
    now.lines().map(|line| new(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

impl Node for Fake {
    fn read(&self, path: &str) -> io::Result<String> {
        self.linux.read(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.linux.list(path)
    }

    fn exists(&self, path: &str) -> bool {
        self.linux.exists(path)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.step()?;
        if path == "/sys/fs/cgroup/cgroup.subtree_control" {
            return self.controllers(text);
        }
        if let Some(group) = path.strip_suffix("/cgroup.procs") {
            assert!(self.linux.exists(group));
            for other in ["", "/tacet", "/tacet-job-a", "/tacet-job-b"] {
                let other = format!("/sys/fs/cgroup{other}/cgroup.procs");
                if let Ok(inside) = self.linux.read(&other) {
                    self.set(
                        &other,
                        &inside.lines().filter(|pid| *pid != text).map(|pid| format!("{pid}\n")).collect::<String>(),
                    );
                }
            }
            self.set(path, &format!("{}{text}\n", self.get(path)));
            return Ok(());
        }
        let shown = self.kernel_takes(path, text)?;
        if path == "/sys/devices/virtual/workqueue/cpumask" {
            // an explicit write sets the mask, isolated CPUs or not
            if !self.has_stopped() {
                self.set("/fake/workqueue_requested", &shown);
                self.linux.write(path, &shown)?;
            }
            return Ok(());
        }
        self.linux.write(path, &shown)?;
        if path.contains("/cpuset.cpus") {
            self.show_workers();
            self.show_affinities();
        }
        if path.ends_with("/online") {
            self.show_topology();
        }
        Ok(())
    }

    fn make_directory(&self, path: &str) -> io::Result<()> {
        self.step()?;
        self.linux.make_directory(path)?;
        if path.starts_with("/sys/fs/resctrl") {
            self.set(&format!("{path}/schemata"), &self.get("/sys/fs/resctrl/schemata"));
            self.set(&format!("{path}/cpus_list"), "\n");
        } else if path.starts_with("/sys/fs/cgroup") {
            self.set(&format!("{path}/cgroup.procs"), "");
            self.controlled(path);
        }
        Ok(())
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.step()?;
        if self.linux.read(&format!("{path}/cgroup.procs")).is_ok_and(|inside| !inside.is_empty()) {
            return Err(errno(EBUSY));
        }
        fs::remove_dir_all(self.linux.path(path))?;
        if path.starts_with("/sys/fs/cgroup") {
            self.show_workers();
        }
        Ok(())
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.step()?;
        if path.ends_with(".conf") && self.linux.exists(path) {
            self.set("/fake/stale", "yes\n");
        }
        self.linux.remove_file(path)
    }

    fn set_affinity(&self, thread: u32, cpus: &Cpus) -> io::Result<()> {
        self.step()?;
        let online = Cpus::from_list(&self.get("/sys/devices/system/cpu/online")).unwrap();
        let allowed = cpus.without(&self.isolated());
        if allowed.intersection(&online).is_empty() {
            return Err(errno(EINVAL));
        }
        self.bound.borrow_mut().insert(thread, cpus.clone());
        // as on Linux 6.1: CPUs that are possible but absent are dropped
        self.set(&format!("/proc/{thread}/status"), &tree::status(&allowed.intersection(&online)));
        Ok(())
    }

    fn systemctl(&self, words: &[&str]) -> io::Result<String> {
        self.as_systemd(words)
    }

    // no wait for the disk: a kill of the process does not lose written data

    fn append(&self, path: &str, text: &str) -> io::Result<()> {
        let whole = self.linux.read(path)?;
        if let Err(error) = self.step() {
            // a crash may leave a part of it, once
            if whole.ends_with('\n') {
                self.set(path, &(whole + text.get(..text.len() / 2).unwrap_or_default()));
            }
            return Err(error);
        }
        self.set(path, &(whole + text));
        Ok(())
    }

    fn lock(&self, path: &str) -> io::Result<Lock> {
        self.linux.lock(path)
    }

    fn replace(&self, path: &str, text: &str) -> io::Result<()> {
        self.step()?;
        self.set(path, text);
        Ok(())
    }
}

/// A claim by all countermeasures, with an isolated partition.
pub fn everything(owner: Owner, cpus: &str) -> Claim {
    let names = tacet_tune::measures::ALL.iter().map(|measure| measure.about().name);
    // another kind of partition
    let all: Vec<String> = names.filter(|name| *name != "balance").map(str::to_owned).collect();
    Claim { owner, cpus: cpus.parse().unwrap(), measures: claim::choose(&all, &[], &[]).unwrap() }
}

pub fn job(id: &str, cpus: &str) -> Claim {
    everything(id.parse().unwrap(), cpus)
}
