// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Slurm's configuration on this node: which files say it, and what they say. It judges nothing.

use std::fs;
use std::path::Path;

use crate::Machine;

/// The plugin's file.
pub(super) const PLUGIN: &str = "spank_tacet.so";
/// Where slurm.conf is: on most nodes; where slurmd keeps what its controller gave it.
const PLACES: [&str; 3] = ["/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf"];
/// What slurmd's unit reads its environment from: Debian's file, Red Hat's, drop-ins of systemd.
const ENVIRONMENTS: [&str; 2] = ["/etc/default/slurmd", "/etc/sysconfig/slurmd"];
const DROP_INS: &str = "/etc/systemd/system/slurmd.service.d";
/// Besides the folder that slurm.conf names.
const PLUGINS: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu/slurm-wlm", "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm"];
/// Files may include files.
const DEPTH: u32 = 4;

/// What only commands of Slurm can tell; empty: they are not there, or nobody answered them.
#[derive(Debug, Default, Clone)]
pub struct Answers {
    /// Of `scontrol show config`.
    pub config: String,
    /// Of `scontrol show node` for this node.
    pub node: String,
}

/// Names and values, as in `Name=value other=value` and in `Name = value with blanks`. Names have no case.
#[derive(Debug, Default, Clone)]
pub(super) struct Words(Vec<(String, String)>);

impl Words {
    fn read(text: &str) -> Words {
        Words(text.lines().flat_map(pairs).collect())
    }

    /// The last one counts.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty() && *value != "(null)")
    }
}

fn pairs(line: &str) -> Vec<(String, String)> {
    let line = line.split('#').next().unwrap_or("").trim();
    let line = line.strip_prefix("Environment=").unwrap_or(line);
    let pair = |(name, value): (&str, &str)| (name.trim().to_owned(), value.trim().trim_matches('"').to_owned());
    match line.split_once(" = ") {
        Some(both) if !both.0.trim().contains(' ') => vec![pair(both)],
        _ => line.split_whitespace().filter_map(|word| word.trim_matches('"').split_once('=')).map(pair).collect(),
    }
}

/// Slurm on this node.
#[derive(Debug, Default, Clone)]
pub struct Site {
    /// Where the configuration is from; empty: there is none.
    pub(super) path: String,
    pub(super) conf: Words,
    pub(super) cgroup: Words,
    /// The file that names the plugins, and its lines, with those of files that it includes.
    pub(super) plugstack: String,
    pub(super) plugins: Vec<String>,
    /// The plugin's own file.
    pub(super) plugin_file: Option<String>,
    /// slurmd's environment, and the file to change it in.
    pub(super) slurmd: Words,
    pub(super) slurmd_file: String,
    /// CPUs that the topology file describes.
    pub(super) topology_cpus: Option<usize>,
    /// CPUs of this machine, whoever has them.
    pub(super) cpus: usize,
    /// Only control groups of version 2 are mounted.
    pub(super) unified: bool,
    /// The controller's complaint about this node.
    pub(super) reason: String,
    /// The first two numbers of the controller's Slurm, if it says them.
    pub(super) version: Option<(u32, u32)>,
}

impl Site {
    /// `named` is the path in `SLURM_CONF`.
    pub fn find(machine: &Machine, named: Option<&str>, answers: &Answers) -> Site {
        let there = |path: &&str| machine.exists(below(path));
        let Some((path, text)) = (match named.into_iter().chain(PLACES).find(there) {
            Some(path) => Some((path.to_owned(), included(machine, path, DEPTH).join("\n"))),
            None if !answers.config.is_empty() => Some(("scontrol show config".to_owned(), answers.config.clone())),
            None => None,
        }) else {
            return Site::default();
        };
        let conf = Words::read(&text);
        let folder = Path::new(&path).parent().filter(|folder| folder.is_absolute()).unwrap_or(Path::new("/etc/slurm"));
        let in_folder = |name: &str| folder.join(name).display().to_string();
        let plugstack = conf.get("PlugStackConfig").map_or_else(|| in_folder("plugstack.conf"), str::to_owned);
        // what the controller has is not what this node has
        let cgroup =
            format!("{}\n{}", answers.config, machine.text(below(&in_folder("cgroup.conf"))).unwrap_or_default());
        let slurmd = environment(machine);
        let topology = slurmd.get("HWLOC_XMLFILE").and_then(|file| machine.text(below(file)));
        let topology_cpus = topology.map(|text| text.matches("type=\"PU\"").count()).filter(|count| *count > 0);
        let slurmd_file = ENVIRONMENTS.into_iter().find(there).unwrap_or(ENVIRONMENTS[0]).to_owned();
        let reason = answers.node.lines().find_map(|line| line.trim().strip_prefix("Reason="));
        Site {
            cgroup: Words::read(&cgroup),
            plugins: included(machine, &plugstack, DEPTH),
            plugin_file: plugin_file(machine, conf.get("PluginDir").unwrap_or("")),
            plugstack,
            slurmd,
            slurmd_file,
            topology_cpus,
            cpus: machine.present().map_or(0, |cpus| cpus.iter().count()),
            unified: machine.exists("sys/fs/cgroup/cgroup.controllers"),
            reason: reason.unwrap_or("").to_owned(),
            version: Words::read(&answers.config).get("SLURM_VERSION").and_then(version),
            path,
            conf,
        }
    }
}

/// Of `22.05.8`: 22 and 5.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// A path of the machine, below its root.
fn below(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// The lines of a file without comments, each `include` replaced by what it includes: a file, or the files of a folder.
fn included(machine: &Machine, path: &str, depth: u32) -> Vec<String> {
    let text = machine.text(below(path)).unwrap_or_default();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty());
    let mut all = Vec::new();
    for line in lines {
        let include = line.split_once(char::is_whitespace).filter(|(word, _)| word.eq_ignore_ascii_case("include"));
        match include {
            Some((_, what)) if depth > 0 => {
                let beside = Path::new(path).parent().unwrap_or(Path::new("/")).join(what.trim());
                for file in matching(machine, &beside) {
                    all.extend(included(machine, &file, depth - 1));
                }
            }
            _ => all.push(line.to_owned()),
        }
    }
    all
}

/// `folder/*`, `folder/*.conf` or one file.
fn matching(machine: &Machine, pattern: &Path) -> Vec<String> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(end) = name.strip_prefix('*') else { return vec![pattern.display().to_string()] };
    let folder = pattern.parent().unwrap_or(Path::new("/"));
    let entries = fs::read_dir(machine.path(below(&folder.to_string_lossy()))).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<String> =
        names.filter(|name| name.ends_with(end)).map(|name| folder.join(name).display().to_string()).collect();
    files.sort();
    files
}

fn environment(machine: &Machine) -> Words {
    let drop_ins = matching(machine, &Path::new(DROP_INS).join("*.conf"));
    let files = ENVIRONMENTS.map(str::to_owned).into_iter().chain(drop_ins);
    Words::read(&files.filter_map(|file| machine.text(below(&file))).collect::<Vec<_>>().join("\n"))
}

fn plugin_file(machine: &Machine, folders: &str) -> Option<String> {
    let folders = folders.split(':').filter(|folder| !folder.is_empty()).chain(PLUGINS);
    let mut files = folders.map(|folder| format!("{folder}/{}", PLUGIN));
    files.find(|file| machine.exists(below(file)))
}
