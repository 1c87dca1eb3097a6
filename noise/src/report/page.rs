// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The HTML page: one file without scripts that loads nothing. The template escapes all text from a record.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::axis::{duration, percent, slower};
use super::figures::Figure;
use super::look::{NARROW, WIDE, colour_rules};
use super::material::{Material, Pictured};
use super::origin::origin;
use super::render::{inline, legal};
use super::tables;
use crate::Result;
use crate::measure::machine::cpu_list;

const STYLE: &str = include_str!("page.css");
/// For a person who puts records of several methods side by side; docs/noise.md has the whole of it.
const METHODS: &str = "These records are of different methods, which do not see the same on one machine. Fixed work (fwq) adds up \
    all noise of a quantum, and its rate is over the time without noise. Fixed time (ftq) adds up all noise of an interval, and \
    its rate is a share of the time. Selfish detour has each detour alone, and none below its threshold. So the longest noise \
    and the number of samples differ even if the noise is the same; while little is lost, the rates agree.";
/// Makes the browser refuse to load anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub fn page(material: &Material<'_>, figures: &[Figure<'_>]) -> Result<String> {
    let pictures = figures.iter().map(picture).collect::<Result<Vec<Markup>>>()?;
    let labels: Vec<&str> = material.records.iter().map(|record| record.about.label.as_str()).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "Noise of " (labels.join(", ")) }
                style { (PreEscaped(colour_rules())) (PreEscaped(STYLE)) }
            }
            body {
                header {
                    @if material.latencies() {
                        h1 { "Wake-up latencies" }
                        p.lead { "How late a timer's thread woke up: " (labels.join(" and ")) ". This is not noise." }
                    } @else {
                        h1 { "Operating-system noise" }
                        p.lead { "The effect of " (labels.join(" and ")) " on a program that only computes." }
                    }
                }
                main {
                    (verdicts(material))
                    div.cards { @for record in &material.records { (card(record, material)) } }
                    @if material.methods_differ() { p { (METHODS) } }
                    @for picture in &pictures { (picture) }
                    (tables::all(material))
                }
                footer { p { "Made by tacet noise " (env!("CARGO_PKG_VERSION")) ". This page loads nothing: you can save, send and print it." } }
            }
        }
    };
    Ok(legal(&page.into_string()))
}

/// What `compare` says, before any number.
fn verdicts(material: &Material<'_>) -> Markup {
    html! {
        section id="verdict" {
            @for verdict in material.verdicts() { p.lead { (verdict) } }
            ul.notes {
                @for note in material.comparisons.iter().flatten().flat_map(|one| &one.notes) { li { (note) } }
            }
        }
    }
}

/// The most important numbers of a record.
fn card(record: &Pictured<'_>, material: &Material<'_>) -> Markup {
    let (about, summary) = (record.about, &record.summary);
    html! {
        section.card style=(format!("border-top-color:var(--{})", record.colour.name)) {
            h2 { (about.label) }
            p.small { "Linux " (about.kernel_release) ", CPUs " (cpu_list(&about.cpus)) ", " (about.method.name()) }
            @if summary.samples == 0 {
                p.big { "no sample" }
            } @else if material.latencies() {
                dl { div { dt { "longest latency" } dd { (duration(summary.max_noise_ns)) } } }
            } @else {
                dl {
                    div { dt { "longest noise" } dd { (duration(summary.max_noise_ns)) } }
                    div { dt { "noise rate" } dd { (percent(summary.noise_rate)) } }
                    div {
                        dt { (tables::threads(record.prediction.threads)) " threads that wait for each other every " (material.interval) }
                        dd { (slower(record.prediction.slowdown)) }
                        @if let Some(ends) = tables::between(&record.prediction) { dd.small { (ends) } }
                    }
                }
            }
        }
    }
}

