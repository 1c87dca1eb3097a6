// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags of `tacet static` and `tacet iod`. Those that describe emulated nodes are keys of the configuration file too.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Deserialize;
use tacet_static::state::DEFAULT_NAME;
use tacet_static::{Accelerator, Card, Link, Machine};
use tacet_words::values::{checked, size, small_count};

#[derive(Subcommand)]
pub enum StaticCommand {
    /// Boot emulated nodes in the background, print how to boot nodes of metal, or end nodes
    Boot(StaticBoot),
    /// Run a program on static nodes; exit as it does
    ///
    /// Uses booted nodes if there are some; otherwise starts emulated ones for this job. Input and output of the program
    /// are those of this command. The exit status is the highest of all ranks, where signal N counts as 128 + N;
    /// 126 if the program cannot be executed, 127 if it is not found, 125 if nodes or daemon failed.
    Run(StaticRun),
    /// Show nodes, jobs and dropped packets
    Status(StaticSet),
    /// Send a job's processes a signal
    Kill(StaticKill),
    /// Give a node no more jobs; the one that it has goes on
    Drain(StaticNode),
    /// Give a drained node jobs again
    Return(StaticNode),
    /// Boot a node again that has no job
    Reset(StaticNode),
    /// Turn a node off that has no job
    PowerOff(StaticNode),
    /// Print where a program's memory would lie on a node, or where a running job's does
    ///
    /// Virtual and physical addresses, page sizes and rights of each segment, and the TLB entries that the whole map
    /// needs. Needs no node, unless --job is given.
    Map(StaticMap),
    /// Print what a node says on its serial line
    Console(StaticConsole),
    /// Own the nodes of a set (started by `boot` and `run`)
    #[command(hide = true)]
    Keep,
    /// Use on a node what programs use, and say so (to decide about KVM)
    #[command(hide = true)]
    Trial,
}

/// Emulated nodes, all alike.
#[derive(Args, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct StaticArgs {
    /// CPUs of an emulated node [default: one for each process]
    #[arg(long = "node-cpus", alias = "cpus", value_name = "COUNT", value_parser = small_count::<u32>)]
    #[serde(rename = "node-cpus", alias = "cpus")]
    pub cpus: Option<u32>,
    /// One more CPU of each node executes no programs: it answers the daemon, which so notices a silent node in 10 s
    #[arg(long)]
    pub service_cpu: bool,
    /// Memory of an emulated node [default: 256M, or what --process-memory and --shared need]
    #[arg(long, value_name = "SIZE", value_parser = checked(size))]
    pub node_memory: Option<String>,
    /// Board of an emulated node [default: microvm]
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(Machine::NAMES))]
    pub machine: Option<String>,
    /// Way to the daemon: frames on a virtio network card, UDP, frames on a virtio console, frames on the second serial
    /// port (q35) [default: bridge]
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(Link::NAMES))]
    pub link: Option<String>,
    /// Network card; the link is `net` then; Intel's (e1000e, igb) on a q35 [default: virtio]
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(Card::NAMES))]
    pub card: Option<String>,
    /// auto (KVM if a job ran under it), kvm or tcg
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(Accelerator::NAMES))]
    pub accel: Option<String>,
    /// Kernel of the nodes [default: the one installed with this command]
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Emulator [default: the one of `tacet node`, or qemu-system-x86_64 on PATH]
    #[arg(long, value_name = "FILE")]
    pub qemu: Option<PathBuf>,
    /// Words for the end of the emulator's command line; {node} is the node's number (for benches)
    #[arg(long, hide = true, allow_hyphen_values = true, value_name = "WORDS")]
    #[serde(skip)]
    pub emulator_arguments: Option<String>,
}

/// A set of nodes.
#[derive(Args, Clone)]
pub struct StaticSet {
    /// Name of a set of nodes
    #[arg(long, value_name = "SET", default_value = DEFAULT_NAME)]
    pub name: String,
    /// Control socket of the daemon, instead of the set's
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
}

#[derive(Args)]
pub struct StaticBoot {
    /// Number of nodes
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = small_count::<u32>)]
    pub nodes: u32,
    /// Name of the set
    #[arg(long, value_name = "SET", default_value = DEFAULT_NAME)]
    pub name: String,
    #[command(flatten)]
    pub shape: StaticArgs,
    /// End the nodes of the set
    #[arg(long)]
    pub down: bool,
    /// Say what executes the nodes, and why
    #[arg(long)]
    pub verbose: bool,
    /// Only print how the nodes would be started
    #[arg(long)]
    pub dry_run: bool,
    /// Print entries for GRUB that boot nodes of metal, and start nothing; they serve a `tacet iod`
    #[arg(long, requires = "address", requires = "iod", requires = "key", conflicts_with = "down")]
    pub metal: bool,
    /// Metal: address of the first node with its prefix length; the others follow
    #[arg(long, value_name = "ADDRESS/LENGTH")]
    pub address: Option<String>,
    /// Metal: router to the daemon, if it is on another network
    #[arg(long, value_name = "ADDRESS")]
    pub gateway: Option<std::net::Ipv4Addr>,
    /// Metal: address and port of the daemon
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub iod: Option<SocketAddr>,
    /// Metal: the longest IP packet, in bytes, that all networks on the way to the daemon take, its own card included
    #[arg(long, value_name = "BYTES", requires = "metal", value_parser = clap::value_parser!(u32).range(1500..=9000))]
    pub mtu: Option<u32>,
    /// Metal: write the files that boot nodes by the network: DIRECTORY/tftp for the server, DIRECTORY/own/N for node N's own disk
    #[arg(long, value_name = "DIRECTORY", requires = "metal")]
    pub pxe: Option<PathBuf>,
    /// Metal: file with the key of the set, for its daemon; made if it does not exist. Each node gets one of its own from it
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
}

