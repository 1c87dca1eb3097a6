// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet static map`: the static memory map of a program, or of a running job.

use serde::Serialize;
use tacet_ctl::{Error, Result, parse_bytes};
use tacet_logic::paging::PageSize;
use tacet_logic::static_map::Map;
use tacet_static::map::{Node, of};
use tacet_static::{Machine, daemon, program};

use super::jobs::control;
use super::shape::{Memory, wrong};
use crate::args::StaticMap;
use crate::output;

/// A run of pages of one size.
#[derive(Serialize)]
struct Run {
    process: usize,
    part: &'static str,
    #[serde(rename = "virtual")]
    virtual_address: u64,
    physical: u64,
    bytes: u64,
    page_bytes: u64,
    write: bool,
    execute: bool,
}

pub fn map(args: &StaticMap, json: bool) -> Result<u8> {
    if let Some(job) = args.job {
        let text = daemon::map(&control(&args.set)?, job)?;
        if json {
            output::json(&serde_json::json!({ "job": job, "map": text }))?;
        } else {
            output::print(&text)?;
        }
        return Ok(0);
    }
    let word = args.program.as_deref().ok_or_else(|| wrong(Error::new("arguments", "no program is given", "")))?;
    let found = program::find(word, &std::env::var_os("PATH").unwrap_or_default()).map_err(wrong)?;
    let memory = Memory::parse(&args.memory, &args.shared, args.processes)?;
    let node = Node {
        memory_bytes: parse_bytes(&args.node_memory).map_err(wrong)?,
        machine: Machine::default(),
        shares: memory.shares(args.processes),
        shared_bytes: memory.shared,
    };
    let map = of(&found, &node).map_err(wrong)?;
    if json {
        let runs: Vec<Run> = (0..map.processes()).flat_map(|process| runs(&map, process)).collect();
        let entries = map.all_entries().all();
        let facts = serde_json::json!({ "program": found.path, "runs": runs, "tlb_entries": entries, "unused_bytes": map.unused_bytes() });
        output::json(&facts)?;
    } else {
        output::print(&map.table().to_string())?;
    }
    Ok(0)
}

fn runs(map: &Map, process: usize) -> Vec<Run> {
    let segments = map.segments(process);
    let of_segment = segments.flat_map(|segment| segment.runs().map(move |run| (segment, run)));
    let run = of_segment.map(|(segment, run)| Run {
        process,
        part: segment.part.name(),
        virtual_address: run.virtual_address,
        physical: run.physical_address,
        bytes: run.bytes,
        page_bytes: page_bytes(run.page),
        write: segment.protection.write,
        execute: segment.protection.execute,
    });
    run.collect()
}

fn page_bytes(page: PageSize) -> u64 {
    4096 << page.order()
}
