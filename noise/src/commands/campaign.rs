// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `campaign`: does the measurements that a file describes.

use std::process::ExitCode;

use super::{print, print_json_list};
use crate::Result;
use crate::campaign::{self, Campaign, Ended, Interrupts, Step};
use crate::options::Campaign as Wanted;

pub fn run(options: &Wanted) -> Result<ExitCode> {
    let path = &options.file;
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let campaign = Campaign::read(path, &text)?;
    if options.dry_run {
        let runs = campaign.runs();
        if options.json {
            let facts = |(step, number): &(&Step, u32)| serde_json::json!({ "step": step.name, "repetition": number, "command": step.words, "dry_run": true });
            return print_json_list(&runs.iter().map(facts).collect::<Vec<_>>());
        }
        let runs = runs.iter().map(|(step, number)| format!("{}.{number}: {}\n", step.name, step.words.join(" ")));
        return print(&runs.collect::<String>());
    }
    campaign::open(&campaign, &text, options.resume)?;
    let interrupts = Interrupts::watch()?;
    let ended = campaign::run(&campaign, &std::env::current_exe()?, &interrupts, &mut |line| eprintln!("{line}"))?;
    let results = campaign::results(&campaign);
    if options.json {
        print_json_list(&results)?;
    } else {
        print(&format!(
            "{} of {} results in {}\n",
            results.len(),
            campaign.runs().len(),
            campaign.directory.display()
        ))?;
    }
    if ended == Ended::Interrupted {
        eprintln!("tacet noise: interrupted; go on with --resume");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
