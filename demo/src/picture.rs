// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A picture of both noise profiles, one above the other, with the same axes.
//!
//! Owns only the look. Every quantum that was hit is a needle; a panel without needles says so in words.

use std::fs;
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Result;
use crate::noise::Noise;

const SIZE: (u32, u32) = (1200, 700);
const HEAD: u32 = 88;
const INK: RGBColor = RGBColor(40, 40, 40);
const LINUX: RGBColor = RGBColor(190, 70, 30);
const TACET: RGBColor = RGBColor(20, 100, 150);
/// The lower end of the needles: below one instruction.
const FLOOR: f64 = 0.7;

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;

/// The file's name in `build/demo`, and the two lines above the profiles.
pub struct Heading<'a> {
    pub file: &'a str,
    pub title: &'a str,
    pub method: &'a str,
}

/// Draws the profiles; both must exist.
pub fn write(heading: &Heading, linux: &Result<Noise>, tacet: &Result<Noise>) -> Result<PathBuf> {
    let (Ok(linux), Ok(tacet)) = (linux, tacet) else { return Err("a noise profile is missing".into()) };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/demo").join(heading.file);
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    let path = path.parent().unwrap_or(&path).canonicalize()?.join(heading.file);
    plotters::style::register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
        .map_err(|_| "the picture's font cannot be read")?;
    let root = BitMapBackend::new(&path, SIZE).into_drawing_area();
    draw(&root, heading, linux, tacet)?;
    root.present()?;
    Ok(path.clone())
}

fn draw(root: &Area, heading: &Heading, linux: &Noise, tacet: &Noise) -> Result<()> {
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(HEAD);
    let write = |text: &str, size: u32, y: i32| {
        head.draw(&Text::new(text.to_owned(), (24, y), ("sans-serif", size).into_font().color(&INK)))
    };
    write(heading.title, 27, 14)?;
    write(heading.method, 18, 54)?;
    let top = 4.0 * linux.max().max(tacet.max()).max(100) as f64;
    let (above, below) = body.split_vertically((SIZE.1 - HEAD) / 2);
    panel(&above, "Linux as installed", linux, LINUX, top)?;
    panel(&below, "Tacet", tacet, TACET, top)
}

fn panel(area: &Area, name: &str, noise: &Noise, color: RGBColor, top: f64) -> Result<()> {
    let quanta = noise.stolen.len();
    let mut chart = ChartBuilder::on(area)
        .caption(title(name, noise), ("sans-serif", 21).into_font().color(&color))
        .margin_left(14)
        .margin_bottom(10)
        .margin_right(30)
        .x_label_area_size(48)
        .y_label_area_size(92)
        .build_cartesian_2d(0..quanta, (FLOOR..top).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.15))
        .axis_style(INK.mix(0.6))
        .label_style(("sans-serif", 17).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 18).into_font().color(&INK))
        .x_desc(format!("quantum, in order ({} instructions of the program each)", grouped(noise.user)))
        .y_desc("stolen instructions")
        .x_label_formatter(&|quantum| grouped(*quantum as u64))
        .y_label_formatter(&|stolen| grouped(*stolen as u64))
        .draw()?;
    let hits = || noise.stolen.iter().enumerate().filter(|(_, stolen)| **stolen > 0).map(|(x, y)| (x, *y as f64));
    let style = color.mix(0.45);
    chart.draw_series(hits().map(|(x, y)| PathElement::new(vec![(x, FLOOR), (x, y)], style)))?;
    chart.draw_series(hits().map(|at| Circle::new(at, 2, color.filled())))?;
    if noise.max() == 0 {
        let place = Pos::new(HPos::Center, VPos::Center);
        let style = ("sans-serif", 22).into_font().color(&color).pos(place);
        let words = "silence: no quantum met an instruction that was not the program's own";
        chart.draw_series([Text::new(words, (quanta / 2, (FLOOR * top).sqrt()), style)])?;
    }
    Ok(())
}

fn title(name: &str, noise: &Noise) -> String {
    let (hit, all) = (grouped(noise.hit() as u64), grouped(noise.stolen.len() as u64));
    let (worst, mean) = (grouped(noise.max()), noise.mean());
    format!("{name}: {hit} of {all} quanta hit; stolen instructions at worst {worst}, on average {mean:.1}")
}

/// A number with its thousands separated.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
