// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table as a picture. Each countermeasure that was switched off has a row: a dot for each reading, and a bar from
//! the baseline's median to the row's. Grey marks how much the node varies by itself. There are two panels, one for
//! each figure, with logarithmic axes.
//!
//! Owns only the look. The colours are Okabe and Ito's, which colour-blind people can tell apart, as in the
//! laboratory's report.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use super::laboratory::Reading;
use super::table::{Effect, Spread, Table};
use crate::error::{Error, Result};
use crate::show::{duration, rate};

const WIDTH: u32 = 1100;
const NAMES: u32 = 200;
const ROW: u32 = 26;
const HEAD: u32 = 30;
const FOOT: u32 = 50;
const FONT: (&str, u32) = ("sans-serif", 14);

const INK: RGBColor = RGBColor(0x1B, 0x1F, 0x24);
const GREY: RGBColor = RGBColor(0xE3, 0xE7, 0xEB);
const MORE: RGBColor = RGBColor(0xD5, 0x5E, 0x00);
const SAME: RGBColor = RGBColor(0x5B, 0x65, 0x70);
const LESS: RGBColor = RGBColor(0x00, 0x72, 0xB2);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

/// One of the two figures of a reading.
struct Figure {
    title: &'static str,
    of: fn(&Reading) -> f64,
    said: fn(f64) -> String,
}

const FIGURES: [Figure; 2] = [
    Figure { title: "longest noise", of: |reading| reading.max_noise_ns, said: duration },
    Figure { title: "noise rate", of: |reading| reading.noise_rate, said: rate },
];

/// Writes it as SVG.
pub fn draw(table: &Table, path: &Path) -> Result<()> {
    drawn(table, path).map_err(|error| Error::new(path.display(), error, "name a file that can be written"))
}

fn drawn(table: &Table, path: &Path) -> Drawn {
    register_font(FONT.0, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
        .map_err(|_| "its font cannot be read")?;
    let rows = table.rows.len() as u32;
    let root = SVGBackend::new(path, (WIDTH, HEAD + ROW * rows + FOOT)).into_drawing_area();
    root.fill(&WHITE)?;
    let (names, panels) = root.split_horizontally(NAMES);
    for (index, row) in table.rows.iter().enumerate() {
        let y = (HEAD + ROW * index as u32 + ROW / 2) as i32 - 7;
        names.draw(&Text::new(row.measure.as_str(), (12, y), FONT.into_font().color(&INK)))?;
    }
    names.draw(&Text::new("without", (12, 8), FONT.into_font().color(&SAME)))?;
    for (area, figure) in panels.split_evenly((1, FIGURES.len())).iter().zip(&FIGURES) {
        panel(area, table, figure)?;
    }
    Ok(root.present()?)
}

fn panel(area: &Area, table: &Table, figure: &Figure) -> Drawn {
    let count = table.rows.len() as f64;
    let Some((least, most)) = range(table, figure) else {
        let text = format!("{}: none was measured", figure.title);
        return Ok(area.draw(&Text::new(text, (12, 8), FONT.into_font().color(&INK)))?);
    };
    let mut chart = ChartBuilder::on(area)
        .caption(figure.title, FONT.into_font().color(&INK))
        .margin_right(20)
        .x_label_area_size(FOOT)
        .build_cartesian_2d((least..most).log_scale(), count..0f64)?;
    let said = |value: &f64| (figure.said)(*value);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .max_light_lines(1)
        .x_labels(5)
        .x_label_formatter(&said)
        .draw()?;
    // a logarithmic axis cannot show 0
    let place = |value: f64| value.max(least);
    let base = &table.baseline;
    let (from, to) = (place((figure.of)(&base.least)), place((figure.of)(&base.most)));
    chart.draw_series([Rectangle::new([(from, 0.0), (to, count)], GREY.filled())])?;
    let middle = place((figure.of)(&base.middle));
    for (index, row) in table.rows.iter().enumerate() {
        let (y, colour) = (index as f64 + 0.5, colour(row.effect));
        let now = place((figure.of)(&row.spread.middle));
        chart.draw_series([PathElement::new([(middle, y), (now, y)], colour.stroke_width(5))])?;
        let dots =
            row.spread.readings.iter().map(|one| Circle::new((place((figure.of)(one)), y), 3, colour.stroke_width(1)));
        chart.draw_series(dots)?;
    }
    Ok(())
}

fn colour(effect: Effect) -> RGBColor {
    match effect {
        Effect::MoreNoise => MORE,
        Effect::NoneSeen | Effect::Mixed | Effect::NotEnough => SAME,
        Effect::LessNoise => LESS,
    }
}

/// The range of all readings that a logarithmic axis can show, with some margin.
fn range(table: &Table, figure: &Figure) -> Option<(f64, f64)> {
    let spreads = std::iter::once(&table.baseline).chain(table.rows.iter().map(|row| &row.spread));
    let values = spreads.flat_map(|spread: &Spread| spread.readings.iter()).map(figure.of).filter(|value| *value > 0.0);
    let (least, most) = values.fold((f64::MAX, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
    (most > 0.0).then_some((least / 1.5, most * 1.5))
}

#[cfg(test)]
mod tests {
    use super::super::table::Off;
    use super::*;
    use crate::cpus::Cpus;

    fn picture(readings: &[f64]) -> String {
        let reading = |ns: &f64| Reading { max_noise_ns: *ns, noise_rate: *ns / 1e9 };
        let mut off = Off::of("partition", "");
        off.readings = readings.iter().map(reading).collect();
        let (none, baseline) = (Cpus::default(), vec![reading(&readings[0])]);
        let table = Table::new(none.clone(), none, 1, baseline, vec![off], vec![], None);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("picture.svg");
        draw(&table, &path).expect("a picture");
        std::fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn rows_are_named_and_nothing_breaks_it() {
        assert!(picture(&[50e3, 20e6]).contains("partition"));
        assert!(picture(&[0.0, 0.0]).contains("none was measured"));
        assert!(picture(&[0.0, 1.0]).ends_with("</svg>\n"));
    }
}
