// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Profiles: the time that hosted programs spent outside of user mode, as values with stable names.
//!
//! Called by `device.rs` to translate answers, by the command to print them.

use serde::Serialize;
use tacet_abi as abi;

const TABLE: &str = include_str!("../../../abi/syscalls.tbl");

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpentOn {
    LocalCall,
    LocalWait,
    /// A device served it for the core: a fast path.
    DeviceCall,
    ForwardedCall,
    LocalFault,
    Fault,
    Exception,
    CalledBack,
    Other,
}

/// The total cost of one kind of event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cost {
    pub on: SpentOn,
    /// The call's name or the exception's number; empty for other kinds.
    pub name: String,
    pub count: u64,
    pub total_ns: u64,
    pub longest_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Number of threads with an account, including threads that have ended.
    pub threads: u32,
    /// Their time in user mode on cores.
    pub user_ns: u64,
    /// The largest total first.
    pub costs: Vec<Cost>,
}

impl Profile {
    pub(crate) fn new(raw: &abi::tacet_profile_read, costs: &[abi::tacet_cost]) -> Profile {
        let mut costs: Vec<Cost> = costs.iter().map(Cost::from).collect();
        costs.sort_by(|a, b| (b.total_ns, &a.name).cmp(&(a.total_ns, &b.name)));
        Profile { threads: raw.threads, user_ns: raw.user_ns, costs }
    }
}

impl From<&abi::tacet_cost> for Cost {
    fn from(raw: &abi::tacet_cost) -> Cost {
        let on = match u32::from(raw.on) {
            abi::TACET_SPENT_LOCAL_CALL => SpentOn::LocalCall,
            abi::TACET_SPENT_LOCAL_WAIT => SpentOn::LocalWait,
            abi::TACET_SPENT_DEVICE_CALL => SpentOn::DeviceCall,
            abi::TACET_SPENT_CALL => SpentOn::ForwardedCall,
            abi::TACET_SPENT_LOCAL_FAULT => SpentOn::LocalFault,
            abi::TACET_SPENT_FAULT => SpentOn::Fault,
            abi::TACET_SPENT_EXCEPTION => SpentOn::Exception,
            abi::TACET_SPENT_CALLED_BACK => SpentOn::CalledBack,
            _ => SpentOn::Other,
        };
        let name = match on {
            SpentOn::LocalCall | SpentOn::LocalWait | SpentOn::DeviceCall | SpentOn::ForwardedCall => {
                call_name(raw.detail)
            }
            SpentOn::Exception => raw.detail.to_string(),
            _ => String::new(),
        };
        Cost { on, name, count: raw.count, total_ns: raw.total_ns, longest_ns: raw.longest_ns }
    }
}

/// The name of a system call; its number if the table has none.
fn call_name(number: u16) -> String {
    let wanted = number.to_string();
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let mut named = rows.filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(&wanted)).then(|| words.next()).flatten()
    });
    named.next().map_or(wanted.clone(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(on: u32, detail: u16, total_ns: u64) -> abi::tacet_cost {
        abi::tacet_cost { on: on as u16, detail, count: 2, total_ns, longest_ns: total_ns, ..Default::default() }
    }

    #[test]
    fn the_dearest_comes_first_and_has_its_name() {
        let raw = [
            cost(abi::TACET_SPENT_LOCAL_CALL, 39, 5),
            cost(abi::TACET_SPENT_CALL, 1, 90),
            cost(abi::TACET_SPENT_DEVICE_CALL, 17, 80),
            cost(abi::TACET_SPENT_EXCEPTION, 6, 7),
            cost(abi::TACET_SPENT_CALL, 9999, 8),
            cost(77, 0, 1),
        ];
        let profile = Profile::new(&abi::tacet_profile_read::default(), &raw);
        let shown: Vec<_> = profile.costs.iter().map(|cost| (cost.on, cost.name.as_str())).collect();
        let expected = [
            (SpentOn::ForwardedCall, "write"),
            (SpentOn::DeviceCall, "pread64"),
            (SpentOn::ForwardedCall, "9999"),
            (SpentOn::Exception, "6"),
            (SpentOn::LocalCall, "getpid"),
            (SpentOn::Other, ""),
        ];
        assert_eq!(shown, expected);
    }
}
