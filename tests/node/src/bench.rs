// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The nodes of one kernel, and the verdict on a scenario that runs on one of them.
//!
//! A scenario is `ok` if its script said so, the kernel complained of nothing and the node is as before. A node on which
//! a scenario failed is not used again.
//!
//! Nothing is repeated silently. If the emulator broke the kernel, the scenario runs again, and the last run counts. A
//! scenario that failed for any other reason has failed; it runs once more only to tell whether it fails each time.

use std::io::Write;
use std::time::{Duration, Instant};

use tacet_node::{Cache, KernelLine, Node, Output, stale_breakpoint};

use crate::said;
use crate::scenario::{Boot, End, Machine, Scenario};
use crate::stage;
use crate::state::State;
use crate::times::{Took, cpu_seconds};

/// How long a node may take to switch itself off.
const POWER_OFF: Duration = Duration::from_secs(60);
/// Where a CPU is after an INIT.
const AFTER_INIT: &str = "EIP=0000fff0";
/// How often a scenario is run again because the emulator broke its kernel.
const REPEATS: u32 = 2;
/// Lines of a dead node's console that are told: an oops, and what led to it.
const LAST_WORDS: usize = 100;

/// The nodes of one kernel, each booted when needed.
pub struct Bench<'a> {
    cache: &'a Cache,
    kernel: KernelLine,
    long: bool,
    /// The node that most scenarios share.
    usual: Option<Node>,
    /// A node of another kind, until the next scenario begins: only that one can use it.
    other: Option<(Machine, Node)>,
    /// What the scenario that runs took so far.
    took: Took,
}

/// How a scenario went.
pub struct Verdict {
    pub kernel: KernelLine,
    pub scenario: &'static Scenario,
    pub took: Took,
    /// What is worth telling, or why it failed.
    pub said: Result<String, String>,
    /// It failed once and passed once: how that came.
    pub flaky: Option<String>,
}

struct Failure {
    reason: String,
    /// The emulator executed a breakpoint that was not in the kernel's memory any more.
    emulator: bool,
}

impl From<String> for Failure {
    fn from(reason: String) -> Failure {
        Failure { reason, emulator: false }
    }
}

