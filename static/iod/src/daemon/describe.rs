// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A job's description for one of its nodes, as bytes.
//!
//! The asks' server calls it when a node fetches its work, and the control socket's before a job starts, to know that
//! it fits. It must never write a job's secret but wrapped in the node's session key.

use std::time::{SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use tacet_wire::ask::Answer;
use tacet_wire::job::{Job as Description, Process, Processes, Texts, User};
use tacet_wire::key::{KEY_BYTES, Key};
use tacet_wire::packet::MESSAGE_BYTES;

use super::job::Job;
use crate::control::Start;
use crate::error::{Error, Result};

/// Writes the answer that brings `job` to its node number `place`; how long it is.
pub fn describe(id: u32, job: &Job, start: &Start, place: usize, session: &Key, answer: &mut [u8]) -> Result<usize> {
    let each = job.submit.processes as usize;
    let first = place * each;
    let mut processes = Vec::new();
    for (index, proxy) in start.proxies.iter().skip(first).take(each).enumerate() {
        let memory_bytes = start.memory_bytes.get(index).copied().unwrap_or(0);
        let process = Process { port: proxy.port, process_id: proxy.process_id, memory_bytes };
        processes.extend_from_slice(&process.to_bytes());
    }
    let too_long = || {
        let cause = format!("its arguments and environment do not fit into {} KiB", MESSAGE_BYTES >> 10);
        Error::new(format!("job {id}"), cause, "shorten them, as by `env -i`")
    };
    let arguments = texts(&start.arguments);
    let environment = texts(&start.environment);
    let [uid, gid, euid, egid] = start.credentials;
    let host_name = nix::unistd::gethostname().unwrap_or_default();
    let description = Description {
        id,
        wrapped_key: session.wrapped(id, &job.secret),
        seed: seed(&start.seed)?,
        flags: start.flags,
        first_rank: u32::try_from(first).map_err(|_| too_long())?,
        ranks: job.submit.nodes * job.submit.processes,
        shared_bytes: start.shared_bytes,
        stack_bytes: start.stack_bytes,
        realtime_ns: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, nanoseconds),
        monotonic_ns: clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| nanoseconds(time.into())),
        user: User { uid, gid, euid, egid },
        host_name: host_name.as_encoded_bytes(),
        program: &start.program,
        processes: Processes::new(&processes).ok_or_else(too_long)?,
        arguments: Texts::new(&arguments).ok_or_else(too_long)?,
        environment: Texts::new(&environment).ok_or_else(too_long)?,
    };
    Answer::Job(description).encode(answer).ok_or_else(too_long)
}

fn texts(texts: &[Vec<u8>]) -> Vec<u8> {
    let ended = texts.iter().map(|text| text.iter().copied().filter(|byte| *byte != 0).chain([0]));
    ended.flatten().collect()
}

fn seed(given: &[u8]) -> Result<[u8; 32]> {
    match <[u8; 32]>::try_from(given) {
        Ok(seed) => Ok(seed),
        Err(_) => random(),
    }
}

/// Random bytes for nonces, seeds and secrets.
pub fn random<const BYTES: usize>() -> Result<[u8; BYTES]> {
    const { assert!(BYTES <= KEY_BYTES, "longer ones have no use here") };
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::new("random numbers", error, "the kernel must give them"))?;
    Ok(bytes)
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
