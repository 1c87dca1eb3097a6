// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The figures, each from the same material, in the order of the page.

mod distribution;
mod frame;
mod heat_map;
mod prediction;
mod spectrum;
mod thieves;
mod time_series;

use super::Material;
use super::look::Width;
use super::material::Pictured;
use crate::Result;
pub use frame::Area;

type Draw<'a> = dyn Fn(&Area<'_>, Width) -> Result<()> + 'a;

/// A picture that can be drawn at several widths.
pub struct Figure<'a> {
    /// Name of its files, and its anchor on the page.
    pub name: &'static str,
    pub title: &'static str,
    /// How to read it, in a sentence or two.
    pub reading: String,
    /// The records that it shows.
    pub records: Vec<&'a Pictured<'a>>,
    height: Box<dyn Fn(Width) -> i32 + 'a>,
    draw: Box<Draw<'a>>,
}

impl Figure<'_> {
    /// In pixels of the page.
    pub fn height(&self, width: Width) -> i32 {
        (self.height)(width)
    }

    pub fn draw(&self, area: &Area<'_>, width: Width) -> Result<()> {
        (self.draw)(area, width)
    }
}

/// The figures for which the material has data: rows of CPUs need two, thieves need a traced record, a spectrum needs fixed time.
/// Latencies have no times and predict nothing.
pub fn figures<'a>(material: &'a Material<'a>) -> Vec<Figure<'a>> {
    if material.latencies() {
        return vec![distribution::figure(material)];
    }
    let mut all = vec![time_series::figure(material)];
    all.extend(heat_map::figure(material));
    all.push(distribution::figure(material));
    all.extend(spectrum::figure(material));
    all.extend(thieves::figure(material));
    all.push(prediction::figure(material));
    all
}
