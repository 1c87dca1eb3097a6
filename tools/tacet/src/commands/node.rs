// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet node`: a node in QEMU instead of this machine.
//!
//! Only flags, defaults and output are here; `tacet-node` owns what a node is.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Machine, Result, parse_bytes};
use tacet_node::{Accelerator, Cache, Kernel, KernelLine, Node, NodeSpec, Status, Topology, provision};
use tacet_words::interrupted;

use super::node_error::from_node;
use super::node_guest::Guest;
use super::node_run;
use crate::args::{NodeArgs, NodeCommand, NodeRun};
use crate::output;

/// A program may compute for a day.
const COMMAND_SECONDS: u64 = 24 * 3600;
/// No login shell: `/etc/profile` would set PATH anew, and this command would not be found.
const SHELL: [&str; 2] = ["bash", "-i"];

pub fn node(command: NodeCommand, args: NodeArgs, json: bool) -> Result<u8> {
    let spec = describe(&args)?;
    match command {
        NodeCommand::Run(run) => {
            let spec = node_run::equip(spec, &run)?;
            if !run.dry_run {
                announce(|| ())?;
            }
            match (run.dry_run, spec.reproducible) {
                (true, _) => rehearse(&spec, &run.command, json),
                (false, Some(_)) => node_run::once(spec, &run),
                (false, None) => self::run(spec, &run),
            }
        }
        NodeCommand::Shell => {
            announce(tacet_node::restorer())?;
            shell(spec)
        }
        NodeCommand::Cluster(cluster) => super::cluster::cluster(spec, args.memory.is_some(), cluster, json),
        NodeCommand::List => list(json),
        NodeCommand::Setup { dry_run } => setup(dry_run, json),
    }
}

/// The node ends with this process. `before` is called first.
fn announce(before: impl Fn() + Send + 'static) -> Result<()> {
    let said = move |signal: &str| {
        before();
        output::note(&format!("interrupted by {signal}: the node is switched off"));
    };
    interrupted::announce(said).map_err(|io| Error::io("signals", &io, ""))
}

fn describe(args: &NodeArgs) -> Result<NodeSpec> {
    let wrong = |error: Error| error.with_status(USAGE);
    let kernel = args.kernel.as_deref().map_or(Ok(KernelLine::V6_12), str::parse).map_err(from_node).map_err(wrong)?;
    let mut spec = NodeSpec::new(kernel);
    spec.command_timeout = Duration::from_secs(args.timeout.unwrap_or(COMMAND_SECONDS));
    if let Some(cpus) = args.cpus {
        spec.topology = Topology::flat(cpus);
    }
    if let Some(memory) = &args.memory {
        let mebibytes = parse_bytes(memory).map_err(wrong)? >> 20;
        Machine::default().can_emulate(mebibytes << 20)?;
        spec.memory_mib = mebibytes.try_into().unwrap_or(u32::MAX);
    }
    spec = spec.argument(args.boot_arguments.as_deref().unwrap_or_default());
    spec.accelerator = match args.accel.as_deref() {
        None | Some("auto") => Accelerator::Auto,
        Some("kvm") => Accelerator::Kvm,
        Some("tcg") => Accelerator::Tcg,
        Some(other) => {
            let object = format!("accelerator `{other}`");
            return Err(wrong(Error::new(object, "no such accelerator", "use auto, kvm or tcg")));
        }
    };
    spec.check().map_err(from_node).map_err(wrong)?;
    Ok(spec)
}

fn run(spec: NodeSpec, run: &NodeRun) -> Result<u8> {
    let (node, guest) = boot(spec)?;
    let job = node.start(&guest.command(&run.command));
    let status = job.and_then(|job| job.follow(&mut io::stdout(), &mut io::stderr()));
    end(node, status, run.plugin_log.as_deref())
}

fn shell(spec: NodeSpec) -> Result<u8> {
    let (node, guest) = boot(spec)?;
    let status = node.interact(&guest.command(&SHELL.map(OsString::from)));
    end(node, status, None)
}

