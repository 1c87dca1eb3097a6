// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Properties of systemd's units until the next boot, restored to the byte.
//!
//! `systemctl set-property --runtime` keeps a property in a file below /run and in systemd's memory. The value that
//! this file reads and restores has both: the property as systemd shows it, and the bytes of that file or its absence.

use std::io;

use serde::{Deserialize, Serialize};

use crate::cpus::Cpus;
use crate::node::Node;

const CONTROL: &str = "/run/systemd/system.control";
const STALE: &str = "NeedDaemonReload";
/// A slice of ours without programs. While it is active with a list of CPUs, systemd keeps the cpuset controller on.
/// Another unit's list would stay in its cgroup after the undo: the kernel takes no empty list while programs are in it.
pub const KEEPER: &str = "tacet.slice";
const ACTIVE: &str = "ActiveState";

/// Everything that an undo must restore.
#[derive(Serialize, Deserialize)]
struct Value {
    /// As `systemctl show` prints it.
    property: String,
    /// The file that `set-property --runtime` writes.
    file: Option<String>,
    /// Did the file's directory exist, and did the directory above exist although it was empty? Units share the latter.
    directory: bool,
    control_is_empty: bool,
    /// Do files differ from systemd's memory?
    stale: bool,
    /// Is it active? Of [`KEEPER`] alone, which exists while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active: Option<bool>,
}

fn directory_of(unit: &str) -> String {
    format!("{CONTROL}/{unit}.d")
}

fn file_of(unit: &str, property: &str) -> String {
    format!("{}/50-{property}.conf", directory_of(unit))
}

pub fn read(node: &dyn Node, unit: &str, property: &str) -> io::Result<String> {
    let shown = node.systemctl(&["show", "--property", property, "--property", STALE, "--", unit])?;
    let of = |name: &str| shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default();
    let file = match node.read(&file_of(unit, property)) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let value = Value {
        property: of(property).to_owned(),
        file,
        directory: node.exists(&directory_of(unit)),
        control_is_empty: is_empty(node, CONTROL),
        stale: of(STALE) == "yes",
        active: if unit == KEEPER { Some(is_active(node, unit)?) } else { None },
    };
    serde_json::to_string(&value).map_err(io::Error::other)
}

fn is_active(node: &dyn Node, unit: &str) -> io::Result<bool> {
    Ok(node.systemctl(&["show", "--property", ACTIVE, "--", unit])?.trim() == format!("{ACTIVE}=active"))
}

pub fn set(node: &dyn Node, unit: &str, property: &str, value: &str) -> io::Result<()> {
    assign(node, unit, property, value)?;
    if unit == KEEPER {
        node.systemctl(&["start", "--", unit])?;
    }
    Ok(())
}

fn assign(node: &dyn Node, unit: &str, property: &str, value: &str) -> io::Result<()> {
    node.systemctl(&["set-property", "--runtime", "--", unit, &format!("{property}={value}")]).map(|_| ())
}

/// Restores the property, then the file, then lets systemd read its files again, so that it forgets removed files.
pub fn restore(node: &dyn Node, unit: &str, property: &str, original: Option<&str>) -> io::Result<()> {
    let Some(original) = original else { return Ok(()) };
    let Value { property: before, file, directory, control_is_empty, .. } =
        serde_json::from_str(original).map_err(io::Error::other)?;
    assign(node, unit, property, &before)?;
    if before.is_empty() {
        clear(node, unit, property)?;
    }
    let path = file_of(unit, property);
    match file {
        Some(text) => node.replace(&path, &text)?,
        None => node.remove_file(&path)?,
    }
    for (path, stays) in [(directory_of(unit), directory), (CONTROL.to_owned(), control_is_empty)] {
        if is_empty(node, &path) && !stays {
            node.remove_directory(&path)?;
        }
    }
    node.systemctl(&["daemon-reload"])?;
    if unit == KEEPER {
        node.systemctl(&["stop", "--", unit])?;
    }
    Ok(())
}

fn is_empty(node: &dyn Node, path: &str) -> bool {
    node.list(path).is_ok_and(|names| names.is_empty())
}

/// If a property becomes empty, systemd leaves the old CPUs in the cgroup, and the kernel keeps them too while programs
/// are in it. So this sets all CPUs, which means the same until the controller is switched off.
fn clear(node: &dyn Node, unit: &str, property: &str) -> io::Result<()> {
    let path = format!("/sys/fs/cgroup/{unit}/cpuset.cpus");
    if property != "AllowedCPUs" || !node.exists(&path) {
        return Ok(());
    }
    let all = node.read("/sys/devices/system/cpu/online")?;
    node.write(&path, "").or_else(|_| node.write(&path, &all))
}

/// Is a value that was read the wanted list of CPUs? systemd separates its items by blanks.
pub fn shows(value: &str, wanted: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(value) else { return false };
    let shown: Option<Cpus> = Cpus::from_list(&value.property.split_whitespace().collect::<Vec<_>>().join(","));
    value.active != Some(false) && (value.property == wanted || shown.is_some() && shown == Cpus::from_list(wanted))
}

pub fn brief(value: &str) -> String {
    let property = serde_json::from_str::<Value>(value).map(|value| value.property).unwrap_or_default();
    if property.is_empty() { "nothing".to_owned() } else { property }
}
