// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps the runs of the bench `sched` one by one: the bench takes hours, and an early end must not lose its runs.
//!
//! Owns `build/bench/sched_runs.jsonl` (or `sched_JOBS_runs.jsonl`), with a line for each run. Called by `sched.rs`,
//! from one thread for each node. Must never mix runs of two kernels, emulators or commits.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::jobs::{Job, Run, Scheduler};
use crate::variation::{Endless, Runs};

/// The file; runs are added at its end.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    job: String,
    scheduler: String,
    /// The text of [`crate::provenance::counted`].
    place: String,
    /// None if it did not end.
    run: Option<Run>,
}

impl Kept {
    /// Opens the file; empties it unless the bench resumes.
    pub fn open(path: PathBuf, resume: bool) -> Result<Kept> {
        let removed = if resume { Ok(()) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(format!("{}: {error}", path.display()).into()),
            _ => Ok(Kept { path }),
        }
    }

    /// The kept runs of these jobs, which must all be from `place`, and the jobs that are not tried again.
    pub fn runs(&self, jobs: &[Job], place: &str) -> Result<(Runs, Endless)> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text?,
        };
        let (mut runs, mut endless) = (Runs::new(), Endless::new());
        for (number, line) in text.lines().enumerate() {
            let at = format!("{}:{}", self.path.display(), number + 1);
            let line: Line = serde_json::from_str(line).map_err(|error| format!("{at}: {error}"))?;
            let Some(job) = jobs.iter().find(|job| job.name == line.job) else { continue };
            let named = |scheduler: &Scheduler| scheduler.name() == line.scheduler;
            let scheduler = Scheduler::ALL
                .into_iter()
                .find(named)
                .ok_or_else(|| format!("{at}: scheduler {}: none of those that are compared", line.scheduler))?;
            if line.place != place {
                return Err(
                    format!("{at}: a run on {}, not on {place}: begin anew, without --resume", line.place).into()
                );
            }
            let key = (job.name, scheduler.name());
            match line.run {
                Some(run) => runs.entry(key).or_default().push(run),
                None => drop(endless.insert(key)),
            }
        }
        Ok((runs, endless))
    }

    /// `run` is None if it did not end.
    pub fn add(&self, job: &Job, scheduler: Scheduler, place: &str, run: Option<Run>) -> Result<()> {
        let line = Line { job: job.name.into(), scheduler: scheduler.name().into(), place: place.into(), run };
        let line = serde_json::to_string(&line)? + "\n";
        let failed = |error| format!("{}: {error}", Path::display(&self.path));
        // in one write, because the other node's thread appends too
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).map_err(failed)?;
        Ok(file.write_all(line.as_bytes()).map_err(failed)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::JOBS;

    #[test]
    fn what_was_measured_is_there_again_and_only_where_it_was_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sched_runs.jsonl");
        let kept = Kept::open(path.clone(), false).expect("none yet");
        let [first, second] = [JOBS[0], JOBS[1]];
        let run =
            |seconds| Run { seconds, migrations: 3.0, job_migrations: Some(2.0), rebound: Some(0.0), switches: 10.0 };
        for (job, scheduler, seconds) in
            [(&first, Scheduler::Hpl, 0.1), (&first, Scheduler::Hpl, 0.3), (&second, Scheduler::Standard, 0.7)]
        {
            kept.add(job, scheduler, "here", Some(run(seconds))).expect("kept");
        }
        kept.add(&first, Scheduler::Fifo, "here", None).expect("kept");
        let again = Kept::open(path.clone(), true).expect("there");
        let (runs, endless) = again.runs(&[first], "here").expect("read");
        assert_eq!(endless, Endless::from([(first.name, "fifo")]));
        assert_eq!(runs, Runs::from([((first.name, "hpl"), vec![run(0.1), run(0.3)])]));
        let error = again.runs(&[second], "there").expect_err("another place").to_string();
        assert!(error.ends_with("a run on here, not on there: begin anew, without --resume"), "{error}");
        let anew = Kept::open(path, false).expect("removed");
        assert_eq!(anew.runs(&JOBS, "there").expect("none"), (Runs::new(), Endless::new()));
    }
}
