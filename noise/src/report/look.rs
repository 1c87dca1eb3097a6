// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Colours for light and dark, fonts, sizes. The page's style sheet takes its colours from here.
//!
//! Figures are drawn in the light colours. On the page, style rules match these colours and replace them by variables,
//! so one drawing serves both modes, and a figure's own file needs no style sheet.

use std::fmt::Write;
use std::sync::Once;

use plotters::style::{Color as _, FontStyle, RGBColor, TextStyle, register_font};
use plotters::style::{FontDesc, IntoFont};

use crate::Result;

/// A colour for a white and for a dark background.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Colour {
    pub name: &'static str,
    pub light: RGBColor,
    pub dark: RGBColor,
}

const fn colour(name: &'static str, light: (u8, u8, u8), dark: (u8, u8, u8)) -> Colour {
    Colour { name, light: RGBColor(light.0, light.1, light.2), dark: RGBColor(dark.0, dark.1, dark.2) }
}

pub const PAPER: Colour = colour("paper", (0xFF, 0xFF, 0xFF), (0x0F, 0x14, 0x1A));
pub const INK: Colour = colour("ink", (0x1B, 0x1F, 0x24), (0xE8, 0xED, 0xF2));
pub const MUTED: Colour = colour("muted", (0x5B, 0x65, 0x70), (0x9D, 0xA8, 0xB4));
pub const GRID: Colour = colour("grid", (0xE3, 0xE7, 0xEB), (0x2B, 0x33, 0x3C));

/// Okabe and Ito's colours, which colour-blind people can tell apart. The last is black on white and yellow on dark.
pub const RECORDS: [Colour; RECORDS_LIMIT] = [
    colour("record-0", (0x00, 0x72, 0xB2), (0x3B, 0x9B, 0xDC)),
    colour("record-1", (0xD5, 0x5E, 0x00), (0xE9, 0x78, 0x1F)),
    colour("record-2", (0x00, 0x9E, 0x73), (0x14, 0xB8, 0x8A)),
    colour("record-3", (0xCC, 0x79, 0xA7), (0xD9, 0x8C, 0xB7)),
    colour("record-4", (0xE6, 0x9F, 0x00), (0xF0, 0xAE, 0x1A)),
    colour("record-5", (0x56, 0xB4, 0xE9), (0x8A, 0xCD, 0xF5)),
    colour("record-6", (0x00, 0x00, 0x00), (0xF0, 0xE4, 0x42)),
];
/// More colours than these cannot be told apart.
pub const RECORDS_LIMIT: usize = 7;

/// Drawing units per pixel of the page: drawings have whole numbers only.
pub const SCALE: i32 = 2;

/// A figure's width: for a screen or paper, or for a phone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Width {
    pub name: &'static str,
    pub pixels: i32,
    /// Characters of small print in a line.
    pub letters: usize,
    /// Ticks that have room on a horizontal axis.
    pub ticks: usize,
}

pub const WIDE: Width = Width { name: "wide", pixels: 960, letters: 150, ticks: 10 };
pub const NARROW: Width = Width { name: "narrow", pixels: 350, letters: 54, ticks: 5 };

/// Converts pixels of the page to drawing units.
pub const fn px(pixels: i32) -> i32 {
    pixels * SCALE
}

/// Text of a height in pixels.
pub fn text(pixels: i32, colour: Colour) -> TextStyle<'static> {
    // The library divides by 1.24 when it writes SVG.
    let font: FontDesc<'static> = ("sans-serif", f64::from(px(pixels)) * 1.24).into_font();
    font.color(&colour.light.to_rgba())
}

/// Registers the font with which text is measured, since the host may have no fonts.
pub fn load_font() -> Result<()> {
    static ONCE: Once = Once::new();
    let mut loaded = Ok(());
    ONCE.call_once(|| {
        loaded = register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    loaded.map_err(|_| "cannot read the font for the pictures".into())
}

pub fn hex(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// Variables for both modes, and rules that replace a drawing's colours by them. Paper is always light.
pub fn colour_rules() -> String {
    let all: Vec<Colour> = [PAPER, INK, MUTED, GRID].into_iter().chain(RECORDS).collect();
    let variables = |of: fn(&Colour) -> RGBColor| {
        all.iter().fold(String::new(), |text, colour| text + &format!("--{}:{};", colour.name, hex(of(colour))))
    };
    let (light, dark) = (variables(|colour| colour.light), variables(|colour| colour.dark));
    let mut rules = format!(":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n");
    for colour in &all {
        let (name, value) = (colour.name, hex(colour.light));
        let _ = writeln!(
            rules,
            "svg [fill=\"{value}\"]{{fill:var(--{name})}}svg [stroke=\"{value}\"]{{stroke:var(--{name})}}"
        );
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance and contrast as WCAG 2 defines them.
    fn contrast(one: RGBColor, other: RGBColor) -> f64 {
        let luminance = |colour: RGBColor| {
            let linear = [colour.0, colour.1, colour.2].map(|part| {
                let part = f64::from(part) / 255.0;
                if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (a, b) = (luminance(one), luminance(other));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_is_readable_in_light_and_dark() {
        for colour in [INK, MUTED] {
            assert!(contrast(colour.light, PAPER.light) >= 4.5, "{}", colour.name);
            assert!(contrast(colour.dark, PAPER.dark) >= 4.5, "{}", colour.name);
        }
    }

    #[test]
    fn no_colour_is_used_twice() {
        let mut all: Vec<String> = [PAPER, INK, MUTED, GRID].iter().chain(&RECORDS).map(|one| hex(one.light)).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
