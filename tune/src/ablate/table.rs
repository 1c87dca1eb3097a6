// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns readings into a verdict: does the absence of a countermeasure show beyond the node's own variation?
//!
//! Pure. A row is the median of its readings. The readings with all countermeasures, which are many more, show how much
//! the node varies by itself. A row within their range shows no effect, however large its ratio.

use serde::Serialize;
use tacet_words::verdict::{Part, Parts, Verdict, judge};

use super::laboratory::{Reading, Source};
use crate::cpus::Cpus;

#[derive(Debug, Serialize)]
pub struct Table {
    /// The measured CPUs.
    pub application: Cpus,
    pub system: Cpus,
    pub rounds: usize,
    /// Why there are fewer measurements than the rounds have.
    pub partial: Option<String>,
    /// With all countermeasures in force.
    pub baseline: Spread,
    /// With one of them switched off; rows that show an effect first, the largest effect first.
    pub rows: Vec<Row>,
    /// Countermeasures that were chosen but changed nothing: they do not apply to this node, or another one does the
    /// same.
    pub nothing_to_switch_off: Vec<String>,
    /// Why no thieves are known.
    pub untraced: Option<String>,
}

/// Readings of one state.
#[derive(Debug, Serialize)]
pub struct Spread {
    pub least: Reading,
    pub middle: Reading,
    pub most: Reading,
    pub readings: Vec<Reading>,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub measure: String,
    pub stops: &'static str,
    pub effect: Effect,
    /// The ratio of the medians; None if the baseline is 0.
    pub max_noise_ratio: Option<f64>,
    pub noise_rate_ratio: Option<f64>,
    #[serde(flatten)]
    pub spread: Spread,
    pub thief: Option<Source>,
    /// Why it could not be switched off completely, or not on again.
    pub complaint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Longer noise, or more noise, than in any measurement with all countermeasures, and by no figure less.
    MoreNoise,
    /// More noise by one figure, less by the other.
    Mixed,
    /// Within the range of those measurements.
    NoneSeen,
    /// By one figure less noise than in any of those measurements, and not more by the other.
    LessNoise,
    /// Fewer than [`ENOUGH`] measurements with all countermeasures, or none without this one.
    NotEnough,
}

/// A reading lies by chance outside the range of so many others in two of five cases; of fewer, in most.
const ENOUGH: usize = 4;

/// The measurements without one countermeasure.
#[derive(Debug)]
pub struct Off {
    pub measure: String,
    pub stops: &'static str,
    pub readings: Vec<Reading>,
    pub thief: Option<Source>,
    pub complaint: Option<String>,
}

impl Off {
    pub fn of(measure: &str, stops: &'static str) -> Off {
        Off { measure: measure.to_owned(), stops, readings: Vec::new(), thief: None, complaint: None }
    }
}

impl Table {
    pub fn new(
        application: Cpus,
        system: Cpus,
        rounds: usize,
        baseline: Vec<Reading>,
        offs: Vec<Off>,
        nothing_to_switch_off: Vec<String>,
        untraced: Option<String>,
    ) -> Table {
        let baseline = Spread::of(baseline);
        let mut rows: Vec<Row> = offs.into_iter().map(|off| Row::of(off, &baseline)).collect();
        rows.sort_by(|a, b| a.effect.cmp(&b.effect).then(b.ratio().total_cmp(&a.ratio())));
        Table { application, system, rounds, partial: None, baseline, rows, nothing_to_switch_off, untraced }
    }
}

impl Row {
    fn of(off: Off, baseline: &Spread) -> Row {
        let Off { measure, stops, readings, thief, complaint } = off;
        let spread = Spread::of(readings);
        let (now, usual) = (spread.middle, baseline.middle);
        Row {
            measure,
            stops,
            effect: baseline.effect_of((!spread.readings.is_empty()).then_some(now)),
            max_noise_ratio: ratio(now.max_noise_ns, usual.max_noise_ns),
            noise_rate_ratio: ratio(now.noise_rate, usual.noise_rate),
            spread,
            thief,
            complaint,
        }
    }

    /// The larger of the two ratios, for sorting.
    fn ratio(&self) -> f64 {
        [self.max_noise_ratio, self.noise_rate_ratio].into_iter().flatten().fold(0.0, f64::max)
    }
}