fn boot(spec: NodeSpec) -> Result<(Node, Guest)> {
    let cache = Cache::open().map_err(from_node)?;
    provision::ensure(&cache).map_err(from_node)?;
    let kernel = Kernel::installed(&cache, spec.kernel).map_err(from_node)?;
    let guest = Guest::prepare(&cache, &kernel)?;
    let node = Node::boot(&cache, &guest.share(spec)).map_err(from_node)?;
    Ok((node, guest))
}

/// Powers the node off, so that everything written to shared directories is on the host's disk. If the node died,
/// its console is saved in a file.
fn end(node: Node, status: tacet_node::Result<Status>, plugin_log: Option<&Path>) -> Result<u8> {
    match status.map_err(from_node) {
        Ok(status) => {
            let said = node.power_off().map_err(from_node)?;
            node_run::keep(plugin_log, &said)?;
            Ok(status.shell_code())
        }
        Err(error) => {
            let path = std::env::temp_dir().join(format!("tacet-node-{}.log", node.pid()));
            match std::fs::write(&path, node.console()) {
                Ok(()) => output::note(&format!("the node's console is in {}", path.display())),
                Err(io) => output::note(&Error::io(path.display(), &io, "").to_string()),
            }
            Err(error)
        }
    }
}

fn rehearse(spec: &NodeSpec, command: &[OsString], json: bool) -> Result<u8> {
    let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (kernel, cpus, memory_bytes) = (spec.kernel.to_string(), spec.cpus(), u64::from(spec.memory_mib) << 20);
    if json {
        let facts = serde_json::json!({
            "kernel": kernel, "cpus": cpus, "memory_bytes": memory_bytes, "command": words,
            "boot_arguments": spec.kernel_arguments.join(" "), "reproducible": spec.reproducible, "dry_run": true,
        });
        output::json(&facts)?;
    } else {
        let memory = tacet_ctl::format_bytes(memory_bytes);
        let words = words.join(" ");
        output::print(&format!("would boot Linux {kernel} with {cpus} CPUs and {memory}, and run {words}\n"))?;
    }
    Ok(0)
}

fn list(json: bool) -> Result<u8> {
    let cache = Cache::open().map_err(from_node)?;
    let release = |line| Kernel::installed(&cache, line).ok().map(|kernel| kernel.release);
    let kernels: Vec<(String, Option<String>)> =
        KernelLine::ALL.into_iter().map(|line| (line.to_string(), release(line))).collect();
    if json {
        let entry = |(kernel, release)| serde_json::json!({ "kernel": kernel, "release": release });
        let entries: Vec<_> = kernels.into_iter().map(entry).collect();
        output::json(&serde_json::json!({ "kernels": entries }))?;
    } else {
        let absent = || "not fetched yet: `tacet node setup`".to_string();
        let rows = kernels.into_iter().map(|(kernel, release)| vec![kernel, release.unwrap_or_else(absent)]);
        output::print(&output::table(&["KERNEL", "RELEASE"], rows))?;
    }
    Ok(0)
}

fn setup(dry_run: bool, json: bool) -> Result<u8> {
    let missing = provision::missing();
    if dry_run && json {
        let missing: Vec<_> =
            missing.iter().map(|entry| serde_json::json!({ "what": entry.what, "package": entry.package })).collect();
        output::json(&serde_json::json!({ "missing": missing }))?;
    } else if dry_run {
        let lines = missing.iter().map(|entry| format!("missing: {} (package {})\n", entry.what, entry.package));
        output::print(&(lines.collect::<String>() + "would fetch a Debian tree and its kernels, and build images\n"))?;
    } else {
        provision::ensure(&Cache::open().map_err(from_node)?).map_err(from_node)?;
        if json {
            output::json(&serde_json::json!({ "missing": [] }))?;
        }
    }
    Ok(0)
}
