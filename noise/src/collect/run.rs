// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the file of one run, which rank 0 of the MPI program wrote; noise/mpi/format.h describes it.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::source::Source;
use crate::Result;
use crate::record::Kernel;
use crate::record::across::{BUCKETS, Histogram, Mode};

const MAGIC: &[u8; 8] = b"TACETFWQ";
const FORMAT: u64 = 1;
/// The most samples of one rank, as in noise/mpi/fwq.h.
const SAMPLES_LIMIT: u64 = 1 << 26;
const NODE_BYTES: u64 = 72;
const RANK_BYTES: u64 = 72;

/// The index of a row, and the beginning and length of each sample.
pub type Stored = (usize, Vec<(u64, u64)>);

/// The contents of a run's file.
pub struct RunFile {
    pub mode: Mode,
    pub kernel: Kernel,
    pub nodes: u64,
    pub stored_nodes: u64,
    pub samples: u64,
    pub units: u64,
    pub quantum_ns: u64,
    pub began_unix_s: u64,
    pub memory_locked: bool,
    pub huge_pages: bool,
    /// Version, label, host, kernel release, kernel arguments, processor, time source.
    pub facts: [String; 7],
    pub arguments: Vec<String>,
    pub histogram: Histogram,
    pub rows: Vec<Row>,
    /// The samples of some rows, in the order of the rows.
    pub stored: Vec<Stored>,
    pub checksum: u64,
}

/// The results of one rank.
#[derive(Debug, Clone)]
pub struct Row {
    pub node: u32,
    pub host: String,
    pub rank: u32,
    pub cpu: u32,
    pub shortest_ns: u64,
    pub longest_ns: u64,
    pub run_ns: u64,
    pub noise_rate: f64,
    pub ticks_per_second: f64,
    stored_bytes: u64,
    pub voluntary_switches: u32,
    pub involuntary_switches: u32,
    pub minor_faults: u32,
    pub major_faults: u32,
}

impl RunFile {
    pub fn read(path: &Path) -> Result<RunFile> {
        let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let bytes = file.metadata().map_err(|error| format!("{}: {error}", path.display()))?.len();
        read(Source::new(BufReader::new(file), bytes))
            .map_err(|error| format!("{}: not a whole run of tacet-mpi-fwq: {error}", path.display()).into())
    }
}

fn read<R: Read>(mut source: Source<R>) -> Result<RunFile> {
    if source.bytes()? != *MAGIC {
        return Err("it begins with other bytes".into());
    }
    let format = source.u64()?;
    if format != FORMAT {
        return Err(format!("its format is {format}, this program reads {FORMAT}").into());
    }
    let mode = *pick(source.u64()?, &[Mode::StartSync, Mode::StepSync])?;
    let kernel = *pick(source.u64()?, &[Kernel::Register, Kernel::Daxpy])?;
    let (ranks, nodes, stored_nodes) = (source.u64()?, source.u64()?, source.u64()?);
    let (samples, units, quantum_ns, began_unix_s) = (source.u64()?, source.u64()?, source.u64()?, source.u64()?);
    let memory_locked = *pick(source.u64()?, &[false, true])?;
    let huge_pages = *pick(source.u64()?, &[false, true])?;
    let text_bytes = source.u64()?;
    let mut facts = source.strings(text_bytes)?;
    if facts.len() < 7 || units > i64::MAX as u64 || samples > SAMPLES_LIMIT {
        return Err("its header is not valid".into());
    }
    let arguments = facts.split_off(7);
    let facts = <[String; 7]>::try_from(facts).map_err(|_| "its header is not valid")?;
    let histogram = histogram(&mut source, ranks.checked_mul(samples))?;
    let rows = table(&mut source, nodes, ranks)?;
    let stored = samples_of(&mut source, &rows, samples, stored_nodes)?;
    let checksum = source.end()?;
    Ok(RunFile {
        mode,
        kernel,
        nodes,
        stored_nodes,
        samples,
        units,
        quantum_ns,
        began_unix_s,
        memory_locked,
        huge_pages,
        facts,
        arguments,
        histogram,
        rows,
        stored,
        checksum,
    })
}

