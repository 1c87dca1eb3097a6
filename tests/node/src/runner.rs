// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the chosen scenarios on the chosen kernels and says how each went.
//!
//! Owns the verdict: a scenario is `ok` when its script said so, the kernel complained of nothing and the node is as
//! before. A node that failed a scenario is not trusted with the next one: another is booted.

use std::cell::Cell;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tacet_node::{Cache, KernelLine, Node, Output, Status, provision, stale_breakpoint};

use crate::list::SCENARIOS;
use crate::options::Options;
use crate::queue::{self, Queue};
use crate::scenario::{End, Scenario};
use crate::stage;
use crate::state::State;

/// How long a node may take to switch itself off.
const POWER_OFF: Duration = Duration::from_secs(60);
/// How often a scenario is run again because the emulator broke its kernel. Never for any other reason.
const REPEATS: u32 = 2;
/// Lines of a dead node's console that are told: an oops, with what led to it.
const LAST_WORDS: usize = 100;
/// Steps of a failed script that are told.
const STEPS: usize = 12;
/// And characters of each.
const STEP_LENGTH: usize = 160;

/// Everything that was asked for.
pub fn run(options: &Options) -> ExitCode {
    if options.list {
        for scenario in SCENARIOS {
            println!("{:10} {}", format!("{:?}", scenario.place), scenario.name);
        }
        return ExitCode::SUCCESS;
    }
    let sum = Sum::default();
    match prepare() {
        Ok(cache) => two_at_a_time(&cache, options, &sum),
        Err(error) => {
            sum.add(Err(format!("not ok the programs of the scenarios: {error}")));
        }
    }
    let (passed, failed) = (sum.passed.into_inner(), sum.failed.into_inner().unwrap_or_else(PoisonError::into_inner));
    if !failed.is_empty() {
        println!("Once more, what failed:\n{}", failed.join("\n"));
    }
    println!("{passed} passed, {} failed", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Default)]
struct Sum {
    passed: AtomicU32,
    /// What was said of each: who keeps only the end of a long output finds it there.
    failed: Mutex<Vec<String>>,
}

impl Sum {
    fn add(&self, verdict: Result<String, String>) {
        match verdict {
            Ok(said) => {
                println!("{said}");
                self.passed.fetch_add(1, Ordering::Relaxed);
            }
            Err(said) => {
                println!("{said}");
                self.failed.lock().unwrap_or_else(PoisonError::into_inner).push(said);
            }
        }
    }
}

/// Much of a scenario is waiting: two nodes fill two cores.
fn two_at_a_time(cache: &Cache, options: &Options, sum: &Sum) {
    let queue = |kernel: &KernelLine| Queue::new(*kernel, chosen(options, *kernel).collect());
    let queues = Mutex::new(options.kernels.iter().map(queue).collect::<Vec<_>>());
    let lane = || {
        let mut bench: Option<Bench<'_>> = None;
        loop {
            let kernel = bench.as_ref().map(|bench| bench.kernel);
            let next = queue::next(&mut queues.lock().unwrap_or_else(PoisonError::into_inner), kernel);
            let Some((kernel, scenario)) = next else { return };
            let same = bench.take().filter(|bench| bench.kernel == kernel);
            let mut here =
                same.unwrap_or(Bench { cache, kernel, long: options.full, node: None, broken: Cell::new(false) });
            sum.add(here.verdict(scenario));
            bench = Some(here);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(lane);
        scope.spawn(lane);
    });
}

fn prepare() -> tacet_node::Result<Cache> {
    let cache = Cache::open()?;
    provision::ensure(&cache)?;
    stage::programs(&cache)?;
    Ok(cache)
}

fn chosen(options: &Options, kernel: KernelLine) -> impl Iterator<Item = &'static Scenario> {
    SCENARIOS
        .iter()
        .filter(move |scenario| scenario.is_for(kernel, options.full))
        .filter(|scenario| options.chosen(scenario.name) || options.chosen(scenario.script))
}

/// The node of one kernel, booted when needed.
struct Bench<'a> {
    cache: &'a Cache,
    kernel: KernelLine,
    long: bool,
    node: Option<Node>,
    /// The emulator broke the last scenario's kernel.
    broken: Cell<bool>,
}

