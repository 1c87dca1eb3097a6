// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The last-level cache is split between application and system, where the processor can: the commodity form of A64FX's
//! sector cache.

use super::{About, Measure, Number};
use crate::form::Form;
use crate::object::{Object, THERE};
use crate::split::{Proposal, Split};

pub struct Cache;

const RESCTRL: &str = "/sys/fs/resctrl";

impl Measure for Cache {
    fn about(&self) -> &'static About {
        &About {
            name: "cache",
            does: "gives the system so many ways of the last-level cache, and the application all others",
            stops: "slower work beside a busy system CPU (no thief is to be seen)",
            cost: "the application loses those ways of the cache too",
            applied: "a group /sys/fs/resctrl/tacet with the application's CPUs; schemata of both groups",
            kernels: "where the processor has cache allocation (RDT, PQoS, MPAM) and resctrl is mounted",
            source: "Gerofi et al., SC '21, section 4.2, CPU caches; Documentation/filesystems/resctrl.rst",
            usual: false,
            whole: true,
            number: Some(Number { what: "ways for the system", usual: 2, largest: 63 }),
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let Some(schemata) = split.read(&format!("{RESCTRL}/schemata")) else {
            proposal.missing(format!("{RESCTRL}/schemata"));
            return proposal;
        };
        let mask = split.read(&format!("{RESCTRL}/info/L3/cbm_mask"));
        let mask = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or_default();
        let line = schemata.lines().map(str::trim).find(|line| line.starts_with("L3:"));
        let (Some(line), Some((system, application))) = (line, divide(mask, split.number.unwrap_or(1))) else {
            proposal.told("the last-level cache has no ways to split, or is split for code and data: not touched");
            return proposal;
        };
        let group = format!("{RESCTRL}/tacet");
        let file = |name: &str| Object::file(format!("{group}/{name}"));
        proposal.make(Object::Directory { path: group.clone() }, Form::Text, THERE);
        proposal.make(file("schemata"), Form::Schemata, everywhere(line, application));
        proposal.make(file("cpus_list"), Form::List, split.application.to_string());
        proposal.want_file(split, format!("{RESCTRL}/schemata"), Form::Schemata, everywhere(line, system));
        proposal
    }
}

/// The lowest ways for the system, the others for the application; `None` if one would have none.
fn divide(mask: u64, ways: u64) -> Option<(u64, u64)> {
    let system = mask & (1u64.checked_shl(u32::try_from(ways).ok()?)?.checked_sub(1)?);
    let application = mask & !system;
    (system != 0 && application != 0).then_some((system, application))
}

/// `L3:0=fff;1=fff` with this mask in each domain.
fn everywhere(line: &str, mask: u64) -> String {
    let domains = line.trim_start_matches("L3:").split(';').filter_map(|domain| domain.split('=').next());
    let domains: Vec<String> = domains.map(|domain| format!("{domain}={mask:x}")).collect();
    format!("L3:{}\n", domains.join(";"))
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
        assert_eq!(everywhere("L3:0=fff;1=fff", 0xffc), "L3:0=ffc;1=ffc\n");
    }
}
