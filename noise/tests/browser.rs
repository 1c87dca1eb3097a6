// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report in a real browser: from a file, without a network, on a screen, a phone and paper, light and dark.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headless_chrome::browser::default_executable;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Network};
use headless_chrome::{Browser, LaunchOptions, Tab};
use tacet_noise::record::Record;

const HOSTILE: &str = "<script>document.title='taken'</script>";

/// The page's requests and the browser's complaints.
type Seen = Arc<Mutex<Vec<String>>>;

#[test]
fn the_page_in_a_browser() {
    let browser = browser();
    let folder = tempfile::tempdir().expect("a folder");
    let page = report(folder.path());
    let (tab, seen) = watched(&browser);
    open(&tab, &page);
    assert_eq!(*seen.lock().expect("seen"), [format!("request file://{}", page.display())]);

    assert_eq!(text(&tab, "document.title"), format!("Noise of {HOSTILE} (1), {HOSTILE} (2)"));
    assert_eq!(number(&tab, "document.scripts.length"), 0.0);
    // The heat map needs two CPUs.
    let figures = 5 + usize::from(std::thread::available_parallelism().is_ok_and(|count| count.get() > 1));
    assert_eq!(number(&tab, "document.querySelectorAll('figure').length"), figures as f64);
    assert_eq!(number(&tab, "document.querySelectorAll('figure svg[role=img] > title').length"), 2.0 * figures as f64);
    let shown = "[...document.querySelectorAll('figure svg')].filter(svg => svg.getClientRects().length)";
    assert_eq!(
        text(&tab, &format!("{shown}.map(svg => svg.getAttribute('class')).join(' ')")),
        vec!["wide"; figures].join(" ")
    );

    let (ground, ink) = (
        "getComputedStyle(document.body).backgroundColor",
        "getComputedStyle(document.querySelector('figure text')).fill",
    );
    media(&tab, "screen", "light");
    assert_eq!([text(&tab, ground), text(&tab, ink)], ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]);
    media(&tab, "screen", "dark");
    assert_eq!([text(&tab, ground), text(&tab, ink)], ["rgb(15, 20, 26)", "rgb(232, 237, 242)"]);
    media(&tab, "print", "dark");
    assert_eq!([text(&tab, ground), text(&tab, ink)], ["rgb(255, 255, 255)", "rgb(27, 31, 36)"], "paper is white");
    assert!(tab.print_to_pdf(None).expect("a PDF").starts_with(b"%PDF"));

    media(&tab, "screen", "light");
    for width in [360, 320, 800] {
        resize(&tab, width);
        let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(number(&tab, overflow), 0.0, "{width} pixels");
        let sideways = "Math.max(...[...document.querySelectorAll('table.stack')].map(table => \
                        table.parentNode.scrollWidth - table.parentNode.clientWidth))";
        assert!(width > 640 || number(&tab, sideways) == 0.0, "a table scrolls sideways in {width} pixels");
        let kind = if width > 640 { "wide" } else { "narrow" };
        assert_eq!(
            text(&tab, &format!("{shown}.map(svg => svg.getAttribute('class')).join(' ')")),
            vec![kind; figures].join(" ")
        );
        let least = format!(
            "Math.min(...{shown}.flatMap(svg => [...svg.querySelectorAll('text')]).map(text => parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a))"
        );
        assert!(number(&tab, &least) >= 9.0, "letters of {} pixels in {width}", number(&tab, &least));
    }
    assert_eq!(seen.lock().expect("seen").len(), 1, "{seen:?}");
}

/// The watcher notices a page that misbehaves; without this the other test would prove nothing.
#[test]
fn the_watcher_notices_a_bad_page() {
    let browser = browser();
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("bad.html");
    std::fs::write(&page, "<img src='http://nowhere.invalid/a.png'><script>console.error('one'); undefined.x</script>")
        .expect("written");
    let (tab, seen) = watched(&browser);
    open(&tab, &page);
    let seen = seen.lock().expect("seen").join("\n");
    for word in ["request http://nowhere.invalid/a.png", "console", "exception"] {
        assert!(seen.contains(word), "{word}: {seen}");
    }
}

