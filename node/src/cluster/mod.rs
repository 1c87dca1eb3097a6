// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A cluster of emulated nodes: a private network with a switch of its own, names, one home, munge and Slurm.
//!
//! ```no_run
//! use tacet_node::cluster::{Cluster, ClusterSpec};
//! use tacet_node::{Cache, Command, KernelLine, provision};
//!
//! # fn main() -> tacet_node::Result<()> {
//! let cache = Cache::open()?;
//! provision::ensure(&cache)?;
//! let spec = ClusterSpec::new(KernelLine::V6_12, 2);
//! provision::ensure_cluster(&cache, spec.slurm)?;
//! let cluster = Cluster::up(&cache, &spec)?;
//! let output = cluster.node("n1")?.run(&Command::new(["srun", "-N2", "hostname"]))?;
//! cluster.kill("n2")?;
//! cluster.boot("n2")?;
//! # Ok(()) }
//! ```
//!
//! Owns the nodes, the switch and the directory of both; dropping the cluster ends all of it. The first node is Slurm's
//! controller.

mod configuration;
mod door;
mod switch;

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::cache::Cache;
use crate::command::Command;
use crate::error::{Error, OnPath, Result};
use crate::kernel::KernelLine;
use crate::node::Node;
use crate::run_directory::RunDirectory;
use crate::slurm::SlurmRelease;
use crate::spec::{NodeSpec, Port, Topology};

use configuration::Configuration;
pub use configuration::{USERS, address, name};
pub use door::Door;
pub use switch::{Counts, Rule, Switch};

/// The most nodes of a cluster: the host emulates them all.
pub const MOST: u8 = 16;
const START: &str = include_str!("start.sh");
/// Slurm on a busy host.
const READY: Duration = Duration::from_secs(180);

/// Waits until Slurm can give this node work, or says what Slurm thinks of it.
const AWAIT: &str = r#"
    for try in $(seq 300); do
        state=$(sinfo -h -n "$NAME" -o %T 2>&1) || true
        registered=$(scontrol show node "$NAME" 2>/dev/null | grep -o 'SlurmdStartTime=20[^ ]*') || true
        case $state in
        idle | mixed | allocated | completing) [ -z "$registered" ] || [ "$registered" = "$BEFORE" ] || exit 0 ;;
        esac
        sleep 0.3
    done
    echo "Slurm calls it $state: $(sinfo -h -R -n "$NAME" -o %E 2>/dev/null)" >&2
    exit 1"#;
/// When slurmd registered last, of a node that is about to start it anew.
const REGISTERED: &str = r#"scontrol show node "$NAME" 2>/dev/null | grep -o 'SlurmdStartTime=20[^ ]*'; true"#;

/// A cluster to boot. Start from [`ClusterSpec::new`] and change fields.
#[derive(Debug, Clone)]
pub struct ClusterSpec {
    /// Describes each node; the cluster gives it its name and its port.
    pub node: NodeSpec,
    /// How many.
    pub nodes: u8,
    /// Which Slurm its nodes run.
    pub slurm: SlurmRelease,
    /// `TaskPlugin` of Slurm.
    pub task_plugin: String,
    /// A script that each node runs as root after its boot, before Slurm starts.
    pub first: Option<String>,
}

impl ClusterSpec {
    /// So many nodes of four CPUs and 1 GiB.
    pub fn new(kernel: KernelLine, nodes: u8) -> ClusterSpec {
        let mut node = NodeSpec::new(kernel);
        node.topology = Topology::flat(4);
        node.memory_mib = 1024;
        let (slurm, task_plugin) = (SlurmRelease::default(), "task/cgroup,task/affinity".to_owned());
        ClusterSpec { node, nodes, slurm, task_plugin, first: None }
    }

    /// Checks the description, before anything is started.
    pub fn check(&self) -> Result<()> {
        if self.nodes == 0 || self.nodes > MOST {
            let remedy = format!("use 1 to {MOST}");
            return Err(Error::new("cluster description", format!("{} nodes", self.nodes), remedy));
        }
        if self.node.systemd {
            return Err(Error::new("cluster description", "nodes with systemd", "its own script starts the daemons"));
        }
        self.node.check()
    }
}

/// A running cluster.
pub struct Cluster {
    cache: Cache,
    spec: ClusterSpec,
    key: String,
    // Dropped in this order: nodes before the switch that they are connected to, and before their directory.
    nodes: Vec<Mutex<Option<Arc<Node>>>>,
    switch: Switch,
    run: RunDirectory,
}

impl Cluster {
    /// Boots all nodes side by side, and waits until Slurm can give each work.
    pub fn up(cache: &Cache, spec: &ClusterSpec) -> Result<Cluster> {
        spec.check()?;
        let run = RunDirectory::create(cache)?;
        let home = run.path().join("home");
        fs::create_dir(&home).on(&home)?;
        let cluster = Cluster {
            cache: cache.clone(),
            spec: spec.clone(),
            key: random_key()?,
            nodes: (0..spec.nodes).map(|_| Mutex::new(None)).collect(),
            switch: Switch::start(run.path(), spec.nodes)?,
            run,
        };
        each((1..=spec.nodes).collect(), |number| cluster.start(number))?;
        // its daemon answers for the others
        each((1..=spec.nodes).collect(), |number| cluster.await_slurm(number, ""))?;
        Ok(cluster)
    }

    /// A node that runs.
    pub fn node(&self, name: &str) -> Result<Arc<Node>> {
        let node = self.slot(self.number(name)?).lock().unwrap_or_else(PoisonError::into_inner).clone();
        let node = node.filter(|node| node.is_alive());
        node.ok_or_else(|| Error::new(format!("node {name}"), "it is off", format!("`tacet node cluster boot {name}`")))
    }

