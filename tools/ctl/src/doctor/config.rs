// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The build configuration of the running kernel.
//!
//! Called by the kernel and module checks. It must not guess: without a readable file, every option is unknown.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::Machine;

/// The options that are set, without `CONFIG_`; `None` if no file is readable.
pub(super) struct Config {
    options: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    On,
    Off,
    Unknown,
}

impl Config {
    pub(super) fn read(machine: &Machine) -> Config {
        let release = machine.release();
        let places = [
            format!("boot/config-{release}"),
            format!("lib/modules/{release}/config"),
            format!("lib/modules/{release}/build/.config"),
        ];
        let text = places.iter().find_map(|place| machine.text(place)).or_else(|| from_kernel(machine));
        Config { options: text.map(|text| parse(&text)) }
    }

    pub(super) fn setting(&self, option: &str) -> Setting {
        match &self.options {
            None => Setting::Unknown,
            Some(options) => match options.get(option).map(String::as_str) {
                Some("y" | "m") => Setting::On,
                _ => Setting::Off,
            },
        }
    }
}

fn parse(text: &str) -> BTreeMap<String, String> {
    let options = text.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='));
    options.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// Kernels with CONFIG_IKCONFIG_PROC offer their configuration, compressed.
fn from_kernel(machine: &Machine) -> Option<String> {
    let file = std::fs::File::open(machine.path("proc/config.gz")).ok()?;
    let output = Command::new("gzip").arg("-dc").stdin(file).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
