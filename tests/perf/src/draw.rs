// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The picture of noise profiles: one panel for each configuration, with the same axes, so that silence shows as
//! silence.
//!
//! Owns only the look. A column of the picture shows the worst of its quanta.

use std::path::Path;

use plotters::prelude::*;

use crate::Result;
use crate::profile::Profile;

const WIDTH: u32 = 1000;
const PANEL: u32 = 240;
const COLUMNS: usize = 900;

/// Writes the profiles to an SVG file, one above the other.
pub fn draw(profiles: &[Profile], path: &Path) -> Result<()> {
    tacet_noise::report::load_font()?;
    let most = profiles.iter().map(Profile::max).max().unwrap_or(0).max(10) as f64 * 1.5;
    let root = SVGBackend::new(path, (WIDTH, PANEL * profiles.len().max(1) as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, profile) in root.split_evenly((profiles.len().max(1), 1)).iter().zip(profiles) {
        panel(area, profile, most)?;
    }
    Ok(root.present()?)
}

fn panel(area: &DrawingArea<SVGBackend, plotters::coord::Shift>, profile: &Profile, most: f64) -> Result<()> {
    let mut chart = ChartBuilder::on(area)
        .caption(title(profile), ("sans-serif", 18))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(70)
        .build_cartesian_2d(0..profile.stolen.len(), (1f64..most).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(1)
        .x_desc("quantum")
        .y_desc("stolen instructions")
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    let bars = columns(&profile.stolen).map(|(x, worst)| PathElement::new(vec![(x, 1.0), (x, worst as f64)], BLUE));
    chart.draw_series(bars)?;
    Ok(())
}

fn title(profile: &Profile) -> String {
    let (name, all) = (profile.configuration.name(), profile.stolen.len());
    match profile.hit() {
        0 => format!("{name}: none of {all} quanta met anything but its own {} instructions", profile.user),
        hit => format!("{name}: {hit} of {all} quanta hit, at worst {} stolen instructions", profile.max()),
    }
}

/// The columns that are not empty: the first quantum, and the worst value.
fn columns(stolen: &[u64]) -> impl Iterator<Item = (usize, u64)> {
    let width = stolen.len().div_ceil(COLUMNS).max(1);
    let worst = move |(column, quanta): (usize, &[u64])| (column * width, quanta.iter().copied().max().unwrap_or(0));
    stolen.chunks(width).enumerate().map(worst).filter(|(_, worst)| *worst > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Configuration;

    #[test]
    fn columns_keep_the_worst_and_leave_out_silence() {
        let mut stolen = vec![0; 9_000];
        (stolen[11], stolen[12], stolen[8_999]) = (5, 7, 1);
        assert_eq!(columns(&stolen).collect::<Vec<_>>(), [(10, 7), (8_990, 1)]);
    }

    #[test]
    fn a_picture_needs_no_font_of_the_host() {
        let profile = Profile {
            configuration: Configuration::DefaultLinux,
            stolen: vec![0, 40, 0],
            user: 40_000,
            interrupts: 1,
            entries: 1,
            exceptions: 0,
            own_count: None,
            sites: Vec::new(),
            hits: Vec::new(),
            load: Default::default(),
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile.svg");
        draw(&[profile], &path).unwrap();
        assert!(std::fs::read_to_string(path).unwrap().contains("stolen instructions"));
    }
}
