// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet static`: static nodes, and programs on them. One file for each of its commands.
//!
//! Only flags, defaults and output are here; `tacet-static` owns what a set of nodes is.

mod boot;
mod console;
mod govern;
mod iod;
mod jobs;
mod map;
mod run;
mod shape;

use tacet_ctl::Result;
use tacet_iod::control::NodeOrder;
use tacet_static::state::Facts;

pub use iod::iod;

use crate::args::{StaticArgs, StaticCommand};
use crate::output;

pub fn static_nodes(command: StaticCommand, configured: StaticArgs, json: bool) -> Result<u8> {
    match command {
        StaticCommand::Boot(args) => boot::boot(args, configured, json),
        StaticCommand::Run(args) => run::run(args, configured, json),
        StaticCommand::Status(set) => jobs::status(&set, json),
        StaticCommand::Kill(args) => jobs::kill(&args, json),
        StaticCommand::Drain(args) => govern::govern(&args, NodeOrder::Drain, json),
        StaticCommand::Return(args) => govern::govern(&args, NodeOrder::Return, json),
        StaticCommand::Reset(args) => govern::govern(&args, NodeOrder::Reset, json),
        StaticCommand::PowerOff(args) => govern::govern(&args, NodeOrder::PowerOff, json),
        StaticCommand::Map(args) => map::map(&args, json),
        StaticCommand::Console(args) => console::console(&args, json),
        StaticCommand::Keep => {
            if let Err(error) = tacet_static::keeper::keep() {
                tacet_static::keeper::failed(&error);
                return Ok(1);
            }
            Ok(0)
        }
        StaticCommand::Trial => tacet_static::trial::run().map(|()| 0),
    }
}

/// The line about KVM of `--verbose`.
fn note_executor(facts: &Facts) {
    let (what, why) = (if facts.kvm { "KVM executes the nodes" } else { "the nodes are emulated" }, &facts.why_kvm);
    output::note(&format!("{what}: {why}"));
}

/// One line for each node: how its emulator is started.
fn print_start(lines: &[(String, String)], json: bool) -> Result<()> {
    if json {
        let entry = |(command, kernel): &(String, String)| serde_json::json!({ "command": command, "kernel_arguments": kernel });
        let nodes: Vec<_> = lines.iter().map(entry).collect();
        return output::json(&serde_json::json!({ "nodes": nodes, "dry_run": true }));
    }
    let text = lines.iter().zip(0..).map(|((command, kernel), node)| {
        format!("node {node}: {command}\nnode {node}: kernel command line (in its settings file): {kernel}\n")
    });
    output::print(&text.collect::<String>())
}
