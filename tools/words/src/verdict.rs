// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one judgement of noise against noise, or against limits.
//!
//! Owns the cases and the rule that combines two parts of the evidence: the *body*, what most samples or the rate say,
//! and the *tail*, what the few longest noises say. `tacet noise compare`, `check` and `report` and `tacet tune ablate` all
//! ask here; each finds out by its own means what a part says. Pure: it never sees a record. (`tacet compare` judges the run
//! times of a program, not noise.)

use serde::{Deserialize, Serialize};

/// A longest noise that is so many times as long is told apart; it may be one event, which varies more than a mean.
pub const LONGEST_TOLD: f64 = 1.5;
/// The same for noise rates.
pub const RATE_TOLD: f64 = 1.1;

/// What one part of the evidence says about this side, against the other side or a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Less,
    More,
    /// No difference is shown.
    Same,
    /// Too little evidence.
    Unknown,
}

/// The verdict about this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Quieter,
    Noisier,
    /// The body says one thing, the tail the other.
    Mixed,
    NoDifferenceShown,
    /// There is too little evidence.
    NotEnough,
}

/// All that the judgement needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// `None`: nobody asked for it (a limit that was not given).
    pub body: Option<Part>,
    pub tail: Option<Part>,
    /// This side's number over the other's. It shows nothing by itself, but no verdict may contradict it.
    pub rate_ratio: Option<f64>,
    pub longest_ratio: Option<f64>,
}

impl Part {
    /// From an interval of a difference or a ratio that is `nothing` where both sides are the same.
    pub fn of_interval(interval: Option<(f64, f64)>, nothing: f64) -> Part {
        match interval {
            Some((low, _)) if low > nothing => Part::More,
            Some((_, high)) if high < nothing => Part::Less,
            Some(_) => Part::Same,
            None => Part::Unknown,
        }
    }

    /// From the range in which the other side varies by itself.
    pub fn of_range(value: f64, (least, most): (f64, f64)) -> Part {
        match value {
            value if value > most => Part::More,
            value if value < least => Part::Less,
            _ => Part::Same,
        }
    }
}

/// One part suffices for *noisier*. *Quieter* needs a part that says so, none that is unknown, and no number that
/// contradicts it: a tail that is several times worse is never quieter, even if few events are behind it.
pub fn judge(parts: &Parts) -> Verdict {
    let said = |part: Part| [parts.body, parts.tail].contains(&Some(part));
    let ratios = [(parts.rate_ratio, RATE_TOLD), (parts.longest_ratio, LONGEST_TOLD)];
    let any = |is: fn(f64, f64) -> bool| ratios.iter().any(|(ratio, told)| ratio.is_some_and(|ratio| is(ratio, *told)));
    match (said(Part::More), said(Part::Less)) {
        (true, true) => Verdict::Mixed,
        (true, false) if any(|ratio, told| ratio <= 1.0 / told) => Verdict::Mixed,
        (true, false) => Verdict::Noisier,
        _ if said(Part::Unknown) || (parts.body, parts.tail) == (None, None) => Verdict::NotEnough,
        (false, true) if any(|ratio, told| ratio >= told) => Verdict::Mixed,
        (false, true) => Verdict::Quieter,
        (false, false) => Verdict::NoDifferenceShown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(body: Option<Part>, tail: Option<Part>) -> Verdict {
        judge(&Parts { body, tail, rate_ratio: None, longest_ratio: None })
    }

    #[test]
    fn each_pair_of_parts() {
        use Part::{Less, More, Same, Unknown};
        for (body, tail, expected) in [
            (Less, Less, Verdict::Quieter),
            (Less, Same, Verdict::Quieter),
            (Same, Less, Verdict::Quieter),
            (Less, More, Verdict::Mixed),
            (More, Less, Verdict::Mixed),
            (More, More, Verdict::Noisier),
            (More, Same, Verdict::Noisier),
            (Same, More, Verdict::Noisier),
            (More, Unknown, Verdict::Noisier),
            (Same, Same, Verdict::NoDifferenceShown),
            (Less, Unknown, Verdict::NotEnough),
            (Same, Unknown, Verdict::NotEnough),
            (Unknown, Unknown, Verdict::NotEnough),
        ] {
            assert_eq!(verdict(Some(body), Some(tail)), expected, "{body:?} {tail:?}");
            assert_eq!(verdict(Some(tail), Some(body)), expected, "{tail:?} {body:?}");
        }
        assert_eq!(verdict(None, Some(Less)), Verdict::Quieter);
        assert_eq!(verdict(Some(More), None), Verdict::Noisier);
        assert_eq!(verdict(None, None), Verdict::NotEnough);
    }

    #[test]
    fn no_verdict_contradicts_a_number() {
        let with = |body, rate_ratio, longest_ratio| {
            judge(&Parts { body: Some(body), tail: Some(Part::Same), rate_ratio, longest_ratio })
        };
        assert_eq!(with(Part::Less, Some(0.9), Some(5.7)), Verdict::Mixed);
        assert_eq!(with(Part::Less, Some(1.2), Some(1.0)), Verdict::Mixed);
        assert_eq!(with(Part::Less, Some(0.9), Some(1.4)), Verdict::Quieter);
        assert_eq!(with(Part::More, Some(1.1), Some(1.0 / 5.7)), Verdict::Mixed);
        assert_eq!(with(Part::More, None, None), Verdict::Noisier);
        assert_eq!(
            with(Part::Same, Some(3.0), Some(9.0)),
            Verdict::NoDifferenceShown,
            "a number shows nothing by itself"
        );
    }

    #[test]
    fn parts_from_intervals_and_ranges() {
        assert_eq!(
            [(0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)].map(|ends| Part::of_interval(Some(ends), 0.0)),
            [Part::More, Part::Less, Part::Same]
        );
        assert_eq!(Part::of_interval(None, 0.0), Part::Unknown);
        assert_eq!(
            [9.0, 1.0, 5.0, 2.0].map(|value| Part::of_range(value, (2.0, 5.0))),
            [Part::More, Part::Less, Part::Same, Part::Same]
        );
    }
}
