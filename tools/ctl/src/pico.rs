// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fast paths of devices, as `/sys/kernel/tacet/pico` tells of them.
//!
//! Called by `tacet pico`. The module writes that file in `pico/linux/text.c`, whose header says what its lines are. The
//! field names are the JSON names. It must never guess: a line that it does not know is an error.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Error, Machine, Result};

const FILE: &str = "sys/kernel/tacet/pico";
const SWITCH: &str = "sys/module/tacet/parameters/fast_paths";
/// The names of `enum tacet_pico_fallback`, in its order.
const REASONS: [&str; 8] = ["state", "rights", "alignment", "bounds", "buffer", "room", "status", "loss"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceState {
    Works,
    /// Linux resets it.
    Lost,
    None,
}

/// A core's queue at a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Queue {
    pub cpu: u32,
    /// The device's number.
    pub queue: u32,
    pub works: bool,
    pub calls: u64,
    pub commands: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Calls whose commands the device had at the same time, at most.
    pub most_calls_at_once: u32,
    /// Calls that the core left to Linux, by cause.
    pub forwarded: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    pub address: String,
    pub kind: String,
    /// `shared`: the cores' queues are in the function that Linux drives; `virtual`: they have one of their own.
    pub mode: String,
    pub state: DeviceState,
    /// Why it has no fast path.
    pub why_not: Option<String>,
    pub queues: Vec<Queue>,
}

/// A descriptor on which cores serve calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    pub pid: i32,
    pub descriptor: i32,
    pub device: String,
    pub namespace: u32,
    pub block_bytes: u32,
    pub first_block: u64,
    pub blocks: u64,
    pub read: bool,
    pub write: bool,
    /// Not: it is being taken back.
    pub valid: bool,
    pub calls_in_flight: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pico {
    pub partition_is_up: bool,
    /// Whether the next `tacet up` makes fast paths.
    pub switched_on: bool,
    pub devices: Vec<Device>,
    pub grants: Vec<Grant>,
    /// Queues for which the module's file had no room.
    pub queues_not_listed: u32,
}

impl Pico {
    /// `None`: the module is not loaded.
    pub fn read(machine: &Machine) -> Result<Option<Pico>> {
        let Some(text) = machine.text(FILE) else { return Ok(None) };
        let switched_on = machine.text(SWITCH).is_some_and(|text| text == "Y");
        Pico::parse(&text, switched_on).map(Some)
    }

    fn parse(text: &str, switched_on: bool) -> Result<Pico> {
        let mut pico =
            Pico { partition_is_up: false, switched_on, devices: Vec::new(), grants: Vec::new(), queues_not_listed: 0 };
        for line in text.lines() {
            pico.add(line).ok_or_else(|| {
                Error::new(format!("/{FILE}"), format!("unknown line `{line}`"), "use the command of this module")
            })?;
        }
        Ok(pico)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["partition", state] => self.partition_is_up = state == "up",
            ["more", number] => self.queues_not_listed = number.parse().ok()?,
            ["device", address, kind, mode, state, ..] => {
                let state = match state {
                    "works" => DeviceState::Works,
                    "lost" => DeviceState::Lost,
                    _ => DeviceState::None,
                };
                let why_not = words[5..].join(" ");
                self.devices.push(Device {
                    address: address.to_string(),
                    kind: kind.to_string(),
                    mode: mode.to_string(),
                    state,
                    why_not: (!why_not.is_empty()).then_some(why_not),
                    queues: Vec::new(),
                });
            }
            ["grant", ..] => self.grants.push(grant(&words)?),
            [address, "cpu", ..] => {
                let queue = queue(&words)?;
                self.devices.iter_mut().find(|device| device.address == address)?.queues.push(queue);
            }
            _ => return None,
        }
        Some(())
    }
}

/// The word behind `name`, as a number.
fn after<T: std::str::FromStr>(words: &[&str], name: &str) -> Option<T> {
    words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)?.parse().ok())
}

fn grant(words: &[&str]) -> Option<Grant> {
    let rights: String = after(words, "rights")?;
    Some(Grant {
        pid: after(words, "grant")?,
        descriptor: after(words, "descriptor")?,
        device: after(words, "device")?,
        namespace: after(words, "namespace")?,
        block_bytes: after(words, "block")?,
        first_block: after(words, "first")?,
        blocks: after(words, "count")?,
        read: rights.contains('r'),
        write: rights.contains('w'),
        valid: words.contains(&"valid"),
        calls_in_flight: after(words, "using")?,
    })
}

fn queue(words: &[&str]) -> Option<Queue> {
    let counts = words.iter().skip_while(|word| **word != "forwarded").skip(1);
    Some(Queue {
        cpu: after(words, "cpu")?,
        queue: after(words, "queue")?,
        works: words.contains(&"works"),
        calls: after(words, "calls")?,
        commands: after(words, "commands")?,
        read_bytes: after(words, "read")?,
        written_bytes: after(words, "written")?,
        most_calls_at_once: after(words, "at-once")?,
        forwarded: REASONS
            .into_iter()
            .zip(counts)
            .map(|(name, word)| Some((name, word.parse().ok()?)))
            .collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
partition up
device 0000:00:04.0 nvme shared works
device 0000:00:05.0 nvme shared none struct nvme_dev has no field ctrl
grant 71 descriptor 3 device 0000:00:04.0 namespace 1 block 512 first 2048 count 131072 rights r valid using 1
0000:00:04.0 cpu 2 queue 9 works calls 399 commands 512 read 1048576 written 4096 at-once 2 forwarded 1 0 2 0 0 0 0 0
more 3
";

    #[test]
    fn reads_what_the_module_writes() {
        let pico = Pico::parse(TEXT, true).unwrap();
        assert!(pico.partition_is_up && pico.switched_on);
        assert_eq!(pico.queues_not_listed, 3);
        let [good, bad] = &pico.devices[..] else { panic!("{pico:?}") };
        assert_eq!((good.state, &good.why_not), (DeviceState::Works, &None));
        assert_eq!((bad.state, bad.why_not.as_deref()), (DeviceState::None, Some("struct nvme_dev has no field ctrl")));
        let [queue] = &good.queues[..] else { panic!("{good:?}") };
        assert_eq!((queue.cpu, queue.queue, queue.calls, queue.commands), (2, 9, 399, 512));
        assert_eq!(queue.most_calls_at_once, 2);
        assert_eq!((queue.forwarded["state"], queue.forwarded["alignment"]), (1, 2));
        let [grant] = &pico.grants[..] else { panic!("{pico:?}") };
        assert_eq!((grant.pid, grant.first_block, grant.read, grant.write, grant.valid), (71, 2048, true, false, true));
    }

    #[test]
    fn an_unknown_line_is_told() {
        for line in ["nonsense", "0000:00:09.0 cpu 2 queue 9", "grant x descriptor 3", "more many"] {
            let error = Pico::parse(line, false).unwrap_err().to_string();
            assert!(error.starts_with(&format!("/sys/kernel/tacet/pico: unknown line `{line}`; ")), "{error}");
        }
    }
}