    /// The names of all nodes, and whether each runs.
    pub fn states(&self) -> Vec<(String, bool)> {
        let names = (1..=self.spec.nodes).map(name);
        names.map(|name| (name.clone(), self.node(&name).is_ok())).collect()
    }

    /// The network.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// The host's directory that is `/home` on all nodes.
    pub fn home(&self) -> PathBuf {
        self.run.path().join("home")
    }

    /// Ends a node as a loss of power does.
    pub fn kill(&self, name: &str) -> Result<()> {
        self.node(name)?.kill()?;
        *self.slot(self.number(name)?).lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Boots a node that is off, and waits until Slurm can give it work.
    pub fn boot(&self, name: &str) -> Result<()> {
        let number = self.number(name)?;
        if self.node(name).is_ok() {
            return Err(Error::new(format!("node {name}"), "it runs", format!("`tacet node cluster kill {name}`")));
        }
        let before = self.registered(number);
        self.start(number)?;
        self.await_slurm(number, &before)
    }

    fn number(&self, name: &str) -> Result<u8> {
        let unknown = || Error::new(format!("node {name}"), "no such node", format!("use n1 to n{}", self.spec.nodes));
        (1..=self.spec.nodes).find(|number| configuration::name(*number) == name).ok_or_else(unknown)
    }

    fn slot(&self, number: u8) -> &Mutex<Option<Arc<Node>>> {
        &self.nodes[usize::from(number) - 1]
    }

    /// Boots one node and starts its daemons.
    fn start(&self, number: u8) -> Result<()> {
        let mut spec = self.spec.node.clone().share(self.home());
        let (socket, slurm) = (self.switch.socket(number), self.spec.slurm);
        spec.port = Some(Port { name: name(number), number, socket, slurm });
        let node = Node::boot(&self.cache, &spec)?;
        if let Some(script) = &self.spec.first {
            succeed(&node, &name(number), &Command::shell(script))?;
        }
        let configuration = self.configuration();
        let users: Vec<String> = USERS.iter().map(|(name, id)| format!("{name}:{id}")).collect();
        let start = Command::shell(START)
            .env("NAME", &name(number))
            .env("ADDRESS", &address(number))
            .env("FIRST", &name(1))
            .env("HOME_SHARE", &self.home().display().to_string())
            .env("USERS", &users.join(" "))
            .env("KEY", &self.key)
            .env("HOSTS", &configuration.hosts())
            .env("SLURM", &configuration.slurm())
            .env("CGROUP", &configuration.cgroup());
        succeed(&node, &name(number), &start)?;
        *self.slot(number).lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(node));
        Ok(())
    }

    fn configuration(&self) -> Configuration {
        let topology = self.spec.node.topology;
        Configuration {
            nodes: self.spec.nodes,
            shape: (topology.sockets, topology.dies * topology.cores, topology.threads),
            memory_mib: self.spec.node.memory_mib,
            release: self.spec.slurm,
            task_plugin: self.spec.task_plugin.clone(),
        }
    }

    fn await_slurm(&self, number: u8, before: &str) -> Result<()> {
        let command = Command::shell(AWAIT).env("NAME", &name(number)).env("BEFORE", before).timeout(READY);
        succeed(&*self.node(&name(number))?, &name(number), &command)
    }

    /// Nothing, if no controller answers.
    fn registered(&self, number: u8) -> String {
        let command = Command::shell(REGISTERED).env("NAME", &name(number)).timeout(READY);
        let answer = self.node(&name(1)).and_then(|first| first.run(&command));
        answer.map(|output| output.text().trim().to_owned()).unwrap_or_default()
    }
}

fn succeed(node: &Node, name: &str, command: &Command) -> Result<()> {
    let output = node.run(command)?;
    if output.status.success() {
        return Ok(());
    }
    let said = output.error_text();
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("its start failed and said nothing");
    Err(Error::new(format!("node {name}"), last, ""))
}

/// Does something for all numbers side by side; the first error is the result.
fn each(numbers: Vec<u8>, act: impl Fn(u8) -> Result<()> + Sync) -> Result<()> {
    let act = &act;
    thread::scope(|scope| {
        let threads: Vec<_> = numbers.into_iter().map(|number| scope.spawn(move || act(number))).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Error::new("cluster", "a thread of it died", "report this")))
        });
        joined.collect::<Vec<_>>().into_iter().collect()
    })
}

/// A key for munge that exists for the time of this cluster.
fn random_key() -> Result<String> {
    let path = std::path::Path::new("/dev/urandom");
    let mut bytes = [0; 64];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).on(path)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_clusters_are_refused() {
        let with = |change: fn(&mut ClusterSpec)| {
            let mut spec = ClusterSpec::new(KernelLine::V6_12, 3);
            change(&mut spec);
            spec.check()
        };
        assert!(with(|_| ()).is_ok());
        assert!(with(|spec| spec.nodes = 0).is_err() && with(|spec| spec.nodes = MOST + 1).is_err());
        assert!(with(|spec| spec.node.systemd = true).is_err() && with(|spec| spec.node.memory_mib = 1).is_err());
    }

    #[test]
    fn the_first_error_of_several_nodes_is_told() {
        let fail = |number| if number < 2 { Ok(()) } else { Err(Error::new(number, "fails", "")) };
        assert_eq!(each(vec![1, 2, 3], fail), Err(Error::new(2, "fails", "")));
        assert_eq!(each(vec![1], fail), Ok(()));
    }
}