impl Spread {
    /// The spread of each figure by itself: the longest noise and the highest rate may come from different readings.
    pub fn of(readings: Vec<Reading>) -> Spread {
        let sorted = |of: fn(&Reading) -> f64| {
            let mut values: Vec<f64> = readings.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (lengths, rates) = (sorted(|one| one.max_noise_ns), sorted(|one| one.noise_rate));
        let at = |index: usize| Reading {
            max_noise_ns: lengths.get(index).copied().unwrap_or(0.0),
            noise_rate: rates.get(index).copied().unwrap_or(0.0),
        };
        let last = readings.len().saturating_sub(1);
        // the lower median of an even number, which never exaggerates an effect
        Spread { least: at(0), middle: at(last / 2), most: at(last), readings }
    }

    /// The rate is the body of a reading, its longest noise the tail.
    fn effect_of(&self, now: Option<Reading>) -> Effect {
        let Some(now) = now.filter(|_| self.readings.len() >= ENOUGH) else { return Effect::NotEnough };
        let part = |of: fn(&Reading) -> f64| Part::of_range(of(&now), (of(&self.least), of(&self.most)));
        let over = |of: fn(&Reading) -> f64| ratio(of(&now), of(&self.middle));
        let parts = Parts {
            body: Some(part(|one| one.noise_rate)),
            tail: Some(part(|one| one.max_noise_ns)),
            rate_ratio: over(|one| one.noise_rate),
            longest_ratio: over(|one| one.max_noise_ns),
        };
        match judge(&parts) {
            Verdict::Noisier => Effect::MoreNoise,
            Verdict::Quieter => Effect::LessNoise,
            Verdict::Mixed => Effect::Mixed,
            Verdict::NoDifferenceShown => Effect::NoneSeen,
            Verdict::NotEnough => Effect::NotEnough,
        }
    }
}

fn ratio(now: f64, usual: f64) -> Option<f64> {
    (usual > 0.0).then(|| now / usual)
}

impl Effect {
    /// The text for tables.
    pub fn said(self) -> &'static str {
        match self {
            Effect::MoreNoise => "more noise without it",
            Effect::NoneSeen => "no effect seen",
            Effect::LessNoise => "less noise without it",
            Effect::Mixed => "mixed: more by one figure, less by the other",
            Effect::NotEnough => "not enough to say",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(max_noise_ns: f64) -> Reading {
        Reading { max_noise_ns, noise_rate: max_noise_ns / 1e9 }
    }

    fn table(offs: &[(&str, &[f64])]) -> Table {
        let off = |(name, readings): &(&str, &[f64])| {
            let mut off = Off::of(name, "");
            off.readings = readings.iter().copied().map(reading).collect();
            off
        };
        let baseline = [50.0, 70.0, 40.0, 60.0].map(reading).to_vec();
        Table::new(Cpus::default(), Cpus::default(), 3, baseline, offs.iter().map(off).collect(), vec![], None)
    }

    #[test]
    fn what_the_node_varies_by_itself_is_no_effect() {
        let found = table(&[
            ("within", &[65.0, 70.0, 45.0]),
            ("once", &[90.0, 60.0, 60.0]),
            ("more", &[71.0, 90.0, 20.0]),
            ("most", &[2000.0, 3000.0, 4000.0]),
            ("less", &[10.0, 20.0, 30.0]),
        ]);
        let rows: Vec<_> = found.rows.iter().map(|row| (row.measure.as_str(), row.effect)).collect();
        let (more, none, less) = (Effect::MoreNoise, Effect::NoneSeen, Effect::LessNoise);
        assert_eq!(rows, [("most", more), ("more", more), ("within", none), ("once", none), ("less", less)]);
        let base = &found.baseline;
        assert_eq!([base.least, base.middle, base.most].map(|one| one.max_noise_ns), [40.0, 50.0, 70.0]);
        assert_eq!(found.rows[0].max_noise_ratio, Some(60.0));
    }

    /// The rate halves, the longest noise is six times as long: not less noise.
    #[test]
    fn a_better_rate_with_a_worse_tail_is_mixed() {
        let effect = |max_noise_ns: f64, noise_rate: f64, baseline: usize| {
            let mut off = Off::of("x", "");
            off.readings = vec![Reading { max_noise_ns, noise_rate }];
            let (none, baseline) = (Cpus::default(), vec![Reading { max_noise_ns: 50.0, noise_rate: 2e-4 }; baseline]);
            Table::new(none.clone(), none, 1, baseline, vec![off], vec![], None).rows[0].effect
        };
        assert_eq!(effect(300.0, 1e-4, 4), Effect::Mixed);
        assert_eq!(effect(10.0, 4e-4, 4), Effect::Mixed);
        assert_eq!(effect(50.0, 1e-4, 4), Effect::LessNoise);
        assert_eq!(effect(300.0, 2e-4, 4), Effect::MoreNoise);
        assert_eq!(effect(300.0, 4e-4, 3), Effect::NotEnough);
    }

    #[test]
    fn a_silent_baseline_has_no_ratio() {
        let mut off = Off::of("x", "");
        off.readings = vec![reading(5.0)];
        let table = Table::new(Cpus::default(), Cpus::default(), 1, vec![reading(0.0); 4], vec![off], vec![], None);
        assert_eq!((table.rows[0].max_noise_ratio, table.rows[0].effect), (None, Effect::MoreNoise));
    }
}
