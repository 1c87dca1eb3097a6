// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet static drain`, `return`, `reset` and `power-off`: the operator's orders about one node.

use serde::Serialize;
use tacet_ctl::{Error, Result};
use tacet_iod::control::NodeOrder;
use tacet_static::daemon;

use super::jobs::control;
use crate::args::StaticNode;
use crate::output;

/// The JSON of each of them.
#[derive(Serialize)]
struct Governed {
    node: u32,
    order: NodeOrder,
    dry_run: bool,
}

pub fn govern(args: &StaticNode, order: NodeOrder, json: bool) -> Result<u8> {
    let (control, node, dry_run) = (control(&args.set)?, args.node, args.dry_run);
    if dry_run {
        rehearse(&control, node)?;
    } else {
        daemon::govern(&control, node, order)?;
    }
    if json {
        output::json(&Governed { node, order, dry_run })?;
    } else if dry_run {
        output::print(&format!("would {} node {node}\n", name(order)))?;
    }
    Ok(0)
}

/// The daemon answers, and knows the node.
fn rehearse(control: &std::path::Path, node: u32) -> Result<()> {
    let is_known = daemon::status(control)?.nodes.iter().any(|known| known.node == node);
    let unknown = || Error::new(format!("node {node}"), "the daemon does not know it", "see `tacet static status`");
    if is_known { Ok(()) } else { Err(unknown()) }
}

fn name(order: NodeOrder) -> &'static str {
    match order {
        NodeOrder::Drain => "drain",
        NodeOrder::Return => "return",
        NodeOrder::Reset => "reset",
        NodeOrder::PowerOff => "power off",
    }
}
