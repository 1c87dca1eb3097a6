// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The common part of `cache` and `bandwidth`: one resctrl group with the application's CPUs, and the lines of both
//! groups.
//!
//! Both change the same two files, so each proposes their whole content. A resource that no claim wants to split keeps
//! its line; one that is no longer wanted gets its old line back while the other stays split.

use super::partition::wanted_number;
use crate::form::Form;
use crate::object::{Object, THERE};
use crate::split::{Proposal, Split};

pub const CACHE: &str = "cache";
pub const BANDWIDTH: &str = "bandwidth";

const RESCTRL: &str = "/sys/fs/resctrl";
/// The share without a limit, if shares are percent. Processors that count in bytes show another number.
const ALL_OF_IT: u64 = 100;

/// The new line of a resource, for the system and for the application.
type Halves = (String, String);

/// The changes for the countermeasure `asks`; `refused` is the remark if this processor cannot do its part.
pub fn propose(split: &Split, asks: &str, refused: &str) -> Proposal {
    let mut proposal = Proposal::default();
    let Some(schemata) = split.read(&format!("{RESCTRL}/schemata")) else {
        proposal.missing(format!("{RESCTRL}/schemata"));
        return proposal;
    };
    let both = split.clone().joined_by(CACHE).joined_by(BANDWIDTH);
    let (mut system, mut application) = (String::new(), String::new());
    for (name, resource, halves) in
        [(CACHE, "L3", halves_of_cache as fn(&Split, &str) -> _), (BANDWIDTH, "MB", halves_of_bandwidth)]
    {
        let Some(line) = schemata.lines().map(str::trim).find(|line| resource_of(line) == resource) else {
            if name == asks {
                return told(refused);
            }
            continue;
        };
        match halves(&both, line) {
            Some((ours, theirs)) => {
                system += &format!("{ours}\n");
                application += &format!("{theirs}\n");
            }
            None if name == asks => return told(refused),
            None => (),
        }
    }
    let group = format!("{RESCTRL}/tacet");
    let file = |name: &str| Object::file(format!("{group}/{name}"));
    proposal.make(Object::Directory { path: group.clone() }, Form::Text, THERE);
    proposal.make(file("schemata"), Form::Schemata, application);
    proposal.make(file("cpus_list"), Form::List, both.application.to_string());
    proposal.want_file(split, format!("{RESCTRL}/schemata"), Form::Schemata, system);
    proposal
}

fn told(refused: &str) -> Proposal {
    let mut proposal = Proposal::default();
    proposal.told(refused);
    proposal
}

fn halves_of_cache(split: &Split, line: &str) -> Option<Halves> {
    let Some(ways) = wanted_number(split, CACHE) else { return Some((line.to_owned(), line.to_owned())) };
    let mask = split.read(&format!("{RESCTRL}/info/L3/cbm_mask"))?;
    let (system, application) = divide(u64::from_str_radix(mask.trim(), 16).ok()?, ways)?;
    Some((everywhere(line, &format!("{system:x}")), everywhere(line, &format!("{application:x}"))))
}

/// Limits the system; the application keeps the whole bandwidth.
fn halves_of_bandwidth(split: &Split, line: &str) -> Option<Halves> {
    let Some(share) = wanted_number(split, BANDWIDTH) else { return Some((line.to_owned(), line.to_owned())) };
    let number = |name: &str| split.read(&format!("{RESCTRL}/info/MB/{name}"))?.trim().parse::<u64>().ok();
    let percent = line.rsplit('=').next()?.trim().parse::<u64>().ok()? == ALL_OF_IT;
    let (least, step) = (number("min_bandwidth")?, number("bandwidth_gran")?);
    percent.then(|| (everywhere(line, &possible(share, least, step).to_string()), line.to_owned()))
}

/// Rounds a share as the kernel does, because the file then shows the rounded value.
fn possible(share: u64, least: u64, step: u64) -> u64 {
    share.max(least).next_multiple_of(step.max(1)).min(ALL_OF_IT)
}

/// The lowest ways for the system, the others for the application; `None` if one side would have none.
fn divide(mask: u64, ways: u64) -> Option<(u64, u64)> {
    let system = mask & (1u64.checked_shl(u32::try_from(ways).ok()?)?.checked_sub(1)?);
    let application = mask & !system;
    (system != 0 && application != 0).then_some((system, application))
}

fn resource_of(line: &str) -> &str {
    line.split(':').next().unwrap_or_default()
}

/// `L3:0=fff;1=fff` with this value in each domain.
fn everywhere(line: &str, value: &str) -> String {
    let (resource, domains) = line.split_once(':').unwrap_or((line, ""));
    let domains = domains.split(';').filter_map(|domain| domain.split('=').next()).map(str::trim);
    let domains: Vec<String> = domains.map(|domain| format!("{domain}={value}")).collect();
    format!("{resource}:{}", domains.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_divided_and_none_is_left_without() {
        assert_eq!(divide(0xfff, 2), Some((0x003, 0xffc)));
        for (mask, ways) in [(0xfff, 0), (0xfff, 12), (0, 2), (1, 1)] {
            assert_eq!(divide(mask, ways), None);
        }
        assert_eq!(everywhere("L3:0=fff;1=fff", "ffc"), "L3:0=ffc;1=ffc");
        assert_eq!(everywhere("MB:0=100; 1=100", "50"), "MB:0=50;1=50");
    }

    #[test]
    fn shares_are_those_that_the_processor_has() {
        for (share, possible_share) in [(50, 50), (45, 50), (5, 10), (0, 10), (99, 100), (100, 100)] {
            assert_eq!(possible(share, 10, 10), possible_share, "{share}");
        }
        assert_eq!(possible(33, 1, 1), 33);
    }
}