/// Two records, one of them traced, both with a hostile label.
fn report(folder: &Path) -> PathBuf {
    let noise = |words: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_tacet-noise")).args(words).current_dir(folder).output().expect("it runs");
        assert!(output.status.success(), "{words:?}: {output:?}");
    };
    for (method, file) in [("fwq", "w.parquet"), ("ftq", "t.parquet")] {
        noise(&[
            "measure",
            "--method",
            method,
            "--quantum",
            "50us",
            "--duration",
            "100ms",
            "--label",
            HOSTILE,
            "-o",
            file,
        ]);
    }
    let path = folder.join("w.parquet");
    let mut record = Record::read(&path).expect("a record");
    let thieves = serde_json::json!({
        "sources": [{
            "kind": "task", "name": HOSTILE, "origin": HOSTILE, "cpus": [0], "count": 3, "total_ns": 9000,
            "longest_ns": 4000, "explained_ns": 8000.0, "share": 0.8, "remedy": HOSTILE
        }],
        "detour_threshold_ns": 1000.0, "detours": 4, "detour_ns": 10000.0, "explained_ns": 8000.0,
        "unexplained_detours": 1, "events": 3, "events_lost": 0, "stopped": null, "unobserved": [HOSTILE]
    });
    record.about.thieves = Some(serde_json::from_value(thieves).expect("thieves"));
    record.write(&path).expect("rewritten");
    noise(&["report", "w.parquet", "t.parquet", "-o", "page.html"]);
    folder.join("page.html").canonicalize().expect("a page")
}

fn browser() -> Browser {
    let path = default_executable()
        .unwrap_or_else(|_| panic!("no browser: `apt-get install chromium` (`make setup` does it)"));
    let options = LaunchOptions {
        path: Some(path),
        // The sandbox does not work for root; the page is our own.
        sandbox: false,
        idle_browser_timeout: Duration::from_secs(300),
        args: vec!["--disable-dev-shm-usage".as_ref()],
        ..LaunchOptions::default()
    };
    Browser::new(options).expect("the browser starts")
}

fn watched(browser: &Browser) -> (Arc<Tab>, Seen) {
    let tab = browser.new_tab().expect("a tab");
    tab.set_default_timeout(Duration::from_secs(120));
    let seen = Seen::default();
    let notes = Arc::clone(&seen);
    tab.add_event_listener(Arc::new(move |event: &Event| {
        let note = match event {
            Event::NetworkRequestWillBeSent(event) => format!("request {}", event.params.request.url),
            Event::LogEntryAdded(event) => format!("log {}", event.params.entry.text),
            Event::RuntimeConsoleAPICalled(event) => format!("console {:?}", event.params.args),
            Event::RuntimeExceptionThrown(event) => format!("exception {}", event.params.exception_details.text),
            _ => return,
        };
        notes.lock().expect("notes").push(note);
    }))
    .expect("a listener");
    tab.enable_log().expect("logs");
    tab.enable_runtime().expect("the console");
    let network: Network::Enable = serde_json::from_value(serde_json::json!({})).expect("no limits");
    tab.call_method(network).expect("the network");
    (tab, seen)
}

fn open(tab: &Tab, page: &Path) {
    tab.navigate_to(&format!("file://{}", page.display()))
        .expect("it opens")
        .wait_until_navigated()
        .expect("it is there");
}

fn media(tab: &Tab, kind: &str, scheme: &str) {
    let feature = Emulation::MediaFeature { name: "prefers-color-scheme".into(), value: scheme.into() };
    tab.call_method(Emulation::SetEmulatedMedia { media: Some(kind.into()), features: Some(vec![feature]) })
        .expect("a medium");
}

fn resize(tab: &Tab, width: u32) {
    let size = serde_json::json!({ "width": width, "height": 740, "deviceScaleFactor": 2.0, "mobile": true });
    let size: Emulation::SetDeviceMetricsOverride = serde_json::from_value(size).expect("a size");
    tab.call_method(size).expect("resized");
}

fn value(tab: &Tab, expression: &str) -> serde_json::Value {
    tab.evaluate(expression, false).expect(expression).value.expect(expression)
}

fn text(tab: &Tab, expression: &str) -> String {
    value(tab, expression).as_str().expect(expression).to_owned()
}

fn number(tab: &Tab, expression: &str) -> f64 {
    value(tab, expression).as_f64().expect(expression)
}
