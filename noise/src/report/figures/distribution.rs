// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The distribution of noise lengths, as in Fig. 4 of paper 000, but with the share of longer ones on a logarithmic
//! axis: each further nine of the distribution (99 %, 99.9 %, ...) takes the same room.

use super::Figure;
use super::frame::{Area, absent, chart, legend, legend_height, line};
use crate::Result;
use crate::report::Material;
use crate::report::axis::{Axis, duration, one_in, positive_range};
use crate::report::look::Width;

const HEIGHT: i32 = 330;

pub fn figure<'a>(material: &'a Material<'a>) -> Figure<'a> {
    Figure {
        name: "distribution",
        title: if material.latencies() { "Distribution of latencies" } else { "Distribution of noise lengths" },
        reading: match material.latencies() {
            true => "The share of samples that are at least this late: the further to the left and the steeper, the better.",
            false => "The share of samples with at least this much noise (the complement of the cumulative distribution): \
                      the further to the left and the steeper, the quieter. The last step of each line is its longest noise.",
        }
        .into(),
        records: material.records.iter().collect(),
        height: Box::new(|width| HEIGHT + legend_height(material, width)),
        draw: Box::new(|area, width| draw(area, width, material)),
    }
}

fn draw(area: &Area<'_>, width: Width, material: &Material<'_>) -> Result<()> {
    let body = legend(area, material, width)?;
    let lengths = material.records.iter().flat_map(|record| record.distribution.iter().map(|(length, _)| *length));
    let Some(seen) = positive_range(lengths) else { return absent(&body, "no noise") };
    let most = material.records.iter().map(|record| record.summary.samples).max().unwrap_or(1);
    let x = Axis::decades(
        if material.latencies() { "latency of at least" } else { "noise of at least" },
        (seen.0.max(1.0), seen.1.max(1.0)),
        width.ticks,
        duration,
    );
    let y = Axis::decades("share of samples", (1.0 / most.max(1) as f64, 1.0), 10, one_in);
    let mut chart = chart(&body, &x, &y)?;
    for record in &material.records {
        let steps = steps(&record.distribution, record.summary.samples);
        chart.draw_series([line(steps, record.colour, 2)])?;
    }
    Ok(())
}

/// Turns shares of samples that are not longer into shares that are at least as long: a staircase down to zero.
fn steps(distribution: &[(f64, f64)], samples: u64) -> Vec<(f64, f64)> {
    let mut at = 1.0;
    let mut points = Vec::with_capacity(distribution.len() * 2 + 1);
    for (length, not_longer) in distribution {
        points.push((*length, at));
        // The share that is longer; less than one sample counts as none.
        let longer = 1.0 - not_longer;
        at = if longer * (samples as f64) < 0.5 { 0.0 } else { longer };
        points.push((*length, at));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of four samples is a step of a quarter, and none is longer than the last.
    #[test]
    fn by_hand() {
        let points = steps(&[(1.0, 0.25), (2.0, 0.5), (5.0, 0.75), (9.0, 1.0)], 4);
        assert_eq!(points[..4], [(1.0, 1.0), (1.0, 0.75), (2.0, 0.75), (2.0, 0.5)]);
        assert_eq!(points[6..], [(9.0, 0.25), (9.0, 0.0)]);
        assert!(steps(&[], 0).is_empty());
    }
}
