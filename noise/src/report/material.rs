// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The input of figures and tables: records with their statistics, computed once.

use std::ops::Range;

use super::columns::columns;
use super::look::{Colour, RECORDS};
use crate::analyse::{Comparison, Spectrum, Summary, compare, distribution, spectra};
use crate::predict::{Noise, Prediction, predict};
use crate::record::{About, Method, Record};
use crate::show;
use crate::units::Nanoseconds;

/// Points of a distribution; more would not be visible.
const POINTS: usize = 400;

/// All records of a report.
pub struct Material<'a> {
    pub records: Vec<Pictured<'a>>,
    /// Length of the longest record: all time series end there.
    pub span_ns: f64,
    /// Each further record against the first, or why they cannot be compared.
    pub comparisons: Vec<Result<Comparison, String>>,
    /// The predicted program's number of threads.
    pub threads: u64,
    /// Time between two synchronisations of the predicted program.
    pub interval: Nanoseconds,
}

/// One record of a report.
pub struct Pictured<'a> {
    pub about: &'a About,
    pub colour: Colour,
    pub summary: Summary,
    /// (noise length, share of samples that are not longer).
    pub distribution: Vec<(f64, f64)>,
    /// Empty unless the method is fixed time.
    pub spectra: Vec<Spectrum>,
    pub prediction: Prediction,
    /// Each CPU with its samples; in a record from many nodes each place.
    rows: Vec<(u32, Range<usize>)>,
    start_ns: &'a [u64],
    noise_ns: Vec<f64>,
}

impl<'a> Material<'a> {
    /// Uses at most [`super::RECORDS_LIMIT`] records; there is no colour for more.
    pub fn of(records: &'a [Record], threshold: Nanoseconds, threads: u64, interval: Nanoseconds) -> Material<'a> {
        let ends = records.iter().flat_map(|record| {
            record.samples.start_ns.iter().zip(&record.samples.length_ns).map(|(start, length)| (start + length) as f64)
        });
        Material {
            span_ns: ends.fold(0.0, f64::max),
            comparisons: match records.split_first() {
                Some((base, others)) => {
                    others.iter().map(|other| compare(other, base).map_err(|error| error.to_string())).collect()
                }
                None => Vec::new(),
            },
            threads,
            interval,
            records: records
                .iter()
                .zip(RECORDS)
                .map(|(record, colour)| Pictured::of(record, colour, threshold, threads, interval))
                .collect(),
        }
    }

    /// Their figures mean different things.
    pub fn methods_differ(&self) -> bool {
        let mut methods = self.records.iter().map(|record| record.about.method);
        let first = methods.next();
        methods.any(|method| Some(method) != first)
    }

    /// Wake-up latencies instead of noise, which have no times and predict nothing. A page has only one quantity.
    pub fn latencies(&self) -> bool {
        self.records.iter().any(|record| record.about.method == Method::Latency)
    }

    /// The verdict of `compare` on each further record; of a single record, whether it can call anything quiet.
    pub fn verdicts(&self) -> impl Iterator<Item = String> {
        let alone = self.records.first().filter(|_| self.records.len() == 1).map(|record| {
            let label = &record.about.label;
            match &record.summary.evidence.not_enough {
                Some(why) => format!("{label}: not enough to say anything: {why}"),
                None => format!("{label}: one record, so there is nothing to compare it with"),
            }
        });
        let told = |one: &Result<Comparison, String>| one.as_ref().map_or_else(Clone::clone, show::verdict);
        alone.into_iter().chain(self.comparisons.iter().map(told))
    }

    pub fn traced(&self) -> bool {
        self.records.iter().any(|record| record.about.thieves.is_some())
    }
}

impl<'a> Pictured<'a> {
    fn of(
        record: &'a Record,
        colour: Colour,
        threshold: Nanoseconds,
        threads: u64,
        interval: Nanoseconds,
    ) -> Pictured<'a> {
        let summary = record.summary(threshold.0);
        let noise: Vec<Noise> = summary.groups.iter().map(Noise::from).collect();
        let noise_ns = record.noise().length_ns;
        Pictured {
            about: &record.about,
            colour,
            distribution: distribution(&noise_ns, POINTS),
            spectra: if record.about.method == Method::Ftq { spectra(record) } else { Vec::new() },
            prediction: predict(&noise, threads, interval),
            summary,
            rows: record.samples.by_cpu(),
            start_ns: &record.samples.start_ns,
            noise_ns,
        }
    }

    /// The longest noise in each of `count` columns of `span_ns`.
    pub fn time_series(&self, span_ns: f64, count: usize) -> Vec<Option<f64>> {
        columns(self.start_ns.iter().map(|start| *start as f64).zip(self.noise_ns.iter().copied()), span_ns, count)
    }

    pub fn rows(&self) -> &[(u32, Range<usize>)] {
        &self.rows
    }

    /// `cpu 3`, or `rank 7` in a record from many nodes.
    pub fn row_label(&self, row: u32) -> String {
        let place = self.about.across.as_ref().and_then(|across| across.places.get(row as usize));
        place.map_or_else(|| format!("cpu {row}"), |place| format!("rank {}", place.rank))
    }

    /// The same of some rows only.
    pub fn time_series_of(&self, rows: &[(u32, Range<usize>)], span_ns: f64, count: usize) -> Vec<Option<f64>> {
        let samples = rows.iter().flat_map(|(_, range)| range.clone());
        columns(samples.map(|sample| (self.start_ns[sample] as f64, self.noise_ns[sample])), span_ns, count)
    }
}
