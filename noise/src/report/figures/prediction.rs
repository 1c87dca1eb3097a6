// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The slowdown of a bulk-synchronous program by its number of threads: Eq. 1 of paper 000 with each record's noise
//! groups.

use super::Figure;
use super::frame::{Area, absent, chart, legend, legend_height, line};
use crate::Result;
use crate::report::Material;
use crate::report::axis::{Axis, count, percent, positive_range};
use crate::report::look::Width;

const HEIGHT: i32 = 330;
/// A slowdown too small to measure.
const LEAST: f64 = 1e-6;

pub fn figure<'a>(material: &'a Material<'a>) -> Figure<'a> {
    Figure {
        name: "prediction",
        title: "Predicted slowdown at scale",
        reading: format!(
            "How much slower a program runs whose threads all wait for each other every {}, if each thread meets the \
             measured noise independently of the others. The thin lines are its interval, 95 %, by the number of events that \
             were seen; noise that was not seen is not in it. A prediction by {}, not a measurement.",
            material.interval,
            material.records.first().map_or("", |record| record.prediction.method)
        ),
        records: material.records.iter().collect(),
        height: Box::new(|width| HEIGHT + legend_height(material, width)),
        draw: Box::new(|area, width| draw(area, width, material)),
    }
}

fn draw(area: &Area<'_>, width: Width, material: &Material<'_>) -> Result<()> {
    let body = legend(area, material, width)?;
    let points = || material.records.iter().flat_map(|record| record.prediction.by_threads.iter().copied());
    let ends = material.records.iter().flat_map(|record| record.prediction.by_threads_between.iter());
    let all = points().map(|(_, slowdown)| slowdown).chain(ends.flat_map(|(_, low, high)| [*low, *high]));
    let Some((low, high)) = positive_range(all) else {
        return absent(&body, "no noise, no slowdown");
    };
    let most = points().map(|(threads, _)| threads).max().unwrap_or(1);
    let x = Axis::decades("threads", (1.0, most as f64), width.ticks, count);
    let y = Axis::decades("slower by", (low.max(LEAST), high.max(LEAST)), 8, percent);
    let mut chart = chart(&body, &x, &y)?;
    for record in &material.records {
        let curve = record.prediction.by_threads.iter();
        let points = curve.map(|(threads, slowdown)| (*threads as f64, *slowdown)).collect();
        chart.draw_series([line(points, record.colour, 2)])?;
        for end in [|(_, low, _): &(u64, f64, f64)| *low, |(_, _, high): &(u64, f64, f64)| *high] {
            let between = record.prediction.by_threads_between.iter();
            let points = between.map(|point| (point.0 as f64, end(point))).collect();
            chart.draw_series([line(points, record.colour, 1)])?;
        }
    }
    Ok(())
}