/// Draws a figure twice, for wide and for narrow windows, so that letters keep their size.
fn picture(figure: &Figure<'_>) -> Result<Markup> {
    Ok(html! {
        figure id=(figure.name) {
            h2 { (figure.title) }
            (inline(figure, WIDE)?)
            (inline(figure, NARROW)?)
            figcaption {
                p { (figure.reading) }
                @for record in &figure.records {
                    p.small {
                        span.swatch style=(format!("background:var(--{})", record.colour.name)) {}
                        (origin(record.about))
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::Material;
    use super::super::figures::figures;
    use super::super::render::{png, svg};
    use super::*;
    use crate::record::examples::{about, fixed_work, thieves};
    use crate::record::{Method, Record, Samples};
    use crate::units::Nanoseconds;

    const HOSTILE: &str = "<script>alert('x')</script>\" onload=\"y\u{1}&\u{FFFF}";

    fn fixed_time(count: usize) -> Record {
        let samples = Samples {
            cpu: vec![0; count],
            start_ns: (0..count as u64).map(|at| at * 1_000_000).collect(),
            length_ns: vec![1_000_000; count],
            work_units: (0..count).map(|at| if at % 4 == 0 { 900 } else { 1000 }).collect(),
        };
        Record { about: about(Method::Ftq, count as u64 * 1_000_000), samples }
    }

    /// Makes the page, and each figure as a file.
    fn report(records: &[Record]) -> (String, Vec<(String, String)>) {
        let material = Material::of(records, Nanoseconds(1000.0), 100_000, Nanoseconds(250e3));
        let figures = figures(&material);
        let files = figures.iter().map(|one| (one.name.to_owned(), svg(one).expect("a file"))).collect();
        (page(&material, &figures).expect("a page"), files)
    }

    fn names(files: &[(String, String)]) -> Vec<&str> {
        files.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn figures_depend_on_the_records_data() {
        let mut traced = fixed_work(&[1_000_000, 1_090_000, 1_000_100]);
        let (page, files) = report(std::slice::from_ref(&traced));
        assert_eq!(names(&files), ["time-series", "distribution", "prediction"]);
        assert_eq!(page.matches("<figure ").count(), 3);
        traced.about.thieves = Some(thieves());
        let (page, files) = report(&[traced, fixed_time(4096)]);
        assert_eq!(names(&files), ["time-series", "distribution", "spectrum", "thieves", "prediction"]);
        for words in [
            "90 us",
            "250.0 Hz",
            "timer: tick",
            "12.5 %",
            "120 events were recorded, 5 lost",
            "SMIs: this",
            "isolate the CPU",
        ] {
            assert!(page.contains(words), "{words}");
        }
        for (name, file) in &files {
            for words in ["host node1", "Linux 6.12.0", "tacet noise measure", "CPUs 0", "time source tsc", "tacet 0"] {
                assert!(file.contains(words), "{name}: {words}");
            }
        }
    }

    /// The page says what `compare` says, before any number, and each extrapolation has its interval.
    #[test]
    fn the_verdict_stands_at_the_top() {
        let record = |step: u64, long: u64, label: &str| {
            let length = |index: u64| if index < 40 { long } else { index % 7 * step };
            let mut record = fixed_work(&(0..4000).map(|index| 1_000_000 + length(index)).collect::<Vec<_>>());
            record.about.label = label.into();
            record
        };
        let (before, after) = (record(20, 131_000, "before"), record(10, 748_000, "after"));
        let said = crate::show::verdict(&crate::analyse::compare(&after, &before).expect("comparable"));
        assert!(said.starts_with("after against before: mixed"), "{said}");
        let (page, _) = report(&[before.clone(), after]);
        let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}"));
        assert!(at(&said) < at("longest noise</dt>") && at("100,000 threads") < at("between 29"), "{page}");
        let (page, _) = report(&[before]);
        assert!(page.contains("nothing to compare it with"));
    }

    #[test]
    fn latencies_are_not_called_noise() {
        let mut record = fixed_work(&(0..400).map(|index| 2000 + index).collect::<Vec<_>>());
        record.about.method = Method::Latency;
        record.samples.start_ns.fill(0);
        let (page, files) = report(&[record.clone()]);
        assert_eq!(names(&files), ["distribution"]);
        assert!(page.contains("Wake-up latencies") && page.contains("longest latency"));
        for word in ["longest noise", "noise rate", "slower", "threads", "NaN", "once in", "of samples do not exceed"] {
            assert!(!page.contains(word) || word.starts_with("of"), "{word}");
        }
    }

    #[test]
    fn different_methods_are_explained() {
        let explained = |records: &[Record]| report(records).0.contains("of different methods");
        assert!(explained(&[fixed_work(&[10, 20]), fixed_time(8)]));
        assert!(!explained(&[fixed_work(&[10, 20]), fixed_work(&[10, 30])]));
    }

    /// No address, no script, nothing that a browser would fetch: not even a namespace or a document type with a URL.
    #[test]
    fn nothing_is_loaded() {
        let (page, files) = report(&[fixed_time(4096), fixed_work(&[5, 6, 90_000])]);
        for word in
            ["http:", "https:", "//", "src=", "href=", "url(", "@import", "<script", "<link", "<iframe", "<object"]
        {
            assert!(!page.contains(word), "{word}");
        }
        for (name, file) in &files {
            let rest = file.replacen("xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
            assert!(!rest.contains("//") && !rest.contains("href"), "{name}");
        }
    }

    #[test]
    fn hostile_names_are_plain_text() {
        let mut record = fixed_work(&[1_000_000, 1_090_000]);
        let mut found = thieves();
        found.sources[0].name = HOSTILE.into();
        found.sources[0].remedy = HOSTILE.into();
        found.unobserved = vec![HOSTILE.into()];
        let about = &mut record.about;
        about.thieves = Some(found);
        about.arguments = vec![HOSTILE.into()];
        for text in [&mut about.label, &mut about.host, &mut about.kernel_release, &mut about.kernel_arguments] {
            *text = HOSTILE.into();
        }
        for text in [&mut about.processor, &mut about.time_source, &mut about.version] {
            *text = HOSTILE.into();
        }
        let (page, files) = report(&[record]);
        let as_words = "&lt;script&gt;alert(";
        assert!(page.matches(as_words).count() > 20, "{}", page.matches(as_words).count());
        assert!(!page.contains("<script") && !page.contains("\" onload") && !page.contains('\u{1}'));
        for (name, file) in &files {
            assert!(file.contains("&lt;script") && !file.contains("<script") && !file.contains("\" onload"), "{name}");
            let dots = png(file).expect("well-formed");
            assert!(dots.starts_with(b"\x89PNG"), "{name}");
        }
    }

    #[test]
    fn empty_and_quiet_records_make_pages() {
        for record in [fixed_work(&[]), fixed_work(&[1000]), fixed_work(&[7; 50]), fixed_time(0), fixed_time(3)] {
            let (page, files) = report(&[record.clone(), fixed_work(&[10, 20])]);
            assert!(page.contains("</html>") && files.len() >= 3);
            let (page, files) = report(&[record]);
            assert!(page.contains("</html>") && files.len() >= 3);
            for (name, file) in files {
                assert!(!file.contains("NaN") && !file.contains("inf"), "{name}");
            }
        }
    }

    /// A million samples, all of them noise: the page contains columns, not samples.
    #[test]
    fn a_long_record_makes_a_short_page() {
        let lengths: Vec<u64> =
            (0..1_000_000u64).map(|at| 1_000_000 + at.wrapping_mul(2_654_435_761) % 100_000).collect();
        let (page, files) = report(&[fixed_work(&lengths), fixed_time(100_000)]);
        assert!(page.len() < 1_000_000, "{}", page.len());
        assert!(files.iter().all(|(_, file)| file.len() < 500_000));
    }
}