impl<'a> Bench<'a> {
    pub fn new(cache: &'a Cache, kernel: KernelLine, long: bool) -> Bench<'a> {
        Bench { cache, kernel, long, usual: None, other: None, took: Took::default() }
    }

    pub fn kernel(&self) -> KernelLine {
        self.kernel
    }

    /// Runs it, and again if the emulator broke its kernel, or if it failed and `may_repeat` says that there is time.
    pub fn verdict(&mut self, scenario: &'static Scenario, may_repeat: impl FnOnce() -> bool) -> Verdict {
        let start = Instant::now();
        self.took = Took::default();
        let (said, flaky) = self.repeated(scenario, may_repeat);
        let took = Took { seconds: start.elapsed().as_secs(), ..self.took };
        Verdict { kernel: self.kernel, scenario, took, said, flaky }
    }

    fn repeated(
        &mut self,
        scenario: &Scenario,
        may_repeat: impl FnOnce() -> bool,
    ) -> (Result<String, String>, Option<String>) {
        let mut result = self.once(scenario);
        let mut flaky = None;
        for _ in 0..REPEATS {
            let Err(Failure { emulator: true, reason }) = &result else { break };
            let why = "the emulator executed a breakpoint that was gone from the kernel's memory";
            println!("again {} {}: {why}: {reason}", self.kernel, scenario.name);
            flaky = Some(why.to_owned());
            result = self.once(scenario);
        }
        match result {
            Ok(said) => (Ok(said), flaky),
            // what the debug kernel finds, it has found
            Err(failure) if self.kernel != KernelLine::Debug && may_repeat() => {
                let (kernel, name) = (self.kernel, scenario.name);
                let why = said::beginning(&failure.reason);
                println!("again {kernel} {name}: it failed: {why}");
                match self.once(scenario) {
                    Ok(_) => (Err(failure.reason), Some(format!("it passed when repeated, and had failed: {why}"))),
                    Err(again) => (Err(format!("{}\nand when repeated: {}", failure.reason, again.reason)), None),
                }
            }
            Err(failure) => (Err(failure.reason), None),
        }
    }

    fn once(&mut self, scenario: &Scenario) -> Result<String, Failure> {
        let node = self.node(scenario)?;
        let before = cpu_seconds(node.pid());
        let said = match scenario.end {
            End::Lives => self.judged(&node, scenario),
            End::PowersOff => self.ended(&node, scenario),
            End::Panics => self.panicked(&node, scenario),
        };
        self.took.cpu += cpu_seconds(node.pid()).saturating_sub(before);
        match said {
            Ok(said) => {
                if scenario.end == End::Lives {
                    self.keep(scenario.machine, node);
                }
                Ok(said)
            }
            Err(reason) => Err(Failure { reason, emulator: stale_breakpoint(&node.console()) }),
        }
    }

    /// One that is there, or a new one.
    fn node(&mut self, scenario: &Scenario) -> Result<Node, String> {
        let other = self.other.take().filter(|(machine, _)| *machine == scenario.machine).map(|(_, node)| node);
        let there = if scenario.machine == Machine::USUAL { self.usual.take() } else { other };
        match there.filter(|node| scenario.boot == Boot::IfMissing && node.is_alive()) {
            Some(node) => Ok(node),
            None => self.boot(scenario),
        }
    }

    fn boot(&mut self, scenario: &Scenario) -> Result<Node, String> {
        let start = Instant::now();
        let node = stage::node(self.cache, self.kernel, &scenario.machine).map_err(|e| e.to_string())?;
        self.took.boot += start.elapsed().as_secs();
        // lockdep says one thing and is silent from then on: what it said of booting and loading would hide all else
        if self.kernel == KernelLine::Debug {
            let (complaints, report) = self.complaints(&node)?;
            if !complaints.is_empty() {
                return Err(format!("before it began: {}{report}", complaints.join("; ")));
            }
        }
        Ok(node)
    }

    fn keep(&mut self, machine: Machine, node: Node) {
        if machine == Machine::USUAL {
            self.usual = Some(node);
        } else {
            self.other = Some((machine, node));
        }
    }

    fn judged(&self, node: &Node, scenario: &Scenario) -> Result<String, String> {
        let before = State::read(node)?;
        node.run(&stage::shell("dmesg -C")).map_err(|e| e.to_string())?;
        self.lived_through(node, scenario, &before).map_err(|reason| {
            let diagnosis = self.keep_diagnosis(node, scenario);
            format!("{reason}; the script's last steps:\n{}\n", said::last_steps(&diagnosis))
        })
    }

    fn lived_through(&self, node: &Node, scenario: &Scenario, before: &State) -> Result<String, String> {
        let output = self.script(node, scenario)?;
        let mut wrong = said::failures(&output);
        let (complaints, report) = self.complaints(node)?;
        wrong.extend(complaints);
        let after = State::read(node)?;
        wrong.extend(after.compare(before, self.kernel.slowness()));
        if wrong.is_empty() {
            Ok(format!("{:+} pages{}", after.pages_more(before), said::notes(&output)))
        } else {
            Err(wrong.join("; ") + &report)
        }
    }

    /// What the kernel complained of since its log was cleared, and the first report itself.
    fn complaints(&self, node: &Node) -> Result<(Vec<String>, String), String> {
        let text = |script| node.run(&stage::shell(script)).map(|output| output.text()).map_err(|e| e.to_string());
        let lines: Vec<String> = text("bash $F/complaints.sh")?.lines().map(str::to_owned).collect();
        let report = match lines.first() {
            Some(first) => format!("\n{}\n", said::report(&text("dmesg")?, first)),
            None => String::new(),
        };
        Ok((lines, report))
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

    /// A machine that ends itself: how its script ended does not count, only that the machine ends, and without a
    /// complaint that was not there before.
    fn ended(&self, node: &Node, scenario: &Scenario) -> Result<String, String> {
        let before = node.console().lines().count();
        let said = self.script(node, scenario).map(|output| said::failures(&output));
        node.wait_for_end(self.power_off()).map_err(|e| format!("{e} ({said:?})"))?;
        let bad = |line: &&str| ["WARNING:", "BUG:", "Oops", "panic"].iter().any(|word| line.contains(word));
        match node.console().lines().skip(before).find(bad) {
            Some(line) => Err(line.to_owned()),
            None => Ok("it ended".to_owned()),
        }
    }

    /// A machine whose kernel panics while cores compute: they stop, which only the emulator can tell.
    fn panicked(&self, node: &Node, scenario: &Scenario) -> Result<String, String> {
        let output = self.script(node, scenario)?;
        let wrong = said::failures(&output);
        if !wrong.is_empty() {
            return Err(wrong.join("; "));
        }
        let until = Instant::now() + self.power_off();
        while !node.console().contains("end Kernel panic") {
            if Instant::now() > until {
                return Err("the kernel did not panic".to_owned());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        // the emulator has told the processors: each follows when the host runs its thread, perhaps later than the text
        loop {
            let registers = node.monitor("info registers -a").map_err(|e| e.to_string())?;
            match registers.matches(AFTER_INIT).count() {
                2 => return Ok("both cores stopped".to_owned()),
                count if Instant::now() > until => {
                    return Err(format!("{count} CPUs wait to be started, not 2: {}", said::places(&registers)));
                }
                _ => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn power_off(&self) -> Duration {
        POWER_OFF * self.kernel.slowness()
    }

    fn script(&self, node: &Node, scenario: &Scenario) -> Result<Output, String> {
        let script = format!("cd $(mktemp -d) && exec bash $F/{}", scenario.script);
        let limit = scenario.limit * self.kernel.slowness();
        let command = stage::slow_shell(self.kernel, &script);
        let command = command.env("FULL", if self.long { "1" } else { "0" }).timeout(limit);
        let last_words = || said::end_of(&node.console(), LAST_WORDS, "\n");
        let mut heard = Heard { node, text: Vec::new(), begun: 0 };
        let mut stderr = Vec::new();
        let status = node.start(&command).and_then(|job| job.follow(&mut heard, &mut stderr));
        let status = status.map_err(|e| format!("{e}; the console:\n{}", last_words()))?;
        Ok(Output { status, stdout: heard.text, stderr })
    }
}

/// What a script prints. A line "monitor: COMMAND" is for the emulator's monitor.
struct Heard<'a> {
    node: &'a Node,
    text: Vec<u8>,
    /// Where the line that is not whole yet begins.
    begun: usize,
}

impl Write for Heard<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.extend(bytes);
        while let Some(length) = self.text[self.begun..].iter().position(|&byte| byte == b'\n') {
            let line = String::from_utf8_lossy(&self.text[self.begun..self.begun + length]).into_owned();
            self.begun += length + 1;
            if let Some(command) = line.strip_prefix("monitor: ") {
                self.node.monitor(command).map_err(std::io::Error::other)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
