// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet up`: take CPUs and memory, start the co-kernel.
//!
//! Everything that can be checked without the module is checked before the module is loaded.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tacet_ctl::status::USAGE;
use tacet_ctl::{
    CpuSet, Device, Error, Image, Interrupted, Loading, Machine, Module, NodeMemory, PartitionState, Plan, PlanRequest,
    Result, compaction, find_image, format_bytes, parse_bytes,
};

use crate::args::UpArgs;
use crate::output;
use crate::text::duration;

/// The JSON of `up`.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    memory_bytes: u64,
    module: Loading,
    image: &'a Path,
    dry_run: bool,
    /// How long the start took; absent on a dry run.
    up_ns: Option<u64>,
}

pub fn up(machine: &Machine, args: UpArgs, json: bool) -> Result<u8> {
    let request = request(&args)?;
    refuse_second()?;
    let plan = Plan::make(machine, &request)?;
    for warning in &plan.warnings {
        output::note(warning);
    }
    if args.dry_run {
        return rehearse(machine, &args, &plan, json);
    }
    let interrupted = Interrupted::watch()?;
    if plan.cpus_proposed {
        let kept = machine.online()?.without(&plan.cpus);
        output::note(&format!("taking {}; Linux keeps {} (see --cpus)", plan.cpus.named(), kept.named()));
    }
    let path = image_path(&args)?;
    let image = Image::read(&path)?;
    let module = Module::look(machine).load(args.test_hooks)?;
    let device = Device::open()?;
    if args.test_hooks && !device.status()?.test_hooks {
        let remedy = "`rmmod tacet`, then repeat";
        return Err(Error::new("module tacet", "it is loaded without test hooks", remedy));
    }
    if let Some(error) = interrupted.undone("partition") {
        return Err(error);
    }
    compaction::keep_locked_pages(machine)?;
    if let Err(error) = device.up(&plan, &image, args.fail_step.unwrap_or(0)) {
        compaction::let_locked_pages_move(machine)?;
        return Err(error);
    }
    if let Some(error) = interrupted.undone("partition") {
        device.down(true)?;
        compaction::let_locked_pages_move(machine)?;
        return Err(error);
    }
    let up_ns = device.status()?.up_ns;
    if json {
        output::json(&Report {
            plan: &plan,
            memory_bytes: plan.memory_bytes(),
            module,
            image: &path,
            dry_run: false,
            up_ns: Some(up_ns),
        })?;
    } else {
        let memory = format_bytes(plan.memory_bytes());
        output::print(&format!("up: {}, {memory}, started in {}\n", taken(&plan), duration(up_ns)))?;
    }
    Ok(0)
}

fn taken(plan: &Plan) -> String {
    if plan.cpus.is_empty() { "no CPU yet".to_string() } else { plan.cpus.named() }
}

/// Comes before the plan: a plan for the remaining CPUs would fail with a message that misleads.
fn refuse_second() -> Result<()> {
    match Device::open().and_then(|device| device.status()) {
        Ok(status) if status.state == PartitionState::Up => {
            let cause = format!("one is up already, on {}", status.cpus.named());
            Err(Error::new("partition", cause, "`tacet down` ends it"))
        }
        _ => Ok(()),
    }
}

/// Prints the plan first, then fails if the module or the image is missing.
fn rehearse(machine: &Machine, args: &UpArgs, plan: &Plan, json: bool) -> Result<u8> {
    let module = Module::look(machine).plan();
    let image = image_path(args).and_then(|path| Image::read(&path).map(|_| path));
    if !json {
        output::print(&describe(machine, plan)?)?;
    }
    let (module, image) = (module?, image?);
    if json {
        let memory_bytes = plan.memory_bytes();
        output::json(&Report { plan, memory_bytes, module, image: &image, dry_run: true, up_ns: None })?;
    } else {
        let loading = match module {
            Loading::Loaded => "would use the loaded module".to_string(),
            Loading::Modprobe => "would load the module by modprobe".to_string(),
            Loading::File(path) => format!("would load the module {}", path.display()),
        };
        output::print(&format!("{loading}\nwould start {}\n", image.display()))?;
    }
    Ok(0)
}

fn describe(machine: &Machine, plan: &Plan) -> Result<String> {
    let kept = machine.online()?.without(&plan.cpus);
    let memory =
        plan.memory.iter().map(|entry| format!("would take {} of node {}\n", format_bytes(entry.bytes), entry.node));
    let locked = "would keep Linux from moving locked pages (vm.compact_unevictable_allowed) until `tacet down`\n";
    let cpus = format!("would take {}; Linux keeps {}\n", taken(plan), kept.named());
    let spare = match plan.spare.is_empty() {
        true => String::new(),
        false => format!("would leave room for {}\n", plan.spare.named()),
    };
    Ok(cpus + &spare + &memory.collect::<String>() + locked)
}

fn image_path(args: &UpArgs) -> Result<PathBuf> {
    args.image.clone().map_or_else(find_image, Ok)
}

fn request(args: &UpArgs) -> Result<PlanRequest> {
    let as_usage = |error: Error| error.with_status(USAGE);
    let cpus = args.cpus.as_deref().map(str::parse::<CpuSet>).transpose().map_err(as_usage)?;
    let memory = args.memory.as_deref().map(parse_bytes).transpose().map_err(as_usage)?;
    let numa_memory = args.numa_memory.as_deref().map(numa).transpose().map_err(as_usage)?;
    let spare = args.spare.as_deref().map(str::parse::<CpuSet>).transpose().map_err(as_usage)?;
    Ok(PlanRequest { cpus, spare, memory, numa_memory, mix_users: args.mix_users })
}

/// `0=512M,1=512M`
fn numa(text: &str) -> Result<Vec<NodeMemory>> {
    text.split(',').map(numa_entry).collect()
}

fn numa_entry(text: &str) -> Result<NodeMemory> {
    let entry = text.split_once('=').and_then(|(node, size)| Some((node.parse().ok()?, size)));
    let (node, size) = entry.ok_or_else(|| {
        Error::new(format!("NUMA memory `{text}`"), "it is not NODE=SIZE", "write it like 0=512M,1=512M")
    })?;
    Ok(NodeMemory { node, bytes: parse_bytes(size)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numa_lists() {
        let wanted = [NodeMemory { node: 0, bytes: 512 << 20 }, NodeMemory { node: 3, bytes: 1 << 30 }];
        assert_eq!(numa("0=512M,3=1G").unwrap(), wanted);
        for text in ["", "0", "0=", "=1G", "0=1G,", "-1=1G", "0:1G"] {
            assert!(numa(text).is_err(), "{text}");
        }
    }
}
