// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags of `tacet node cluster`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use tacet_words::values::{Offering, small_count};

/// A version of one of these is right, too.
const SLURMS: [&str; 2] = ["22.05", "24.11"];

#[derive(Args, Clone)]
pub struct NodeCluster {
    /// Nodes [default: 2]
    #[arg(long, value_name = "COUNT", value_parser = small_count::<u8>)]
    pub nodes: Option<u8>,
    /// Slurm, as Debian 12 or 13 has it [default: 24.11]
    #[arg(long, value_name = "VERSION", value_parser = Offering(&SLURMS))]
    pub slurm: Option<String>,
    /// Only say what would be booted
    #[arg(long)]
    pub dry_run: bool,
    #[command(subcommand)]
    pub command: Option<ClusterCommand>,
}

#[derive(Subcommand, Clone)]
pub enum ClusterCommand {
    /// Run a command on a node of the cluster, exit with the command's status
    ///
    /// Standard input is empty. If this command is interrupted, the other one ends too.
    Run(ClusterRun),
    /// Show the nodes, what Slurm thinks of them, and the frames that the switch has seen
    Status,
    /// Switch a node off, as a loss of power does
    Kill(ClusterNode),
    /// Boot a node that is off
    Boot(ClusterNode),
    /// Switch all nodes off, and end the command that holds them
    Down {
        /// Only say what would be ended
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Args, Clone)]
pub struct ClusterRun {
    /// Only say what would be run, and where
    #[arg(long)]
    pub dry_run: bool,
    /// Node that runs it [default: n1]
    #[arg(long, value_name = "NODE")]
    pub on: Option<String>,
    /// User who runs it: root, alice, bob or carol [default: root]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Args, Clone)]
pub struct ClusterNode {
    /// Only say what would happen
    #[arg(long)]
    pub dry_run: bool,
    /// Name of the node, as n2
    #[arg(value_name = "NODE")]
    pub node: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_releases_of_slurm_that_are_offered_are_those_of_clusters() {
        let releases = tacet_node::SlurmRelease::ALL.map(|release| release.to_string());
        assert_eq!(SLURMS.map(str::to_owned), releases);
    }
}
