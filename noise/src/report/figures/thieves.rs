// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The results of a trace: each traced record has a bar for each source, whose length is the share of the noise that
//! the source explains, and one bar for unexplained noise.

use plotters::element::{Rectangle, Text};
use plotters::prelude::Color;

use super::Figure;
use super::frame::{Area, ROW, absent, ending, named, shortened};
use crate::Result;
use crate::record::thieves::Thieves;
use crate::report::Material;
use crate::report::look::{Colour, GRID, INK, MUTED, Width, px, text};
use crate::report::material::Pictured;

/// Bars in a panel; the table has all sources.
const BARS: usize = 12;
/// Height of a name and the bar below it.
const BAR: i32 = 40;

/// None without a traced record.
pub fn figure<'a>(material: &'a Material<'a>) -> Option<Figure<'a>> {
    let traced: Vec<_> =
        material.records.iter().filter_map(|record| Some((record, record.about.thieves.as_ref()?))).collect();
    let height: i32 = traced.iter().map(|(_, thieves)| panel_height(thieves)).sum();
    (!traced.is_empty()).then(|| Figure {
        name: "thieves",
        title: "What took the time",
        reading: format!(
            "The share of the noise of all detours that each source explains. The figure shows the first {BARS} \
             sources, the table all of them. Noise that no source explains has a bar of its own."
        ),
        records: traced.iter().map(|(record, _)| *record).collect(),
        height: Box::new(move |_| height),
        draw: Box::new(move |area, width| draw(area, width, &traced)),
    })
}

fn panel_height(thieves: &Thieves) -> i32 {
    ROW + BAR * bars(thieves).len().max(1) as i32 + 16
}

fn draw(area: &Area<'_>, width: Width, traced: &[(&Pictured<'_>, &Thieves)]) -> Result<()> {
    let mut rest = area.clone();
    for (record, thieves) in traced {
        let (panel, below) = rest.split_vertically(px(panel_height(thieves)));
        named(&panel, (0, 0), record.colour, &shortened(&record.about.label, width))?;
        let found = bars(thieves);
        if found.is_empty() {
            absent(&panel, "no detour")?;
        }
        for (row, (name, share)) in found.iter().enumerate() {
            let colour = if *name == UNEXPLAINED { MUTED } else { record.colour };
            bar(&panel, width, ROW + BAR * row as i32, (name, *share), colour)?;
        }
        rest = below;
    }
    Ok(())
}

const UNEXPLAINED: &str = "unexplained";

/// Names and shares; none without a detour.
fn bars(thieves: &Thieves) -> Vec<(String, f64)> {
    if thieves.detour_ns <= 0.0 {
        return Vec::new();
    }
    let named = thieves.sources.iter().map(|source| (format!("{}: {}", source.kind.name(), source.name), source.share));
    let mut found: Vec<(String, f64)> = named.take(BARS).collect();
    let others = thieves.sources.get(BARS..).unwrap_or_default();
    if !others.is_empty() {
        found.push((format!("{} other sources", others.len()), others.iter().map(|source| source.share).sum()));
    }
    found.push((UNEXPLAINED.into(), 1.0 - thieves.explained_ns / thieves.detour_ns));
    found
}

fn bar(area: &Area<'_>, width: Width, y: i32, (name, share): (&str, f64), colour: Colour) -> Result<()> {
    let right = width.pixels - 64;
    let rectangle =
        |length: i32, colour: Colour| Rectangle::new([(0, px(y + 22)), (length, px(y + 33))], colour.light.filled());
    area.draw(&Text::new(shortened(name, width), (0, px(y + 6)), text(13, INK)))?;
    area.draw(&rectangle(px(right), GRID))?;
    area.draw(&rectangle((f64::from(px(right)) * share.clamp(0.0, 1.0)) as i32, colour))?;
    ending(area, (width.pixels, y + 17), format!("{:.1} %", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::thieves;

    #[test]
    fn unnamed_sources_are_summed_up() {
        let mut found = thieves();
        let names: Vec<String> = bars(&found).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["timer: tick", "kworker: vmstat_update", "program: <script>alert(1)</script>", "unexplained"]
        );
        assert!((bars(&found)[3].1 - 0.125).abs() < 1e-12);
        found.sources = vec![found.sources[0].clone(); 20];
        assert_eq!(bars(&found)[BARS].0, "8 other sources");
        assert!(bars(&Thieves::default()).is_empty());
    }
}
