// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shared by all figures: axes with a faint grid, a legend, lines.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::prelude::{Cartesian2d, Color, SVGBackend, ShapeStyle, TRANSPARENT};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Result;
use crate::report::Material;
use crate::report::axis::Axis;
use crate::report::look::{Colour, GRID, INK, MUTED, Width, px, text};

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// Height of one row of a legend, of a panel's title, and of the title over an axis.
pub const ROW: i32 = 22;
/// Width of the labels left of the vertical axis.
const LABELS: i32 = 72;
const RIGHT: i32 = 22;

/// Pixels between the two ends of a horizontal axis.
pub fn plot_width(width: Width) -> usize {
    (width.pixels - LABELS - RIGHT) as usize
}

/// Draws the axes; the title of the vertical axis stands above it, horizontally.
pub fn chart<'a>(area: &Area<'a>, x: &Axis, y: &Axis) -> Result<Chart<'a>> {
    area.draw(&Text::new(y.title, (px(LABELS), px(4)), text(12, MUTED)))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(px(ROW))
        .margin_bottom(px(10))
        .margin_right(px(RIGHT))
        .x_label_area_size(px(40))
        .y_label_area_size(px(LABELS))
        .build_cartesian_2d(x.clone(), y.clone())?;
    chart
        .configure_mesh()
        .bold_line_style(GRID.light.stroke_width(px(1) as u32))
        .light_line_style(TRANSPARENT)
        .axis_style(MUTED.light.stroke_width(px(1) as u32))
        .label_style(text(12, MUTED))
        .axis_desc_style(text(12, MUTED))
        .x_desc(x.title)
        .x_label_formatter(&|value| x.label(*value))
        .y_label_formatter(&|value| y.label(*value))
        .draw()?;
    Ok(chart)
}

/// A line in a record's colour.
pub fn line(points: Vec<(f64, f64)>, colour: Colour, pixels: i32) -> PathElement<(f64, f64)> {
    PathElement::new(points, stroke(colour, pixels))
}

pub fn stroke(colour: Colour, pixels: i32) -> ShapeStyle {
    colour.light.stroke_width(px(pixels) as u32)
}

/// A square of the colour, and the text after it.
pub fn named(area: &Area<'_>, (x, y): (i32, i32), colour: Colour, name: &str) -> Result<()> {
    let corner = (px(x), px(y + 5));
    area.draw(&Rectangle::new([corner, (corner.0 + px(11), corner.1 + px(11))], colour.light.filled()))?;
    let style = text(13, INK).pos(Pos::new(HPos::Left, VPos::Center));
    Ok(area.draw(&Text::new(name.to_owned(), (px(x + 18), px(y + 11)), style))?)
}

/// Text that ends at `x`, in the middle of a row that begins at `y`.
pub fn ending(area: &Area<'_>, (x, y): (i32, i32), words: String) -> Result<()> {
    let style = text(12, MUTED).pos(Pos::new(HPos::Right, VPos::Center));
    Ok(area.draw(&Text::new(words, (px(x), px(y + ROW / 2)), style))?)
}

/// Writes in the middle of an area that there is nothing to show.
pub fn absent(area: &Area<'_>, words: &str) -> Result<()> {
    let (width, height) = area.dim_in_pixel();
    let style = text(13, MUTED).pos(Pos::new(HPos::Center, VPos::Center));
    Ok(area.draw(&Text::new(words.to_owned(), (width as i32 / 2, height as i32 / 2), style))?)
}

/// The position of each record's name in a legend of this width, and the legend's height. Names wrap like words.
fn positions(material: &Material<'_>, width: Width) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (0, 0);
    let mut found = Vec::new();
    for record in &material.records {
        // A letter is at most 8 pixels wide on average.
        let wide = 18 + 24 + 8 * shortened(&record.about.label, width).chars().count() as i32;
        if x > 0 && x + wide > width.pixels {
            (x, y) = (0, y + ROW);
        }
        found.push((x, y));
        x += wide;
    }
    (found, y + ROW)
}

/// Height of the legend in pixels.
pub fn legend_height(material: &Material<'_>, width: Width) -> i32 {
    positions(material, width).1 + 8
}

/// Draws the records' names in their colours; returns the area below.
pub fn legend<'a>(area: &Area<'a>, material: &Material<'_>, width: Width) -> Result<Area<'a>> {
    let (head, rest) = area.split_vertically(px(legend_height(material, width)));
    for (position, record) in positions(material, width).0.into_iter().zip(&material.records) {
        named(&head, position, record.colour, &shortened(&record.about.label, width))?;
    }
    Ok(rest)
}

/// Shortens a name so that a number fits beside it.
pub fn shortened(name: &str, width: Width) -> String {
    let most = width.letters * 3 / 5;
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}
