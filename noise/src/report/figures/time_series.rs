// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Noise length over time, as in Fig. 3 of paper 000: one panel for each record, all with the same axes, so that quiet
//! records look quiet.

use super::Figure;
use super::frame::{Area, ROW, absent, chart, ending, line, named, plot_width, shortened};
use crate::Result;
use crate::report::Material;
use crate::report::axis::{Axis, duration, positive_range};
use crate::report::look::{Width, px};
use crate::report::material::Pictured;

const PANEL: i32 = 220;

pub fn figure<'a>(material: &'a Material<'a>) -> Figure<'a> {
    Figure {
        name: "time-series",
        title: "Noise over time",
        reading:
            "Each column shows the longest noise that began in its period, on any CPU; nothing is averaged. Where \
                  there is no column, there was no noise, or less than the axis shows."
                .into(),
        records: material.records.iter().collect(),
        height: Box::new(|_| (PANEL + ROW) * material.records.len() as i32),
        draw: Box::new(|area, width| draw(area, width, material)),
    }
}

fn draw(area: &Area<'_>, width: Width, material: &Material<'_>) -> Result<()> {
    let columns: Vec<Vec<Option<f64>>> =
        material.records.iter().map(|record| record.time_series(material.span_ns, plot_width(width))).collect();
    let seen = positive_range(columns.iter().flatten().flatten().copied()).unwrap_or((1e3, 1e4));
    let x = Axis::linear("time since the record's beginning", material.span_ns, width.ticks, duration);
    // Half of the smallest value, so that the smallest column is visible too.
    let y = Axis::decades("longest noise", ((seen.0 / 2.0).max(1.0), seen.1.max(1.0)), 8, duration);
    let panels = area.split_evenly((material.records.len(), 1));
    for ((panel, record), columns) in panels.iter().zip(&material.records).zip(&columns) {
        self::panel(panel, width, record, columns, (&x, &y))?;
    }
    Ok(())
}

fn panel(
    area: &Area<'_>,
    width: Width,
    record: &Pictured<'_>,
    columns: &[Option<f64>],
    (x, y): (&Axis, &Axis),
) -> Result<()> {
    let (head, body) = area.split_vertically(px(ROW));
    named(&head, (0, 0), record.colour, &shortened(&record.about.label, width))?;
    if record.summary.samples == 0 {
        return absent(&body, "no sample");
    }
    ending(&head, (width.pixels, 0), format!("longest {}", duration(record.summary.max_noise_ns)))?;
    let mut chart = chart(&body, x, y)?;
    chart.draw_series([line(skyline(columns, x, y), record.colour, 1)])?;
    Ok(())
}

/// One line along the ground that rises in each column with noise.
fn skyline(columns: &[Option<f64>], x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    let (right, ground) = (x.high(), y.low());
    let middle = |column: usize| right * (column as f64 + 0.5) / columns.len() as f64;
    let noisy = columns.iter().enumerate().filter_map(|(column, noise)| Some((middle(column), (*noise)?)));
    let stand = noisy.filter(|(_, top)| *top > ground).flat_map(|(x, top)| [(x, ground), (x, top), (x, ground)]);
    [(0.0, ground)].into_iter().chain(stand).chain([(right, ground)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skyline_stands_where_noise_is() {
        let (x, y) = (Axis::linear("time", 2.0, 2, duration), Axis::decades("noise", (10.0, 1000.0), 8, duration));
        let points = skyline(&[Some(100.0), None, Some(5.0), Some(0.0)], &x, &y);
        assert_eq!(points, [(0.0, 10.0), (0.25, 10.0), (0.25, 100.0), (0.25, 10.0), (2.0, 10.0)]);
    }
}
