// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags of `tacet compare`. They are not keys of the configuration file, because each comparison is different.

use std::ffi::OsString;

use clap::Args;

use tacet_words::values::{checked, cpus, nanoseconds, size, small_count};

use crate::compare::Rung;

#[derive(Args)]
pub struct CompareArgs {
    /// CPUs of the program [default: the CPUs that `tacet tune plan` proposes]
    #[arg(long, value_name = "LIST", value_parser = checked(cpus))]
    pub cpus: Option<String>,
    /// Number of runs on each rung
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = small_count::<u16>)]
    pub runs: u16,
    /// Compare only these rungs
    #[arg(long, value_enum, value_name = "RUNG", value_delimiter = ',')]
    pub rungs: Vec<Rung>,
    /// Time for which noise is measured on each rung
    #[arg(long = "duration", alias = "noise", value_name = "TIME", default_value = "5s", value_parser = checked(nanoseconds))]
    pub noise: String,
    /// Measure noise even if the processor does not report an invariant time source
    #[arg(long)]
    pub trust_clock: bool,
    /// Memory of the co-kernel
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = checked(size))]
    pub memory: String,
    /// Only say what would be done; needs no root
    #[arg(long)]
    pub dry_run: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}