impl Bench<'_> {
    fn verdict(&mut self, scenario: &Scenario) -> Result<String, String> {
        let start = Instant::now();
        let mut wrong = self.once(scenario);
        for _ in 0..REPEATS {
            if wrong.is_ok() || !self.broken.replace(false) {
                break;
            }
            let (kernel, name) = (self.kernel, scenario.name);
            println!(
                "again {kernel} {name}: the emulator executed a breakpoint that was gone from the kernel's memory"
            );
            wrong = self.once(scenario);
        }
        let seconds = start.elapsed().as_secs();
        let (kernel, name) = (self.kernel, scenario.name);
        match wrong {
            Ok(said) => Ok(format!("ok {kernel} {name} ({seconds} s{said})")),
            Err(reason) => {
                self.node = None;
                Err(format!("not ok {kernel} {name}: {reason} ({seconds} s)"))
            }
        }
    }

    fn once(&mut self, scenario: &Scenario) -> Result<String, String> {
        match scenario.end {
            End::Node => self.on_the_node(scenario),
            End::PoweredOff => self.to_the_end(scenario),
            End::Apart | End::InTurn | End::Counted | End::Systemd => self.on_its_own(scenario),
        }
    }

    /// Remembers whether it was the emulator that made `said` an error.
    fn blame(&self, node: &Node, said: Result<String, String>) -> Result<String, String> {
        self.broken.set(said.is_err() && stale_breakpoint(&node.console()));
        said
    }

    fn on_the_node(&mut self, scenario: &Scenario) -> Result<String, String> {
        let node = match self.node.take() {
            Some(node) if node.is_alive() => node,
            _ => self.boot(scenario)?,
        };
        let said = self.blame(&node, self.judged(&node, scenario))?;
        self.node = Some(node);
        Ok(said)
    }

    fn on_its_own(&self, scenario: &Scenario) -> Result<String, String> {
        let node = self.boot(scenario)?;
        self.blame(&node, self.judged(&node, scenario))
    }

    fn judged(&self, node: &Node, scenario: &Scenario) -> Result<String, String> {
        let before = State::read(node)?;
        node.run(&stage::shell("dmesg -C")).map_err(|e| e.to_string())?;
        self.lived_through(node, scenario, &before).map_err(|reason| {
            let diagnosis = self.keep_diagnosis(node, scenario);
            format!("{reason}; the script's last steps:\n{}\n", last_steps(&diagnosis))
        })
    }

    fn lived_through(&self, node: &Node, scenario: &Scenario, before: &State) -> Result<String, String> {
        let output = self.script(node, scenario)?;
        let mut wrong = told(&output);
        let complaints = node.run(&stage::shell("bash $F/complaints.sh")).map_err(|e| e.to_string())?;
        wrong.extend(complaints.text().lines().map(str::to_owned));
        let after = State::read(node)?;
        wrong.extend(after.compare(before));
        if wrong.is_empty() {
            Ok(format!(", {:+} pages{}", after.pages_more(before), notes(&output)))
        } else {
            Err(wrong.join("; "))
        }
    }

    /// What the node says about itself, and its console, in a file that a person can read.
    fn keep_diagnosis(&self, node: &Node, scenario: &Scenario) -> String {
        let directory = stage::top().join("build/tests/failures");
        let name = format!("{}-{}.log", self.kernel, scenario.script.replace([' ', '.'], "-"));
        let command = stage::shell("bash $F/diagnose.sh 2>&1").timeout(Duration::from_secs(60));
        let said = node.run(&command).map_or_else(|e| e.to_string(), |output| output.text());
        let text = format!("{said}\n--- console\n{}", node.console());
        if let Err(error) =
            std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(directory.join(name), text))
        {
            eprintln!("{}: {error}", directory.display());
        }
        said
    }

    /// A node that ends itself: how its script ended does not count, that the machine ends does.
    fn to_the_end(&self, scenario: &Scenario) -> Result<String, String> {
        let node = self.boot(scenario)?;
        self.blame(&node, self.ended(&node, scenario))
    }

    fn ended(&self, node: &Node, scenario: &Scenario) -> Result<String, String> {
        let said = self.script(node, scenario).map(|output| told(&output));
        node.wait_for_end(POWER_OFF).map_err(|e| format!("{e} ({said:?})"))?;
        let console = node.console();
        let bad = |line: &&str| ["WARNING:", "BUG:", "Oops", "panic"].iter().any(|word| line.contains(word));
        match console.lines().find(bad) {
            Some(line) => Err(line.to_owned()),
            None => Ok(String::new()),
        }
    }

    fn boot(&self, scenario: &Scenario) -> Result<Node, String> {
        stage::node(self.cache, self.kernel, scenario).map_err(|e| e.to_string())
    }

    fn script(&self, node: &Node, scenario: &Scenario) -> Result<Output, String> {
        let command = stage::shell(&format!("cd $(mktemp -d) && exec bash $F/{}", scenario.script));
        let command = command.env("FULL", if self.long { "1" } else { "0" }).timeout(scenario.limit);
        node.run(&command).map_err(|e| format!("{e}; the console:\n{}", end_of(&node.console(), LAST_WORDS, "\n")))
    }
}

/// Why the script failed, in its own words.
fn told(output: &Output) -> Vec<String> {
    let text = output.text();
    let mut reasons: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("fail: ")).map(str::to_owned).collect();
    if !output.status.success() && reasons.is_empty() {
        let how = match output.status {
            Status::Code(code) => format!("status {code}"),
            Status::Signal(signal) => format!("signal {signal}"),
        };
        reasons.push(format!("{how}: {} {}", end_of(&text, 3, " | "), end_of(&output.error_text(), 3, " | ")));
    }
    reasons
}

/// What the script wants to be remembered of a run that went well.
fn notes(output: &Output) -> String {
    output.text().lines().filter_map(|line| line.strip_prefix("note: ")).map(|note| format!(", {note}")).collect()
}

/// What diagnose.sh tells first.
fn last_steps(diagnosis: &str) -> String {
    let steps = diagnosis.lines().skip(1).take_while(|line| !line.starts_with("--- "));
    let short: Vec<String> = steps.map(|line| line.chars().take(STEP_LENGTH).collect()).collect();
    end_of(&short.join("\n"), STEPS, "\n")
}

fn end_of(text: &str, count: usize, between: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join(between)
}
