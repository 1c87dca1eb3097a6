// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One job after the other, on CPU 0: a job is fetched, its processes are loaded, all CPUs serve until the last process
//! has ended, and the node is as it was before.

mod begin;
mod lead;
mod loader;
mod zero;

use crate::base::StaticHost;
use crate::base::node::{CpuState, JobState};
use crate::base::process::Process;
use crate::machine::log;
use crate::machine::relax;
use begin::Failure;
use core::sync::atomic::Ordering;
use lead::Leader;
pub use loader::SCRATCH_BYTES;
use tacet_arch::Processor;
use tacet_core::Cpu;
use tacet_logic::static_map::MOST_NUMBERS;
use tacet_logic::text::Text;
use tacet_wire::ask::{Answer, Ask};
use tacet_wire::job::Job;
use tacet_wire::key::Key;
use tacet_wire::packet::MESSAGE_BYTES;

const _: () = assert!(8 * MOST_NUMBERS + 64 < MESSAGE_BYTES, "a map is one message");

/// CPU 0's life.
pub fn lead(core: &mut Cpu<StaticHost>) -> ! {
    let mut leader = Leader::new();
    leader.greet(core.host());
    loop {
        let bytes = leader.next_job(core.host());
        let begun = begin(core.host(), bytes);
        let job = core.host().node.job.with(|job| job.id);
        match begun {
            Ok(()) => {
                report_start(core.host(), &mut leader, job);
                run(core);
                core.host().end_watch();
                let silent = core.host().node.silent.with(Option::take);
                let failure = silent.as_ref().map_or(&[][..], Text::as_bytes);
                leader.tell(core.host(), &Ask::Ended { job, failure });
            }
            Err(failure) => {
                core.host().end_watch();
                log(failure.as_bytes());
                leader.tell(core.host(), &Ask::Ended { job, failure: failure.as_bytes() });
            }
        }
        clear(core.host());
        report_corrected(core.host(), &mut leader);
    }
}

/// Tells the daemon how many errors the hardware has corrected since the last time, if there are some.
fn report_corrected(host: &StaticHost, leader: &mut Leader) {
    host.count_corrected();
    let errors = host.node.corrected.swap(0, Ordering::Relaxed);
    if errors != 0 {
        leader.tell(host, &Ask::Corrected { errors });
    }
}

/// Loads the processes of the job whose description is in the node's buffer.
#[inline(never)]
fn begin(host: &StaticHost, bytes: usize) -> Result<(), Failure> {
    host.node.description.with(|text| {
        let Some(Answer::Job(job)) = text.get(..bytes).and_then(Answer::decode) else {
            return Err(Failure::format(format_args!("the daemon sent a job that cannot be read")));
        };
        let key = host.node.session.with(|session| Key::new(&session.key.wrapped(job.id, &job.wrapped_key)));
        adopt(host, &job);
        // `run` may die while the program is loaded through its proxy.
        host.begin_watch(job.id);
        host.load_job(&job, &key)
    })
}

/// Sets the state that all processes of the job share, and forgets the last job's. From here on orders may come: that `run`
/// is gone, say, while nothing is loaded yet.
fn adopt(host: &StaticHost, job: &Job<'_>) {
    host.node.processes.iter().for_each(Process::clear);
    host.node.clock.set(host.cpu.cycles(), job.monotonic_ns, job.realtime_ns);
    host.node.job.with(|state| {
        *state = JobState { id: job.id, flags: job.flags, user: job.user };
    });
}

/// Tells the daemon that the processes are loaded, and which memory they have. The numbers are put where the job's
/// description was, which nobody needs any more.
#[inline(never)]
fn report_start(host: &StaticHost, leader: &mut Leader, job: u32) {
    host.node.description.with(|text| {
        let (places, _) = text.as_chunks_mut::<8>();
        let mut used = 0;
        host.node.map.with(|map| {
            map.numbers(|number| {
                if let Some(place) = places.get_mut(used) {
                    (*place, used) = (number.to_le_bytes(), used + 1);
                }
            });
        });
        let map = places.get(..used).unwrap_or(&[]).as_flattened();
        leader.tell(host, &Ask::Started { job, map });
    });
}

/// Lets all CPUs serve, this one too, until no process is left.
fn run(core: &mut Cpu<StaticHost>) {
    let node = core.host().node;
    node.parked.store(0, Ordering::Release);
    core.host().post_leaders();
    node.generation.fetch_add(1, Ordering::AcqRel);
    for index in 1..node.cpus.len() as u32 {
        // They look whether there is a job.
        core.host().cpu.call(index, tacet_core::request::POSTED);
    }
    core.run();
    node.parked.fetch_add(1, Ordering::AcqRel);
    while (node.parked.load(Ordering::Acquire) as usize) < node.cpus.len() {
        relax();
    }
    debug_assert!(is_at_rest(core.host()), "the job has ended, and something is still somebody's");
}

/// Nothing is left of a job: no thread on any CPU, no call under way, no wait for a futex.
fn is_at_rest(host: &StaticHost) -> bool {
    let node = host.node;
    let is_empty = |cpu: &CpuState| {
        let nobody = cpu.threads.load(Ordering::Acquire) == 0 && cpu.guest.with(|guest| *guest == (0, 0));
        nobody && cpu.inbox.with(|inbox| inbox.is_empty()) && cpu.calls.with(|calls| calls.iter().all(Option::is_none))
    };
    node.cpus.iter().all(is_empty)
        && node.spares.iter().all(|taken| !taken.load(Ordering::Acquire))
        && node.processes.iter().all(|process| process.futex_waits.load(Ordering::Acquire) == 0)
        && node.threads.iter().all(|thread| !thread.taken.load(Ordering::Acquire))
}

/// Gives everything back that processes had.
fn clear(host: &StaticHost) {
    for process in host.node.processes {
        if let Some(space) = process.space.with(Option::take) {
            space.end();
        }
        process.key.with(|key| *key = Key::new(&[0; 32]));
    }
    host.node.link.forget_job();
    host.forget_threads();
    host.node.job.with(|job| *job = JobState::NONE);
}
