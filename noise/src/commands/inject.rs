// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `inject`: adds noise and prints how much each CPU got.

use std::process::ExitCode;
use std::sync::Arc;

use tacet_words::interrupted;

use super::measure::cpus;
use super::{print, print_json_list};
use crate::Result;
use crate::inject::{Injection, Stop};
use crate::options::Inject;
use crate::show;

pub fn run(options: Inject) -> Result<ExitCode> {
    let stop = Arc::new(Stop::default());
    let set = Arc::clone(&stop);
    interrupted::each(move || set.set())?;
    let injected = Injection {
        cpus: cpus(options.cpus)?,
        length_ns: options.noise.length.0,
        interval_ns: options.noise.interval.0,
        duration_ns: options.duration.0,
        distribution: options.distribution,
        realtime_priority: options.realtime,
        seed: options.seed,
        stop,
    }
    .run()?;
    if options.json {
        return print_json_list(&injected);
    }
    print(&show::injected(&injected))
}