fn pick<T>(index: u64, of: &[T]) -> Result<&T> {
    usize::try_from(index).ok().and_then(|index| of.get(index)).ok_or_else(|| "it has an unknown mode".into())
}

fn histogram<R: Read>(source: &mut Source<R>, total: Option<u64>) -> Result<Histogram> {
    let (mut histogram, mut sum) = (Histogram::default(), Some(0u64));
    for bucket in 0..BUCKETS {
        let count = source.u64()?;
        sum = sum.and_then(|sum| sum.checked_add(count));
        histogram.add(bucket, count);
    }
    if sum.is_none() || sum != total || sum == Some(0) {
        return Err("its histogram does not match the number of its samples".into());
    }
    Ok(histogram)
}

/// The rows of the ranks, node by node; each rank has one row.
fn table<R: Read>(source: &mut Source<R>, nodes: u64, ranks: u64) -> Result<Vec<Row>> {
    source.need(nodes, NODE_BYTES)?;
    source.need(ranks, RANK_BYTES)?;
    let mut rows = Vec::with_capacity(usize::try_from(ranks)?);
    let mut seen = vec![false; usize::try_from(ranks)?];
    for node in 0..u32::try_from(nodes)? {
        let host: [u8; 64] = source.bytes()?;
        let end = host.iter().position(|byte| *byte == 0).ok_or("the name of a host has no end")?;
        let host = String::from_utf8_lossy(&host[..end]).into_owned();
        let count = source.u64()?;
        source.need(count, RANK_BYTES)?;
        for _ in 0..count {
            let row = row(source, node, &host)?;
            match seen.get_mut(row.rank as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err("its table does not match its ranks".into()),
            }
            rows.push(row);
        }
    }
    if rows.len() as u64 != ranks {
        return Err("its table does not match its ranks".into());
    }
    Ok(rows)
}

fn row<R: Read>(source: &mut Source<R>, node: u32, host: &str) -> Result<Row> {
    let (rank, cpu) = (source.u32()?, source.u32()?);
    let row = Row {
        node,
        host: host.to_owned(),
        rank,
        cpu,
        shortest_ns: source.u64()?,
        longest_ns: source.u64()?,
        run_ns: source.u64()?,
        noise_rate: source.f64()?,
        ticks_per_second: source.f64()?,
        stored_bytes: source.u64()?,
        voluntary_switches: source.u32()?,
        involuntary_switches: source.u32()?,
        minor_faults: source.u32()?,
        major_faults: source.u32()?,
    };
    let sound = row.shortest_ns <= row.longest_ns
        && row.longest_ns <= row.run_ns
        && row.run_ns <= i64::MAX as u64
        && row.noise_rate.is_finite()
        && row.noise_rate >= 0.0
        && row.ticks_per_second.is_finite()
        && row.ticks_per_second > 0.0;
    if sound { Ok(row) } else { Err(format!("rank {rank} has impossible times").into()) }
}

fn samples_of<R: Read>(source: &mut Source<R>, rows: &[Row], samples: u64, stored_nodes: u64) -> Result<Vec<Stored>> {
    let mut nodes: Vec<u32> = rows.iter().filter(|row| row.stored_bytes > 0).map(|row| row.node).collect();
    nodes.dedup();
    if nodes.len() as u64 != stored_nodes {
        return Err("its samples do not match its worst nodes".into());
    }
    let mut stored = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.stored_bytes > 0) {
        let found = source.samples(samples, row.stored_bytes, row.shortest_ns)?;
        let lengths = || found.iter().map(|(_, length)| *length);
        let end = found.last().map(|(start, length)| start + length);
        if lengths().min() != Some(row.shortest_ns)
            || lengths().max() != Some(row.longest_ns)
            || end != Some(row.run_ns)
        {
            return Err(format!("the samples of rank {} do not match its row in the table", row.rank).into());
        }
        stored.push((index, found));
    }
    Ok(stored)
}
