// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The arguments of `tacet job`.

use std::time::Duration;

use clap::{Args, Subcommand};
use tacet_words::values::{checked, cpus, duration_or_seconds, size};

#[derive(Subcommand, Debug)]
pub enum JobCommand {
    /// Give CPUs of the partition, and a share of its memory, to the programs of one user
    ///
    /// For the prologue of a batch system. CPUs that `tacet up --spare` named join the partition first. While there are
    /// jobs, users who are not root use the CPUs of their jobs alone. `tacet run` finds its job by the variable
    /// TACET_JOB, by its control group, or because its user has one job only. To begin a job once more is no error.
    Begin(JobBegin),
    /// End the programs of a job, and the job: SIGTERM, then SIGKILL
    ///
    /// For the epilogue of a batch system. The end of a job that has ended is no error.
    End(JobEnd),
    /// List the jobs: for root all, for others their own
    List,
    /// End the jobs whose control group is gone, and return CPUs that no job wanted for long
    ///
    /// For a timer: a batch system that was killed does not end its jobs. The CPUs of a job that this command ends are
    /// kept, as after `tacet job end --keep-cpus`.
    Sweep(JobSweep),
    /// Give kept CPUs back to Linux now
    ///
    /// For a job whose programs stay on Linux. CPUs of a job, and those that root gave the partition, stay.
    Release(JobRelease),
}

#[derive(Args, Debug)]
pub struct JobBegin {
    /// The job's id: letters, digits, `.`, `_`, `-`
    #[arg(value_parser = id)]
    pub id: String,
    /// Whose programs may join it: a name or a number
    #[arg(long, value_name = "USER")]
    pub user: String,
    /// The CPUs, like 2-3
    #[arg(long, value_name = "LIST", value_parser = checked(cpus))]
    pub cpus: String,
    /// The most that its programs have of the partition's memory [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = checked(size))]
    pub memory: Option<String>,
    /// Its control group, as in /proc/PID/cgroup; `self`: that of this command. Programs there belong to the job, and
    /// `tacet job sweep` ends the job when the group is gone
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Debug)]
pub struct JobEnd {
    /// The job's id
    #[arg(value_parser = id)]
    pub id: String,
    #[command(flatten)]
    pub ending: Ending,
    /// Keep CPUs that joined the partition for a job there, until the next job wants them. `tacet job sweep` returns them
    /// after the time of `keep` in the table [job] of the configuration [default: 5m]; with "off" there this is --return
    #[arg(long, conflicts_with = "gives_back")]
    pub keep_cpus: bool,
}

#[derive(Args, Debug)]
pub struct JobSweep {
    #[command(flatten)]
    pub ending: Ending,
    /// Return CPUs that were kept for so long; a number alone is seconds [default: `keep` of the configuration, or 5m]
    #[arg(long, value_name = "TIME", value_parser = duration_or_seconds)]
    pub kept_for: Option<Duration>,
}

#[derive(Args, Debug)]
pub struct JobRelease {
    /// Only these, like 2-3 [default: all that are kept]
    #[arg(long, value_name = "LIST", value_parser = checked(cpus))]
    pub cpus: Option<String>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// How jobs end.
#[derive(Args, Debug)]
pub struct Ending {
    /// How long programs may take to end after SIGTERM; a number alone is seconds
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration_or_seconds)]
    pub grace: Duration,
    /// Give the CPUs back to Linux; without it they stay in the partition, for the next job
    #[arg(long = "return")]
    pub gives_back: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// The module accepts no other.
fn id(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) || text.starts_with(['.', '-', '_']) {
        return Err("a job's id has 1 to 64 letters, digits, `.`, `_` or `-`, and begins with a letter or digit".into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_word_that_can_be_part_of_a_path() {
        for right in ["1", "4711_3", "a.b-c", &"x".repeat(64)] {
            assert_eq!(id(right).as_deref(), Ok(right));
        }
        for wrong in ["", ".", "..", "-1", "_1", "a/b", "a b", "a\n", "ä", &"x".repeat(65)] {
            assert!(id(wrong).is_err(), "{wrong}");
        }
    }
}
