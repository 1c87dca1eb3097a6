// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The caller's choice: which kernels, which scenarios, and whether everything.
//!
//! It reads the command line first, then `TACET_TEST_KERNEL`, `TACET_TEST_ONLY` and `FULL`. It ignores words that are meant
//! for cargo's own test runner.

use std::env;

use tacet_node::KernelLine;

/// The choice; empty means all.
#[derive(Debug, Default)]
pub struct Options {
    /// Kernels to boot.
    pub kernels: Vec<KernelLine>,
    /// Only scenarios whose name contains one of these.
    pub only: Vec<String>,
    /// Long counts, and every scenario on every kernel.
    pub full: bool,
    /// List the scenarios and run none.
    pub list: bool,
}

impl Options {
    /// From the command line and the environment.
    pub fn from_environment() -> Options {
        let mut options = Options::parse(env::args().skip(1));
        let kernel = env::var("TACET_TEST_KERNEL").unwrap_or_default();
        if options.kernels.is_empty() {
            options.kernels = kernel.split([',', ' ']).filter_map(|word| word.parse().ok()).collect();
        }
        if options.kernels.is_empty() {
            options.kernels = KernelLine::ALL.to_vec();
        }
        if let Ok(only) = env::var("TACET_TEST_ONLY") {
            options.only.extend(only.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned));
        }
        options.full |= env::var("FULL").is_ok_and(|value| value == "1");
        options
    }

    fn parse(words: impl Iterator<Item = String>) -> Options {
        let mut options = Options::default();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--full" => options.full = true,
                "--list" => options.list = true,
                "--only" => options.only.extend(words.next()),
                _ => options.kernels.extend(word.parse::<KernelLine>().ok()),
            }
        }
        options
    }

    /// Whether a scenario of this name was asked for.
    pub fn chosen(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Options {
        Options::parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn kernels_and_names_are_chosen() {
        let options = parse("--test-threads=1 --quiet 6.1 --only kill --full");
        assert_eq!(options.kernels, [KernelLine::V6_1]);
        assert!(options.full && options.chosen("a kill or two") && !options.chosen("cycles"));
        assert!(parse("").chosen("anything"));
    }
}
