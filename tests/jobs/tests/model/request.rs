// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requests: random ones, and how each is written.

use proptest::prelude::*;

/// The job's end: its CPUs leave the partition (`TACET_JOB_RETURN`), or wait for the next job (`TACET_JOB_KEEP`).
pub const RETURN: u32 = 1;
pub const KEEP: u32 = 2;

/// How a program behaves when it is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Willing,
    DeafToTerm,
    /// It does not leave its core, either.
    Stuck,
}

#[derive(Debug, Clone)]
pub enum Request {
    Grow { cpus: u64 },
    Shrink { cpus: u64 },
    Begin { job: u8, user: u32, cpus: u64, mib: u64 },
    End { job: u8, flags: u32 },
    Host { program: u32, job: Option<u8>, user: u32, threads: u32, manner: Manner },
    Leave { program: u32 },
}

use Request::{Begin, End, Grow, Host, Leave, Shrink};

impl Request {
    pub fn line(&self, fault: u32) -> String {
        match self {
            Grow { cpus } => format!("grow {cpus:x} {fault}"),
            Shrink { cpus } => format!("shrink {cpus:x} {fault}"),
            Begin { job, user, cpus, mib } => format!("begin j{job} {user} {cpus:x} {mib} {fault}"),
            End { job, flags } => format!("end j{job} {flags} {fault}"),
            Host { program, job, user, threads, manner } => {
                let job = job.map_or("-".to_owned(), |job| format!("j{job}"));
                format!("host {program} {job} {user} {threads} {}", *manner as u32)
            }
            Leave { program } => format!("leave {program}"),
        }
    }

    /// A partition with programs, one of them in a job, and with CPUs that are kept.
    pub fn before() -> [Request; 6] {
        let host = |program, job, user| Host { program, job, user, threads: 3, manner: Manner::DeafToTerm };
        [
            Grow { cpus: 0x3c },
            host(0, None, 0),
            Begin { job: 0, user: 1, cpus: 0x300, mib: 64 },
            End { job: 0, flags: KEEP },
            Begin { job: 1, user: 2, cpus: 0x500, mib: 64 },
            host(1, Some(1), 2),
        ]
    }

    /// After [`before`](Self::before).
    pub fn with_many_steps() -> [Request; 4] {
        [
            Grow { cpus: 0x8c0 },
            Shrink { cpus: 0x204 },
            Begin { job: 2, user: 1, cpus: 0x28c, mib: 64 },
            End { job: 1, flags: RETURN },
        ]
    }

    fn any() -> impl Strategy<Value = Request> {
        let job = || 0..5u8;
        let manner = prop_oneof![6 => Just(Manner::Willing), 2 => Just(Manner::DeafToTerm), 1 => Just(Manner::Stuck)];
        let host = (0..12u32, prop::option::of(job()), 0..4u32, 1..4u32, manner)
            .prop_map(|(program, job, user, threads, manner)| Host { program, job, user, threads, manner });
        let begin = (job(), 1..4u32, cpus(), prop::sample::select(vec![0, 64, 2_048, 5_000]))
            .prop_map(|(job, user, cpus, mib)| Begin { job, user, cpus, mib });
        prop_oneof![
            2 => cpus().prop_map(|cpus| Grow { cpus }),
            2 => cpus().prop_map(|cpus| Shrink { cpus }),
            4 => begin,
            3 => (job(), 0..4u32).prop_map(|(job, flags)| End { job, flags }),
            4 => host,
            2 => (0..12u32).prop_map(|program| Leave { program }),
        ]
    }
}

/// One to three of CPUs 2 to 11; now and then none, or one that is Linux's for good.
fn cpus() -> impl Strategy<Value = u64> {
    prop_oneof![
        20 => prop::collection::vec(2..12u32, 1..4).prop_map(|cpus| cpus.iter().fold(0, |set, cpu| set | 1 << cpu)),
        1 => Just(0),
        1 => Just(0x12),
    ]
}

/// A request with a step that fails (from 1; 0: none), or with another one in between.
#[derive(Debug, Clone)]
pub struct Step {
    pub request: Request,
    pub fault: u32,
    pub between: Option<Request>,
}

impl Step {
    pub fn plain(request: Request) -> Self {
        Step { request, fault: 0, between: None }
    }

    pub fn any() -> impl Strategy<Value = Self> {
        let fault = prop_oneof![2 => Just(0), 1 => 1..12u32];
        let between = prop_oneof![
            6 => Just(Between::Nothing),
            1 => (0..4u32).prop_map(Between::SameEnd),
            2 => Request::any().prop_map(Between::Any),
        ];
        (Request::any(), fault, between).prop_map(|(request, fault, between)| {
            let between = match (between, &request) {
                (Between::Any(other), _) => Some(other),
                (Between::SameEnd(flags), &End { job, .. }) => Some(End { job, flags }),
                _ => None,
            };
            Step { request, fault: if between.is_some() { 0 } else { fault }, between }
        })
    }
}

/// What is executed while a request waits.
#[derive(Debug, Clone)]
enum Between {
    Nothing,
    /// The end of the same job, if the request is one.
    SameEnd(u32),
    Any(Request),
}
