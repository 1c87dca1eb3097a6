// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a person sees on the terminal while `measure` and `trace` run. Draws on a CPU that is not measured, or because
//! the person asked for it.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::Result;
use crate::measure::live::Tally;
use crate::measure::{Plan, Progress, machine};
use crate::options::Measure;
use crate::show;

const EVERY: Duration = Duration::from_secs(1);

/// Runs `work` with the command line, and shows how it goes if standard error is a terminal.
pub fn shown<T>(
    options: &Measure,
    plan: &Plan,
    threshold_ns: f64,
    work: impl FnOnce(&[String], &mut dyn FnMut(Progress)) -> Result<T>,
) -> Result<T> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !wanted(options, plan)? {
        return work(&arguments, &mut |_| ());
    }
    let bar = ProgressBar::new(1).with_style(ProgressStyle::with_template("{msg}")?);
    let (mut tally, mut drawn) = (Tally::new(threshold_ns), None::<Instant>);
    let done = work(&arguments, &mut |now| {
        if drawn.is_none_or(|drawn| drawn.elapsed() >= EVERY) {
            tally.look(now.scale, &now.stored);
            bar.set_message(show::live(&tally, now.left));
            drawn = Some(Instant::now());
        }
    });
    bar.finish_and_clear();
    done
}

fn wanted(options: &Measure, plan: &Plan) -> Result<bool> {
    if options.json || !io::stderr().is_terminal() {
        return Ok(false);
    }
    if options.live || !machine::spare_cpus(&plan.cpus, &machine::allowed_cpus()?).is_empty() {
        return Ok(true);
    }
    eprintln!("measuring; every CPU is measured, so what is found is not shown before the end (see --live)");
    Ok(false)
}
