// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the instructions of one forwarded call go, function by function: a part of the bench `forward`, by its job
//! `account` (with a kernel's name beside it). Writes `build/bench/forward-account-KERNEL.md`.
//!
//! A CPU of Linux halts in the proxy's context, so that nothing sleeps. The plugin lists each block of kernel code and how
//! often it ran in all calls. A block that ran in most of them is of the usual call; what ran in few (ticks, calls of another
//! path) is left out, and what ran many times in each is of a look.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use tacet_node::{Cache, KernelLine, Node};
use tacet_noise::exact::log::{Log, Site};
use tacet_noise::exact::symbols::Symbols;

use crate::Result;
use crate::configuration::counted_node;
use crate::core::co_kernel;
use crate::guest::Guest;
use crate::instructions::FIRST;
use crate::programs::Programs;

const CALLS: u64 = 2000;
/// A block that runs more often in a call is of a loop that looks.
const LOOKS: u64 = 6;

/// A call in which the proxy sleeps has it.
const SLEEPS: &str = "__schedule";

/// Instructions of one call by function, most first.
type Account = Vec<(String, u64)>;

/// Measures one kernel: the table's text.
pub fn account(cache: &Cache, kernel: KernelLine, programs: &Programs, phase: &str, partition: &str) -> Result<String> {
    let mut spec = counted_node(kernel, 4, programs);
    spec.plugins.iter_mut().for_each(|plugin| plugin.arguments.push("sites=on".to_owned()));
    let node = Node::boot(cache, &spec)?;
    let guest = Guest { node: &node, programs };
    guest.up(partition)?;
    guest.down()?;
    super::forward::up(&guest, phase)?;
    let linux = Symbols::parse(&guest.shell("cat /proc/kallsyms")?);
    let tacet = programs.tacet().display().to_string();
    let calls = CALLS.to_string();
    guest.run(&["taskset", "-c", "0", &tacet, "run", "--populate", "--", &programs.program("forward"), &calls, "1"])?;
    let log = Log::parse(&fs::read_to_string(node.plugin_log())?);
    let (_, counts) = log.regions.last().ok_or("the plugin saw no region")?;
    let sites = |cpus: &[_]| -> Vec<Site> {
        cpus.iter().flat_map(|cpu: &tacet_noise::exact::log::Counts| cpu.sites.clone()).collect()
    };
    let (here, there) = counts.split_at(FIRST.min(counts.len()));
    let on_linux = by_function(&sites(here), &linux, CALLS);
    if on_linux.iter().any(|(name, _)| name == SLEEPS) {
        return Err("the calls slept, since the host is busy: these figures would be of another path".into());
    }
    let text = format!(
        "{}\n{}",
        table(&format!("Linux {kernel}"), &on_linux),
        table(&format!("the core, under {kernel}"), &by_function(&sites(there), &co_kernel(programs.top()), CALLS))
    );
    guest.down()?;
    node.power_off()?;
    Ok(text)
}

/// The instructions of a usual call, by function.
fn by_function(sites: &[Site], symbols: &Symbols, calls: u64) -> Account {
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    for site in sites {
        let times = (site.times + calls / 2) / calls;
        let name = match symbols.symbol(site.address) {
            _ if times >= LOOKS => continue,
            Some((_, name)) => name.to_owned(),
            None => format!("{:#x}", site.address),
        };
        *functions.entry(name).or_default() += times * site.instructions;
    }
    let mut account: Account = functions.into_iter().filter(|(_, instructions)| *instructions > 0).collect();
    account.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    account
}

fn table(title: &str, account: &Account) -> String {
    let sum: u64 = account.iter().map(|(_, instructions)| instructions).sum();
    let mut text = format!("| {title} | instructions |\n|---|---|\n| all | {sum} |\n");
    for (name, instructions) in account {
        let _ = writeln!(text, "| `{name}` | {instructions} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_in_most_calls_is_of_a_call_and_loops_are_looks() {
        let symbols = Symbols::parse("ffffffffc0001000 t one\nffffffffc0001100 t two\nffffffffc0001200 t end\n");
        let site = |address, times, instructions| Site { address, times, instructions };
        let sites = [
            site(0xffff_ffff_c000_1000, 1990, 5),
            site(0xffff_ffff_c000_1010, 4010, 3),
            site(0xffff_ffff_c000_1100, 900, 7),
            site(0xffff_ffff_c000_1110, 2000 * LOOKS, 2),
        ];
        let account = by_function(&sites, &symbols, 2000);
        assert_eq!(account, [("one".to_owned(), 11)]);
        assert_eq!(table("a", &account), "| a | instructions |\n|---|---|\n| all | 11 |\n| `one` | 11 |\n");
    }
}
