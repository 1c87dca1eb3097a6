// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The caller's choice: which kernels, which scenarios, and whether everything.
//!
//! The command line counts before `TACET_TEST_KERNEL`. Words that are meant for cargo's own test runner have no meaning here.

use clap::Parser;
use tacet_node::KernelLine;

use crate::scenario::{Part, Scenario};

/// Run scenarios on nodes, each followed by a check that nothing is left
#[derive(Debug, Default, Parser)]
pub struct Options {
    /// Kernels to boot: 6.1, 6.12, 7 [default: all], or 6.12-debug
    #[arg(env = "TACET_TEST_KERNEL", value_delimiter = ',', value_name = "KERNEL")]
    pub kernels: Vec<KernelLine>,
    /// Only scenarios whose name or script contains this
    #[arg(long, value_name = "WORDS")]
    pub only: Vec<String>,
    /// Only those of one command: `first` of `make test`, `more` of `make test-more` [default: both]
    #[arg(long, env = "TACET_TEST_PART", value_name = "PART")]
    pub part: Option<Part>,
    /// Only every second of what is chosen: 1 begins with the first, 2 with the second [default: all]
    #[arg(long, env = "TACET_TEST_HALF", value_name = "HALF", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub half: Option<u8>,
    /// Long counts, and every scenario on every kernel; as with FULL=1
    #[arg(long)]
    pub full: bool,
    #[arg(env = "FULL", hide = true, long, default_value = "0")]
    full_if: String,
    /// List the scenarios and run none
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    _of_the_runner: OfTheRunner,
}

/// What cargo's own test runner would obey.
#[derive(Debug, Default, clap::Args)]
struct OfTheRunner {
    #[arg(long, hide = true)]
    quiet: bool,
    #[arg(long, hide = true)]
    nocapture: bool,
    #[arg(long, hide = true)]
    include_ignored: bool,
    #[arg(long, hide = true)]
    test_threads: Option<u32>,
}

impl Options {
    /// From the command line and the environment. Words that say nothing end the process with one line.
    pub fn from_environment() -> Options {
        Options::parse().whole()
    }

    fn whole(mut self) -> Options {
        if self.kernels.is_empty() {
            self.kernels = KernelLine::ALL.to_vec();
        }
        self.full |= self.full_if == "1";
        self
    }

    /// Whether this scenario was asked for.
    pub fn choose(&self, scenario: &Scenario) -> bool {
        let named = |word: &String| scenario.name.contains(word) || scenario.script.contains(word);
        let of_part = self.full || self.part.is_none_or(|part| part == scenario.part);
        of_part && (self.only.is_empty() || self.only.iter().any(named))
    }

    /// Whether the scenario in this place of the chosen ones is in the chosen half.
    pub fn in_half(&self, place: usize) -> bool {
        self.half.is_none_or(|half| place % 2 == usize::from(half) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Place;

    fn parse(words: &str) -> Result<Options, clap::Error> {
        let words = ["scenarios"].into_iter().chain(words.split_whitespace());
        Options::try_parse_from(words).map(Options::whole)
    }

    #[test]
    fn kernels_and_names_are_chosen() {
        let options = parse("--test-threads=1 --quiet 6.1 --only kill --full").expect("is valid");
        assert_eq!(options.kernels, [KernelLine::V6_1]);
        let named = |name| Scenario::new(name, "x.sh y", Place::Rare);
        assert!(options.full && options.choose(&named("a kill or two")) && !options.choose(&named("cycles")));
    }

    #[test]
    fn a_part_is_chosen_unless_everything_is() {
        let first = Scenario::new("a", "x.sh y", Place::Rare);
        let chosen = |words: &str| {
            let options = parse(words).expect("is valid");
            (options.choose(&first), options.choose(&first.more()))
        };
        assert_eq!(chosen("--part first"), (true, false));
        assert_eq!(chosen("--part more"), (false, true));
        assert_eq!(chosen("--part first --full"), (true, true));
        assert!(parse("--part second").is_err());
    }

    #[test]
    fn each_is_in_one_half() {
        let places = |words: &str| {
            let options = parse(words).expect("is valid");
            (0..4).filter(|place| options.in_half(*place)).collect::<Vec<_>>()
        };
        assert_eq!(places(""), [0, 1, 2, 3]);
        assert_eq!((places("--half 1"), places("--half 2")), (vec![0, 2], vec![1, 3]));
        assert!(parse("--half 3").is_err());
    }

    #[test]
    fn what_is_no_choice_is_refused() {
        assert!(parse("6.13").is_err_and(|error| error.to_string().contains("use 6.1, 6.12 or 7")));
        assert!(parse("--onyl kill").is_err());
    }
}
