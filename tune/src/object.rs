// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The objects that countermeasures change: a file of the kernel, a directory of ours, a thread's affinity, a unit's
//! property.
//!
//! Owns reading, writing and restoring each of them. The value `None` means that the object does not exist. The caller
//! must write the journal before it writes an object.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use crate::cpus::Cpus;
use crate::form::Form;
use crate::node::Node;
use crate::{systemd, threads};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Object {
    File {
        path: String,
    },
    /// A directory that a countermeasure creates: a cgroup or a resctrl group. Its only value is that it exists.
    Directory {
        path: String,
    },
    /// The CPUs on which a thread may run. The start time identifies the thread, because its number can be reused.
    Affinity {
        thread: u32,
        started: u64,
        name: String,
    },
    /// A property of a systemd unit, until the next boot.
    Unit {
        unit: String,
        property: String,
    },
}

/// The value of a directory that exists.
pub const THERE: &str = "there";

impl Object {
    pub fn file(path: impl Into<String>) -> Object {
        Object::File { path: path.into() }
    }

    pub fn read(&self, node: &dyn Node) -> io::Result<Option<String>> {
        let value = match self {
            Object::File { path } => node.read(path),
            Object::Directory { path } if node.exists(path) => Ok(THERE.to_owned()),
            Object::Directory { .. } => return Ok(None),
            Object::Affinity { thread, started, .. } => {
                let known = threads::thread(node, *thread).filter(|found| found.started == *started);
                return Ok(known.map(|found| found.allowed.to_string()));
            }
            Object::Unit { unit, property } => systemd::read(node, unit, property),
        };
        match value {
            Ok(value) => Ok(Some(value)),
            // ENODEV: the device or CPU behind the file no longer exists
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(19) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn write(&self, node: &dyn Node, wanted: &str) -> io::Result<()> {
        match self {
            Object::File { path } => node.write(path, wanted),
            Object::Directory { path } => match node.make_directory(path) {
                // we created it before a crash
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                other => other,
            },
            Object::Affinity { thread, .. } => {
                let cpus = wanted.parse().map_err(|error: String| io::Error::other(error))?;
                node.set_affinity(*thread, &cpus)
            }
            Object::Unit { unit, property } => systemd::set(node, unit, property, wanted),
        }
    }

    /// Restores the value before `wanted`. An object that no longer exists needs nothing.
    pub fn restore(&self, node: &dyn Node, form: Form, original: Option<&str>, wanted: &str) -> io::Result<()> {
        match (self, original) {
            (Object::Directory { path }, None) => remove_group(node, path),
            // end the partition at once: the removal of its directory would end it some time later
            (Object::File { path }, None) if form == Form::Partition && node.exists(path) => node.write(path, "member"),
            // a file in a directory of ours disappears with the directory
            (Object::File { .. } | Object::Affinity { .. }, None) => Ok(()),
            (Object::Unit { unit, property }, original) => systemd::restore(node, unit, property, original),
            (Object::Affinity { .. }, Some(original)) => self.write(node, original),
            (_, Some(original)) => self.write(node, &form.writable(original, wanted)),
        }
    }

    /// Did the file not exist before? Then it is in a directory that we created.
    pub fn goes_with_its_directory(&self) -> bool {
        matches!(self, Object::File { .. })
    }

    /// Does it take a CPU online or offline?
    pub fn is_a_cpu(&self) -> bool {
        matches!(self, Object::File { path } if path.starts_with("/sys/devices/system/cpu/cpu") && path.ends_with("/online"))
    }

    /// Is a value that was read the wanted one?
    pub fn holds(&self, form: Form, shown: Option<&str>, wanted: &str) -> bool {
        match (self, shown) {
            (Object::Unit { .. }, Some(shown)) => systemd::shows(shown, wanted),
            (_, Some(shown)) => form.shows(shown, wanted),
            (_, None) => false,
        }
    }

    /// A value that was read, as text for people.
    pub fn brief(&self, form: Form, shown: Option<&str>) -> String {
        match (self, shown) {
            (_, None) => "absent".to_owned(),
            (Object::Unit { .. }, Some(shown)) => systemd::brief(shown),
            (_, Some(shown)) => form.brief(shown),
        }
    }
}

/// Moves the processes of a group to the group above, then removes it, as the kernel does for `rmdir` of a resctrl
/// group.
fn remove_group(node: &dyn Node, path: &str) -> io::Result<()> {
    if !node.exists(path) {
        return Ok(());
    }
    if let (Ok(inside), Some((above, _))) = (node.read(&format!("{path}/cgroup.procs")), path.rsplit_once('/')) {
        for process in inside.lines() {
            match node.write(&format!("{above}/cgroup.procs"), process) {
                // ESRCH: it has just ended
                Err(error) if error.raw_os_error() != Some(3) => return Err(error),
                _ => (),
            }
        }
    }
    node.remove_directory(path)
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::File { path } | Object::Directory { path } => f.write_str(path),
            Object::Affinity { thread, name, .. } => write!(f, "affinity of {name} ({thread})"),
            Object::Unit { unit, property } => write!(f, "{property} of {unit}"),
        }
    }
}

/// A thread's allowed CPUs as a set, for comparison.
pub fn cpus_of(value: &str) -> Cpus {
    Cpus::from_list(value).unwrap_or_default()
}
