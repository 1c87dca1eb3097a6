// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file that describes a campaign: steps, each a command of the laboratory with its flags, and how often.
//!
//! Everything is checked before the first step begins: a mistake in the last step must not cost the hours of the others.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use crate::Result;

/// The commands that measure, and whether they write a record.
const COMMANDS: [(&str, bool); 3] = [("measure", true), ("trace", true), ("check", false)];
/// Flags that the campaign sets itself.
const OURS: [&str; 4] = ["output", "force", "json", "record"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    directory: PathBuf,
    #[serde(default = "once")]
    repetitions: u32,
    step: Vec<StepOfFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepOfFile {
    name: String,
    command: String,
    repetitions: Option<u32>,
    #[serde(default)]
    options: Table,
}

fn once() -> u32 {
    1
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Campaign {
    /// Where the results go: beside the file, if it is a relative path.
    pub directory: PathBuf,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub name: String,
    /// The command and its flags, as a person types them.
    pub words: Vec<String>,
    pub has_record: bool,
    pub repetitions: u32,
}

impl Campaign {
    /// `path` is for messages, and for a relative directory.
    pub fn read(path: &Path, text: &str) -> Result<Campaign> {
        let wrong = |cause: String| format!("{}: {cause}", path.display());
        let file: File = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
            format!("{} line {}: {}", path.display(), before.matches('\n').count() + 1, error.message())
        })?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let mut steps: Vec<Step> = Vec::new();
        for step in file.step {
            let step = Step::read(step, file.repetitions).map_err(wrong)?;
            if steps.iter().any(|other| other.name == step.name) {
                return Err(wrong(format!("step {}: two steps have this name", step.name)).into());
            }
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(wrong("it has no steps: write [[step]]".into()).into());
        }
        Ok(Campaign { directory: beside.join(file.directory), steps })
    }

    /// All runs in their order: the first repetition of each step, then the second ones, so that what changes slowly on the
    /// machine meets each step alike.
    pub fn runs(&self) -> Vec<(&Step, u32)> {
        let most = self.steps.iter().map(|step| step.repetitions).max().unwrap_or(0);
        let of =
            |number| self.steps.iter().filter(move |step| step.repetitions >= number).map(move |step| (step, number));
        (1..=most).flat_map(of).collect()
    }
}

impl Step {
    fn read(step: StepOfFile, usual: u32) -> std::result::Result<Step, String> {
        let StepOfFile { name, command, repetitions, options } = step;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("step `{name}`: its name becomes a file's: letters, digits, `-` and `_`"));
        }
        let known = COMMANDS.iter().find(|(word, _)| *word == command);
        let Some((_, has_record)) = known else {
            return Err(format!("step {name}: `{command}` is not measure, trace or check"));
        };
        let mut words = vec![command];
        for (key, value) in &options {
            if OURS.contains(&key.as_str()) {
                return Err(format!("step {name}: {key}: the campaign sets it itself"));
            }
            match value {
                Value::Boolean(true) => words.push(format!("--{key}")),
                Value::Boolean(false) => (),
                Value::String(text) => words.push(format!("--{key}={text}")),
                Value::Integer(number) => words.push(format!("--{key}={number}")),
                Value::Float(number) => words.push(format!("--{key}={number}")),
                _ => return Err(format!("step {name}: {key}: a flag takes no such value")),
            }
        }
        let repetitions = repetitions.unwrap_or(usual);
        if repetitions == 0 {
            return Err(format!("step {name}: repetitions: at least 1"));
        }
        let step = Step { name, words, has_record: *has_record, repetitions };
        let all = std::iter::once("tacet noise").chain(step.words.iter().map(String::as_str));
        match crate::examples::described().try_get_matches_from(all) {
            Ok(_) => Ok(step),
            Err(error) => {
                let text = error.to_string();
                let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
                Err(format!("step {}: {line}", step.name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "directory = 'results'\nrepetitions = 2\n[[step]]\nname = 'quiet'\ncommand = 'measure'\n\
        options = { cpus = '2-3', duration = '60s', trust-clock = true, redact = false }\n[[step]]\nname = 'gate'\n\
        command = 'check'\nrepetitions = 1\noptions = { rate = 1e-5, max-noise = '60us' }\n";

    fn read(text: &str) -> std::result::Result<Campaign, String> {
        Campaign::read(Path::new("here/night.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn steps_become_commands_in_turns() {
        let campaign = read(TEXT).expect("right");
        assert_eq!(campaign.directory, Path::new("here/results"));
        let [quiet, gate] = &campaign.steps[..] else { panic!("two steps") };
        assert_eq!(quiet.words, ["measure", "--cpus=2-3", "--duration=60s", "--trust-clock"]);
        assert_eq!(gate.words, ["check", "--max-noise=60us", "--rate=0.00001"]);
        assert!(quiet.has_record && !gate.has_record);
        assert_eq!(campaign.runs(), [(quiet, 1), (gate, 1), (quiet, 2)]);
    }

    /// The page's own example.
    #[test]
    fn the_page_shows_a_campaign() {
        let page = include_str!("../../../docs/noise.md");
        let section = page.split("\n## Measurements that are repeated\n").nth(1).expect("the section");
        let text = section.split("```").nth(1).expect("a block").trim_start();
        let campaign = read(text).expect("right");
        assert_eq!(campaign.runs().len(), 6);
    }

    #[test]
    fn mistakes_are_found_before_anything_runs() {
        let with = |old: &str, new: &str| read(&TEXT.replacen(old, new, 1)).expect_err("wrong");
        for (old, new, told) in [
            ("'quiet'", "'a/b'", "here/night.toml: step `a/b`: its name becomes a file's"),
            ("'gate'", "'quiet'", "here/night.toml: step quiet: two steps have this name"),
            ("'measure'", "'inject'", "here/night.toml: step quiet: `inject` is not measure, trace or check"),
            ("duration = '60s'", "durations = '60s'", "here/night.toml: step quiet: unexpected argument '--durations'"),
            ("'2-3'", "'3-2'", "here/night.toml: step quiet: invalid value '3-2'"),
            ("redact = false", "json = true", "here/night.toml: step quiet: json: the campaign sets it itself"),
            ("redact = false", "label = ['a']", "here/night.toml: step quiet: label: a flag takes no such value"),
            ("repetitions = 1", "repetitions = 0", "here/night.toml: step gate: repetitions: at least 1"),
            ("repetitions = 2", "repetition = 2", "here/night.toml line 2: unknown field `repetition`"),
        ] {
            let error = with(old, new);
            assert!(error.starts_with(told), "{error}");
        }
    }
}
