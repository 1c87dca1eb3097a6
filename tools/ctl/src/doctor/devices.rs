// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of devices: which NVMe controllers can have a fast path for the cores (`tacet pico`), and in which way.
//!
//! Called by `examine`. A partition works without any, so nothing here is a problem. How many queues a controller has to
//! spare is known only to its driver: `tacet up` asks.

use super::Check;
use crate::Machine;

const NAME: &str = "fast-paths";
const DEVICES: &str = "sys/bus/pci/devices";
/// NVM Express, by PCI's class code.
const NVME: &str = "0x010802";

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    let controllers = controllers(machine);
    if controllers.is_empty() {
        return vec![Check::ok(NAME, "none: this machine has no NVMe controller on PCI; Linux serves all I/O")];
    }
    controllers.iter().map(|address| controller(machine, address)).collect()
}

/// The addresses of NVMe's physical functions.
fn controllers(machine: &Machine) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(machine.path(DEVICES)) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_one = |address: &String| {
        machine.text(&format!("{DEVICES}/{address}/class")).is_some_and(|class| class == NVME)
            && !machine.exists(&format!("{DEVICES}/{address}/physfn"))
    };
    let mut found: Vec<String> = names.filter(is_one).collect();
    found.sort();
    found
}

fn controller(machine: &Machine, address: &str) -> Check {
    match (shared(machine, address), virtual_functions(machine, address)) {
        (Ok(()), Ok(functions)) => Check::ok(
            NAME,
            format!(
                "{address}: queues in Linux's function if it has some to spare, or one of {functions} virtual functions"
            ),
        ),
        (Ok(()), Err(why)) => {
            Check::ok(NAME, format!("{address}: queues in Linux's function, if it has some to spare; {why}"))
        }
        (Err((why, _)), Ok(functions)) => {
            Check::ok(NAME, format!("{address}: one of {functions} virtual functions; none in Linux's: {why}"))
        }
        (Err((why, remedy)), Err(also)) => Check::warning(NAME, format!("{address}: none: {why}; {also}"), remedy),
    }
}

/// More queues in the function that Linux drives: why not, and what to change.
fn shared(machine: &Machine, address: &str) -> Result<(), (String, &'static str)> {
    let driver = std::fs::read_link(machine.path(&format!("{DEVICES}/{address}/driver"))).ok();
    let driver = driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    match driver.as_deref() {
        Some("nvme") => (),
        Some(other) => return Err((format!("the driver {other} has it, not nvme"), "give it to Linux's driver nvme")),
        None => return Err(("no driver has it".to_string(), "`modprobe nvme`")),
    }
    let is_module = machine.exists("sys/module/nvme/initstate");
    if !machine.exists("sys/kernel/btf/vmlinux") || is_module && !machine.exists("sys/kernel/btf/nvme") {
        let why = "this kernel does not describe its types in /sys/kernel/btf".to_string();
        return Err((why, "use a kernel with CONFIG_DEBUG_INFO_BTF and _MODULES, as distributions have"));
    }
    Ok(())
}

/// How many virtual functions it can have, or why none.
fn virtual_functions(machine: &Machine, address: &str) -> Result<u32, &'static str> {
    let total = machine.text(&format!("{DEVICES}/{address}/sriov_totalvfs"));
    match total.and_then(|text| text.parse().ok()) {
        Some(functions) if functions > 0 => Ok(functions),
        Some(_) => Err("its firmware gives it no virtual function"),
        None => Err("it has no virtual functions (SR-IOV)"),
    }
}
