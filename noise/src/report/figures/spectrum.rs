// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The spectrum of fixed-time records: one panel for each record, all with the same axes, with labels at the peaks.

use plotters::element::Text;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Figure;
use super::frame::{Area, Chart, ROW, chart, line, named, plot_width, shortened};
use crate::Result;
use crate::analyse::Shape;
use crate::report::Material;
use crate::report::axis::{Axis, hertz, percent, positive_range};
use crate::report::columns::columns;
use crate::report::look::{INK, Width, px, text};
use crate::report::material::Pictured;

const PANEL: i32 = 240;
/// Width of a label in pixels.
const NAME: f64 = 64.0;

/// None without a fixed-time record that has enough samples.
pub fn figure<'a>(material: &'a Material<'a>) -> Option<Figure<'a>> {
    let records: Vec<&Pictured<'_>> = material.records.iter().filter(|record| !record.spectra.is_empty()).collect();
    let count = records.len() as i32;
    (count > 0).then(|| Figure {
        name: "spectrum",
        title: "Periodic noise",
        reading: "The amplitude of each frequency of the noise, as a share of an interval; each column shows the \
                  strongest of its frequencies on any CPU. Lines that stand out are labelled: a timer tick shows at \
                  its frequency and at multiples of it. At the right end also noise shows that is faster than \
                  the figure."
            .into(),
        records: records.clone(),
        height: Box::new(move |_| (PANEL + ROW) * count),
        draw: Box::new(move |area, width| draw(area, width, &records)),
    })
}

fn draw(area: &Area<'_>, width: Width, records: &[&Pictured<'_>]) -> Result<()> {
    let all = || records.iter().flat_map(|record| &record.spectra);
    let high = all().map(|one| (one.amplitudes.len() - 1) as f64 / one.span_s).fold(0.0, f64::max);
    let seen: Vec<Vec<Option<f64>>> = records.iter().map(|record| strongest(record, high, plot_width(width))).collect();
    let (low, top) = positive_range(seen.iter().flatten().flatten().copied()).unwrap_or((1e-4, 1e-2));
    let x = Axis::linear("frequency", high, width.ticks, hertz);
    // Room for labels above the strongest; amplitudes a hundred thousand times weaker are not shown.
    let y = Axis::decades("amplitude, share of an interval", (low.max(top * 1e-5), top * 2.0), 8, percent);
    for ((panel, record), columns) in area.split_evenly((records.len(), 1)).iter().zip(records).zip(&seen) {
        let (head, body) = panel.split_vertically(px(ROW));
        named(&head, (0, 0), record.colour, &shortened(&record.about.label, width))?;
        let mut chart = chart(&body, &x, &y)?;
        chart.draw_series([line(outline(columns, &x), record.colour, 1)])?;
        names(&chart, width, record, &x)?;
    }
    Ok(())
}

/// The strongest amplitude in each column, over all CPUs. Skips the first frequencies, over which the window spreads
/// the mean.
fn strongest(record: &Pictured<'_>, high: f64, count: usize) -> Vec<Option<f64>> {
    let points = record.spectra.iter().flat_map(|one| {
        one.amplitudes.iter().enumerate().skip(3).map(|(bin, amplitude)| (bin as f64 / one.span_s, *amplitude))
    });
    columns(points, high, count)
}

fn outline(columns: &[Option<f64>], x: &Axis) -> Vec<(f64, f64)> {
    let width = x.high() / columns.len() as f64;
    let known = columns.iter().enumerate().filter_map(|(column, amplitude)| Some((column, (*amplitude)?)));
    known.map(|(column, amplitude)| ((column as f64 + 0.5) * width, amplitude)).collect()
}

/// Labels the lines, the strongest first. A label that would overlap another one is left out; the table has it.
fn names(chart: &Chart<'_>, width: Width, record: &Pictured<'_>, x: &Axis) -> Result<()> {
    let room = x.high() * NAME / plot_width(width) as f64;
    let mut taken: Vec<f64> = Vec::new();
    let style = text(12, INK).pos(Pos::new(HPos::Center, VPos::Bottom));
    for peak in &record.summary.spectrum {
        let Some(hz) = peak.hz.filter(|_| peak.shape == Shape::Line) else { continue };
        if taken.iter().any(|other| (other - hz).abs() < room) {
            continue;
        }
        taken.push(hz);
        let place = (hz.clamp(room / 2.0, x.high() - room / 4.0), peak.amplitude);
        chart.plotting_area().draw(&Text::new(peak.name(), place, style.clone()))?;
    }
    Ok(())
}
