// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `predict`: Eq. 1, of noise that was named or of a record's groups.

use std::process::ExitCode;

use super::{print, print_json};
use crate::Result;
use crate::options::Predict;
use crate::predict::{Noise, predict};
use crate::record::Record;
use crate::show;

pub fn run(options: Predict) -> Result<ExitCode> {
    let noise: Vec<Noise> = match &options.record {
        Some(path) => Record::read(path)?.summary(options.threshold.0).groups.iter().map(Noise::from).collect(),
        None => options.noise.iter().copied().map(Noise::from).collect(),
    };
    let prediction = predict(&noise, options.threads, options.interval);
    if options.json {
        return print_json(&prediction);
    }
    print(&show::prediction(&prediction))
}