#[derive(Args)]
pub struct StaticRun {
    /// Number of nodes
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = small_count::<u32>)]
    pub nodes: u32,
    /// Processes on each node
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = small_count::<u32>)]
    pub processes: u32,
    /// Memory of each process of a node, like 2G,1G [default: even shares of what the node has]
    #[arg(long = "process-memory", alias = "memory", value_name = "SIZE,...", value_delimiter = ',', value_parser = checked(size))]
    pub memory: Vec<String>,
    /// Memory that the processes of a node share
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = checked(size))]
    pub shared: String,
    /// Stack of each process's first thread [default: the limit of this shell]
    #[arg(long, value_name = "SIZE", value_parser = checked(size))]
    pub stack: Option<String>,
    /// Let other threads of a CPU run while one waits for the daemon
    #[arg(long)]
    pub yield_on_io: bool,
    /// Name of a set of booted nodes [default: `default`, if it is booted]
    #[arg(long, value_name = "SET")]
    pub name: Option<String>,
    /// Control socket of the daemon of booted nodes
    #[arg(long, value_name = "SOCKET", conflicts_with = "name")]
    pub control: Option<PathBuf>,
    /// Start nodes for this job even if others are booted
    #[arg(long, conflicts_with_all = ["name", "control"])]
    pub own_nodes: bool,
    #[command(flatten)]
    pub shape: StaticArgs,
    /// Say what executes the nodes of this job, and why
    #[arg(long)]
    pub verbose: bool,
    /// Only print what would be started
    #[arg(long)]
    pub dry_run: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

#[derive(Args)]
pub struct StaticKill {
    #[command(flatten)]
    pub set: StaticSet,
    /// Signal, by name or number
    #[arg(long, value_name = "SIGNAL", default_value = "TERM")]
    pub signal: String,
    /// End all jobs and all nodes of the set
    #[arg(long, conflicts_with = "job")]
    pub all: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Number of the job, from `tacet static status`
    #[arg(required_unless_present = "all")]
    pub job: Option<u32>,
}

#[derive(Args)]
pub struct StaticNode {
    #[command(flatten)]
    pub set: StaticSet,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Number of the node, from `tacet static status`
    pub node: u32,
}

#[derive(Args)]
pub struct StaticMap {
    /// Processes on the node
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = small_count::<u32>)]
    pub processes: u32,
    /// Memory of each process, like 2G,1G [default: even shares of what the node has]
    #[arg(long = "process-memory", alias = "memory", value_name = "SIZE,...", value_delimiter = ',', value_parser = checked(size))]
    pub memory: Vec<String>,
    /// Memory of the node
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = checked(size))]
    pub node_memory: String,
    /// Memory that the processes share
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = checked(size))]
    pub shared: String,
    /// Print the map of this running job
    #[arg(long, value_name = "ID", conflicts_with_all = ["processes", "memory", "node_memory", "shared"])]
    pub job: Option<u32>,
    #[command(flatten)]
    pub set: StaticSet,
    /// The program
    #[arg(required_unless_present = "job", conflicts_with = "job", value_name = "PROGRAM")]
    pub program: Option<OsString>,
}

#[derive(Args)]
pub struct StaticConsole {
    #[command(flatten)]
    pub set: StaticSet,
    /// Continue with what the node says from now on
    #[arg(long)]
    pub follow: bool,
    /// Number of the node, from 0
    pub node: u32,
}

#[derive(Args)]
pub struct IodArgs {
    /// Address and UDP port for the nodes
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// File with the key of the set of nodes; made if it does not exist
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Name of the set of nodes
    #[arg(long, value_name = "SET", default_value = DEFAULT_NAME)]
    pub name: String,
    /// Control socket [default: in the directory of the set; with --all-users, /run/tacet-iod/SET]
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// How many nodes the set has: a job that wants more is refused [default: unknown, the job waits]
    #[arg(long, value_name = "COUNT", value_parser = small_count::<u32>)]
    pub nodes: Option<u32>,
    /// Every user may submit jobs, which run as that user; only for root
    #[arg(long)]
    pub all_users: bool,
    /// Only check the flags, and say what would be done
    #[arg(long)]
    pub dry_run: bool,
}
