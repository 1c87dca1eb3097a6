// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `trace`: makes a record with its thieves, and prints both.

use std::process::ExitCode;

use serde::Serialize;

use super::live::shown;
use super::measure::{interrupted, plan, warn};
use super::{keep, may_write, print, print_json};
use crate::Result;
use crate::analyse::Summary;
use crate::options::Trace;
use crate::record::thieves::Thieves;
use crate::{show, trace};

#[derive(Debug, Serialize)]
struct Facts<'a> {
    summary: Summary,
    thieves: &'a Thieves,
}

pub fn run(options: Trace) -> Result<ExitCode> {
    let files = [Some(&options.measure.output), options.perfetto.as_ref()];
    files.into_iter().flatten().try_for_each(|path| may_write(path, options.measure.force))?;
    let mut plan = plan(&options.measure, options.until)?;
    plan.stop = Some(interrupted()?);
    let threshold_ns = options.threshold.0;
    let events = options.perfetto.as_deref();
    let mut record = shown(&options.measure, &plan, threshold_ns, |words, progress| {
        trace::trace(&plan, words, threshold_ns, events, progress)
    })?;
    if options.measure.redact {
        record.redact();
    }
    let kept = keep(&options.measure.output, |path| record.write(path))?;
    let Some(thieves) = &record.about.thieves else { return Err("the trace has no results".into()) };
    let summary = record.summary(threshold_ns);
    if options.measure.json {
        return print_json(&Facts { summary, thieves }).map(|printed| kept.status(printed));
    }
    warn(&record);
    let (summary, thieves) = (show::summaries(&[summary]), show::thieves(thieves));
    print(&format!("{summary}{thieves}record: {}\n", kept.path.display())).map(|printed| kept.status(printed))
}
