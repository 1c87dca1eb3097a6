// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags and keys of `tacet node`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::cluster::NodeCluster;
use clap::{Args, Subcommand};
use serde::Deserialize;
use tacet_words::values::{Offering, checked, duration_or_seconds, size, small_count};

/// A release of one of these is right, too.
const KERNELS: [&str; 3] = ["6.1", "6.12", "7"];
const ACCELERATORS: [&str; 3] = ["auto", "kvm", "tcg"];

#[derive(Subcommand)]
pub enum NodeCommand {
    /// Boot a node, run a command in it, exit with the command's status
    ///
    /// The node shares the current directory and has this tacet installed. Standard input is empty; use
    /// `tacet node shell` for interactive programs.
    Run(NodeRun),
    /// Boot a node and open a shell in it
    Shell,
    /// Boot a cluster of nodes with Slurm, and hold it until Ctrl-C or `tacet node cluster down`
    ///
    /// The nodes are n1, n2 and so on, in a network of their own. They share the current directory and /home, and have
    /// this tacet installed. The users are root, alice, bob and carol. One cluster runs at a time.
    #[command(args_conflicts_with_subcommands = true)]
    Cluster(NodeCluster),
    /// List the kernels that a node can boot
    List,
    /// Fetch and build what a node needs
    Setup {
        /// Only say what is missing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Args, Clone)]
pub struct NodeRun {
    /// Only say what would be booted
    #[arg(long)]
    pub dry_run: bool,
    /// Share another directory at the same path; may be given several times
    #[arg(long, value_name = "DIRECTORY")]
    pub share: Vec<PathBuf>,
    /// Load this plugin into the emulator (TCG)
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// File for the plugin's output
    #[arg(long, value_name = "FILE", requires = "plugin")]
    pub plugin_log: Option<PathBuf>,
    /// Execute the same instructions each time under this seed, three times slower
    ///
    /// Such a node has virtual time, busybox instead of a system, and copies of the current and of shared directories;
    /// programs must be static.
    #[arg(long, value_name = "SEED")]
    pub reproducible: Option<u64>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Args, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NodeArgs {
    /// Kernel, or a release of one [default: 6.12]
    #[arg(long, global = true, value_name = "VERSION", value_parser = Offering(&KERNELS))]
    pub kernel: Option<String>,
    /// Virtual CPUs [default: 4]
    #[arg(long = "node-cpus", alias = "cpus", global = true, value_name = "COUNT", value_parser = small_count::<u32>)]
    #[serde(rename = "node-cpus", alias = "cpus")]
    pub cpus: Option<u32>,
    /// Memory of the node [default: 2G]
    #[arg(long = "node-memory", alias = "memory", global = true, value_name = "SIZE", value_parser = checked(size))]
    #[serde(rename = "node-memory", alias = "memory")]
    pub memory: Option<String>,
    /// Words added to the kernel's command line
    #[arg(long, global = true, value_name = "WORDS")]
    pub boot_arguments: Option<String>,
    /// Time that a command may take; a number alone is seconds, as in the configuration file [default: 1d]
    #[arg(long, global = true, value_name = "TIME", value_parser = seconds)]
    pub timeout: Option<u64>,
    /// What executes the node; auto is KVM if a probe boots a guest
    #[arg(long, global = true, value_name = "KIND", value_parser = Offering(&ACCELERATORS))]
    pub accel: Option<String>,
}

/// Whole seconds, at least one.
fn seconds(text: &str) -> Result<u64, String> {
    duration_or_seconds(text).map(|time| time.as_secs_f64().ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_that_are_offered_are_those_of_nodes() {
        let lines = tacet_node::KernelLine::ALL.map(|line| line.to_string());
        assert_eq!(KERNELS.map(str::to_owned), lines);
    }
}
