// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Noise by CPU: each CPU has a row, each period a column, and the longest noise of a field is its darkness. A thief that
//! visits one CPU after the other is a diagonal here, one that stops all of them is a vertical line.

use plotters::element::{Rectangle, Text};
use plotters::prelude::{Color, ShapeStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Figure;
use super::frame::{Area, ROW, ending, named, shortened};
use crate::Result;
use crate::report::Material;
use crate::report::axis::{duration, positive_range};
use crate::report::look::{GRID, MUTED, Width, px, text};
use crate::report::material::Pictured;

/// More rows than these cannot be told apart: then a row has several CPUs.
const ROWS: usize = 64;
/// Fields of a panel, so that a page stays small.
const FIELDS: usize = 6000;
/// Width of the labels left of the rows.
const LABELS: i32 = 72;
/// Of the shortest noise that the panel shows; none is 0.
const FAINTEST: f64 = 0.12;

/// None if no record has two CPUs.
pub fn figure<'a>(material: &'a Material<'a>) -> Option<Figure<'a>> {
    let records: Vec<&Pictured<'_>> = material.records.iter().filter(|record| record.rows().len() > 1).collect();
    let height: i32 = records.iter().map(|record| panel_height(record)).sum();
    (!records.is_empty()).then(|| Figure {
        name: "cpus",
        title: "Noise by CPU",
        reading: "Each row is a CPU, or several neighbours. The darker a field, the longer the longest noise that began \
                  there and then; the scale is logarithmic, and an empty field had no noise. A horizontal line is noise \
                  of one CPU, a vertical line noise of all at once."
            .into(),
        records: records.clone(),
        height: Box::new(move |_| height),
        draw: Box::new(move |area, width| draw(area, width, material.span_ns, &records)),
    })
}

/// How many CPUs share a row.
fn together(cpus: usize) -> usize {
    cpus.div_ceil(ROWS).max(1)
}

fn row_height(rows: usize) -> i32 {
    (320 / rows.max(1) as i32).clamp(5, 18)
}

fn panel_height(record: &Pictured<'_>) -> i32 {
    let cpus = record.rows().len();
    let rows = cpus.div_ceil(together(cpus));
    ROW + row_height(rows) * rows as i32 + 16
}

fn draw(area: &Area<'_>, width: Width, span_ns: f64, records: &[&Pictured<'_>]) -> Result<()> {
    let mut rest = area.clone();
    for record in records {
        let (panel, below) = rest.split_vertically(px(panel_height(record)));
        self::panel(&panel, width, span_ns, record)?;
        rest = below;
    }
    Ok(())
}

fn panel(area: &Area<'_>, width: Width, span_ns: f64, record: &Pictured<'_>) -> Result<()> {
    let cpus = record.rows();
    let together = together(cpus.len());
    let rows = cpus.len().div_ceil(together);
    let columns = (FIELDS / rows).clamp(20, width.pixels as usize / 4);
    let fields: Vec<Vec<Option<f64>>> =
        cpus.chunks(together).map(|cpus| record.time_series_of(cpus, span_ns, columns)).collect();
    named(area, (0, 0), record.colour, &shortened(&record.about.label, width))?;
    let scale = positive_range(fields.iter().flatten().flatten().copied());
    let (low, high) = scale.unwrap_or((1.0, 1.0));
    ending(area, (width.pixels, 0), format!("faint {}, full {}", duration(low), duration(high)))?;
    let (height, left) = (row_height(rows), px(LABELS));
    let right = px(width.pixels);
    let x = |column: usize| left + ((right - left) as usize * column / columns) as i32;
    // A label for each row if it fits, else for as many as fit.
    let every = (15 / height.max(1)).max(1) as usize;
    for (row, fields) in fields.iter().enumerate() {
        let (top, bottom) = (px(ROW + height * row as i32), px(ROW + height * (row as i32 + 1)) - 1);
        let field =
            |from: usize, to: usize, style: ShapeStyle| Rectangle::new([(x(from), top), (x(to), bottom)], style);
        if row % every == 0 {
            let style = text(12, MUTED).pos(Pos::new(HPos::Right, VPos::Center));
            let label = record.row_label(cpus[row * together].0);
            area.draw(&Text::new(label, (left - px(6), (top + bottom) / 2), style))?;
        }
        area.draw(&field(0, columns, GRID.light.mix(0.5).filled()))?;
        for (column, noise) in fields.iter().enumerate() {
            let Some(noise) = noise.filter(|noise| *noise > 0.0) else { continue };
            area.draw(&field(column, column + 1, record.colour.light.mix(darkness(noise, (low, high))).filled()))?;
        }
    }
    Ok(())
}

/// From [`FAINTEST`] to 1, by the logarithm.
fn darkness(noise: f64, (low, high): (f64, f64)) -> f64 {
    let share = if high > low { (noise / low).ln() / (high / low).ln() } else { 1.0 };
    FAINTEST + (1.0 - FAINTEST) * share.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanoseconds;

    #[test]
    fn darkness_is_logarithmic_and_never_nothing() {
        let of = |noise| (darkness(noise, (1e3, 1e7)) * 1000.0).round();
        assert_eq!([of(1e3), of(1e5), of(1e7)], [120.0, 560.0, 1000.0]);
        assert_eq!(darkness(5.0, (5.0, 5.0)), 1.0);
    }

    #[test]
    fn a_record_of_two_cpus_has_rows() {
        let mut records = [crate::record::examples::fixed_work(&[100, 200, 100, 400])];
        let drawn = |records: &[crate::record::Record]| {
            let material = Material::of(records, Nanoseconds(1.0), 1000, Nanoseconds(1e6));
            figure(&material).map(|figure| {
                let record = figure.records[0];
                record.rows().chunks(1).map(|row| record.time_series_of(row, 1e9, 1)).collect::<Vec<_>>()
            })
        };
        assert_eq!(drawn(&records), None);
        records[0].samples.cpu = vec![2, 2, 5, 5];
        assert_eq!(drawn(&records), Some(vec![vec![Some(100.0)], vec![Some(300.0)]]));
    }

    #[test]
    fn many_cpus_share_rows() {
        assert_eq!([1, 64, 65, 128, 129, 7000].map(together), [1, 1, 2, 2, 3, 110]);
        assert_eq!([2, 64].map(row_height), [18, 5]);
    }
}
