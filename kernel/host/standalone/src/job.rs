// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One job after the other, on CPU 0: a job is fetched, its processes are loaded, all CPUs serve until the last process
//! has ended, and the node is as it was before.

use crate::host::Alone;
use crate::lead::Leader;
use crate::node::JobState;
use core::fmt::Write;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_arch::native::alone::log;
use tacet_core::Cpu;
use tacet_logic::text::Text;
use tacet_shipping::ask::{Answer, Ask};
use tacet_shipping::job::{Job, SHOW_MAP};
use tacet_shipping::key::Key;

/// One line about why a job cannot run.
pub type Failure = Text<112>;

/// The longest map that is told.
const LONGEST_MAP: usize = 60 << 10;

/// CPU 0's life.
pub fn lead(core: &mut Cpu<Alone>) -> ! {
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
                leader.tell(core.host(), &Ask::Ended { job, failure: &[] });
            }
            Err(failure) => {
                core.host().end_watch();
                log(failure.as_bytes());
                leader.tell(core.host(), &Ask::Ended { job, failure: failure.as_bytes() });
            }
        }
        clear(core.host());
    }
}

/// Loads the processes of the job whose description is in the node's buffer.
#[inline(never)]
fn begin(host: &Alone, bytes: usize) -> Result<(), Failure> {
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

/// Sets the state that all processes of the job share.
fn adopt(host: &Alone, job: &Job<'_>) {
    host.node.clock.set(host.cpu.cycles(), job.monotonic_ns, job.realtime_ns);
    host.node.job.with(|state| {
        *state = JobState { id: job.id, flags: job.flags, user: job.user };
    });
}

/// Tells the daemon that the processes are loaded, and which memory they have. The text is made where the job's
/// description was, which nobody needs any more.
#[inline(never)]
fn report_start(host: &Alone, leader: &mut Leader, job: u32) {
    let shows = host.node.job.with(|job| job.flags) & SHOW_MAP != 0;
    host.node.description.with(|text| {
        let mut writer = Writer { text, used: 0 };
        // Text beyond the buffer is left out.
        let _ = host.node.map.with(|map| write!(writer, "{}", map.table()));
        let Writer { text, used } = writer;
        let map = text.get(..used.min(LONGEST_MAP)).unwrap_or(&[]);
        if shows {
            map.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).for_each(log);
        }
        leader.tell(host, &Ask::Started { job, map });
    });
}

/// Text in a buffer.
struct Writer<'a> {
    text: &'a mut [u8],
    used: usize,
}

impl Write for Writer<'_> {
    fn write_str(&mut self, piece: &str) -> core::fmt::Result {
        let end = self.used + piece.len();
        self.text.get_mut(self.used..end).ok_or(core::fmt::Error)?.copy_from_slice(piece.as_bytes());
        self.used = end;
        Ok(())
    }
}

/// Lets all CPUs serve, this one too, until no process is left.
fn run(core: &mut Cpu<Alone>) {
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
        core::hint::spin_loop();
    }
}

/// Gives everything back that processes had.
fn clear(host: &Alone) {
    for process in host.node.processes {
        if let Some(space) = process.space.with(Option::take) {
            space.end();
        }
        process.key.with(|key| *key = Key::new(&[0; 32]));
    }
    host.forget_threads();
    host.node.job.with(|job| *job = JobState::NONE);
}
