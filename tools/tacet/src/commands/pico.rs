// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet pico`: the fast paths of devices, and what cores did by them.

use tacet_ctl::status::{DONE, NO};
use tacet_ctl::{Device, DeviceState, Error, Grant, Machine, Pico, PicoDevice, Queue, Result, format_bytes};

use crate::output;
use crate::text::word;

pub fn pico(machine: &Machine, json: bool) -> Result<u8> {
    let Some(pico) = Pico::read(machine)? else {
        Device::open()?;
        return Err(Error::new("/sys/kernel/tacet/pico", "it does not exist", "load the module of this command"));
    };
    if json {
        output::json(&pico)?;
    } else {
        output::print(&describe(&pico))?;
    }
    Ok(if pico.partition_is_up { DONE } else { NO })
}

fn describe(pico: &Pico) -> String {
    if !pico.partition_is_up {
        return "no partition is up: no device has a fast path\n".to_string();
    }
    if pico.devices.is_empty() {
        let why = if pico.switched_on { "no device can have one" } else { SWITCHED_OFF };
        return format!("no device has a fast path: {why}\n");
    }
    let mut text = output::table(&["DEVICE", "KIND", "MODE", "STATE", "QUEUES>"], pico.devices.iter().map(device));
    for device in pico.devices.iter().filter(|device| device.state == DeviceState::None) {
        let why = device.why_not.as_deref().unwrap_or("see `tacet log`");
        text += &format!("{}: no fast path: {why}\n", device.address);
    }
    let queues = pico.devices.iter().flat_map(|device| device.queues.iter().map(move |queue| row(device, queue)));
    let headings = [
        "DEVICE",
        "CPU>",
        "QUEUE>",
        "CALLS>",
        "COMMANDS>",
        "READ>",
        "WRITTEN>",
        "AT-ONCE>",
        "FORWARDED>",
        "BECAUSE-OF",
    ];
    text += &format!("\n{}", output::table(&headings, queues));
    if pico.queues_not_listed > 0 {
        text += &format!("and {} more queues\n", pico.queues_not_listed);
    }
    if !pico.grants.is_empty() {
        let headings = ["PID>", "DESCRIPTOR>", "DEVICE", "NAMESPACE>", "RIGHTS", "FIRST-BYTE>", "SIZE>", "STATE"];
        text += &format!("\n{}", output::table(&headings, pico.grants.iter().map(grant)));
    }
    text
}

const SWITCHED_OFF: &str =
    "they are off; as root, before `tacet up`: `echo 1 >/sys/module/tacet/parameters/fast_paths`";

fn device(device: &PicoDevice) -> Vec<String> {
    let working = device.queues.iter().filter(|queue| queue.works).count();
    vec![device.address.clone(), device.kind.clone(), device.mode.clone(), word(&device.state), working.to_string()]
}

fn row(device: &PicoDevice, queue: &Queue) -> Vec<String> {
    let causes = queue.forwarded.iter().filter(|(_, count)| **count > 0);
    let causes: Vec<String> = causes.map(|(cause, count)| format!("{cause}:{count}")).collect();
    vec![
        device.address.clone(),
        queue.cpu.to_string(),
        queue.queue.to_string(),
        queue.calls.to_string(),
        queue.commands.to_string(),
        format_bytes(queue.read_bytes),
        format_bytes(queue.written_bytes),
        queue.most_calls_at_once.to_string(),
        queue.forwarded.values().sum::<u64>().to_string(),
        if causes.is_empty() { "none".to_string() } else { causes.join(" ") },
    ]
}

fn grant(grant: &Grant) -> Vec<String> {
    let rights = match (grant.read, grant.write) {
        (true, true) => "read,write",
        (true, false) => "read",
        (false, true) => "write",
        (false, false) => "none",
    };
    let bytes = |blocks: u64| blocks.saturating_mul(grant.block_bytes.into());
    vec![
        grant.pid.to_string(),
        grant.descriptor.to_string(),
        grant.device.clone(),
        grant.namespace.to_string(),
        rights.to_string(),
        bytes(grant.first_block).to_string(),
        format_bytes(bytes(grant.blocks)),
        if grant.valid { "valid" } else { "revoked" }.to_string(),
    ]
}
