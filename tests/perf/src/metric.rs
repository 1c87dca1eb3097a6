// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A figure with everything that makes it credible, and the table of figures.
//!
//! Owns the format of `build/bench/NAME.json`. There must be no figure without its method.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Result;

/// A measured figure.
#[derive(Debug, Clone, Serialize)]
pub struct Metric {
    pub metric: String,
    pub value: f64,
    pub unit: &'static str,
    /// How it was measured, compared with what, and where.
    pub method: String,
    /// The value of the baseline.
    pub baseline: Option<f64>,
    /// `value / baseline`; none without a baseline, or if the baseline is 0.
    pub ratio: Option<f64>,
}

/// Collects metrics that were measured at the same place.
#[derive(Debug, Default)]
pub struct Metrics {
    place: String,
    metrics: Vec<Metric>,
}

impl Metrics {
    /// `place` names host, kernel, emulator and commit; it is appended to every method.
    pub fn at(place: &str) -> Metrics {
        Metrics { place: place.to_owned(), metrics: Vec::new() }
    }

    /// Adds a figure.
    pub fn add(&mut self, metric: &str, value: f64, unit: &'static str, baseline: Option<f64>, method: &str) {
        let ratio = baseline.filter(|b| *b != 0.0).map(|b| value / b);
        let method = format!("{method}; {}", self.place);
        self.metrics.push(Metric { metric: metric.to_owned(), value, unit, method, baseline, ratio });
    }

    /// Adds metrics that were measured elsewhere.
    pub fn append(&mut self, other: Metrics) {
        self.metrics.extend(other.metrics);
    }

    /// All of them, in order.
    pub fn into_vec(self) -> Vec<Metric> {
        self.metrics
    }
}

/// Writes the list atomically: the file has the old or the new content.
pub fn write(metrics: &[Metric], path: &Path) -> Result<()> {
    let new = path.with_extension("new");
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(&new, serde_json::to_string_pretty(metrics)? + "\n")?;
    Ok(fs::rename(new, path)?)
}

/// The table for a person; methods are in the file.
pub fn table(metrics: &[Metric]) -> String {
    let mut text = format!("{:<40}{:>14} {:<13}{:>14}{:>10}\n", "metric", "value", "unit", "baseline", "ratio");
    for m in metrics {
        let (baseline, ratio) = (m.baseline.map_or("-".to_owned(), figure), m.ratio.map_or("-".to_owned(), figure));
        text += &format!("{:<40}{:>14} {:<13}{:>14}{:>10}\n", m.metric, figure(m.value), m.unit, baseline, ratio);
    }
    text
}

fn figure(value: f64) -> String {
    match value {
        v if v == v.trunc() && v.abs() < 1e12 => format!("{v}"),
        v if v.abs() < 10.0 => format!("{v:.3}"),
        v => format!("{v:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_a_baseline_that_is_not_zero() {
        let mut metrics = Metrics::at("here");
        metrics.add("a", 3.0, "us", Some(2.0), "m");
        metrics.add("b", 3.0, "us", Some(0.0), "m");
        metrics.add("c", 3.0, "us", None, "m");
        let list = metrics.into_vec();
        assert_eq!(list.iter().map(|m| m.ratio).collect::<Vec<_>>(), [Some(1.5), None, None]);
        assert_eq!(list[0].method, "m; here");
        assert!(table(&list).lines().count() == 4);
    }
}
