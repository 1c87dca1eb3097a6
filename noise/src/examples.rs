// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of each command of `tacet noise`, for its help and its man pages.
//!
//! Nobody executes them here; a test parses each.

use clap::{Command, CommandFactory};
use tacet_words::examples::{Examples, add};

use crate::options::Options;

/// The description of the arguments, with the examples.
pub fn described() -> Command {
    add(Options::command(), EXAMPLES)
}

const EXAMPLES: &Examples = &[
    (
        "",
        &[
            ("tacet noise measure --cpus 2-3 --duration 60s", "measure two CPUs for a minute; writes noise.parquet"),
            ("sudo tacet noise trace --cpus 2-3", "name the sources of the noise, and their remedies"),
            ("tacet noise compare before.parquet after.parquet", "is it quieter now?"),
        ],
    ),
    (
        "measure",
        &[
            ("tacet noise measure --cpus 2-3 --duration 60s", "measure two CPUs for a minute; writes noise.parquet"),
            (
                "tacet noise measure --method ftq -o ftq.parquet",
                "count work in equal times: periodic noise has a frequency",
            ),
            ("tacet noise measure --redact --label before -o before.parquet", "a record that may be published"),
        ],
    ),
    (
        "trace",
        &[
            (
                "sudo tacet noise trace --cpus 2-3 --duration 30s",
                "name the sources of the noise on two CPUs, and their remedies",
            ),
            (
                "sudo tacet noise trace --cpus 3 --until 100us",
                "stop at the first noise of 100 us, and show what led to it",
            ),
            ("sudo tacet noise trace --cpus 3 --perfetto trace.json", "keep all events for https://ui.perfetto.dev"),
        ],
    ),
    (
        "analyse",
        &[
            ("tacet noise analyse noise.parquet", "the statistics of a record"),
            (
                "tacet noise analyse before.parquet after.parquet --threshold 10us --json",
                "of two, as JSON; shorter noise is no detour",
            ),
        ],
    ),
    (
        "compare",
        &[(
            "tacet noise compare before.parquet after.parquet",
            "is the second noisier or quieter, and how sure is that?",
        )],
    ),
    (
        "predict",
        &[
            (
                "tacet noise predict --threads 1e5 --interval 250us --noise 1ms@500s",
                "the slowdown of 100,000 threads that meet each 250 us",
            ),
            (
                "tacet noise predict --threads 7630848 --interval 250us --simulate 1h --record noise.parquet",
                "replay a record at full scale",
            ),
        ],
    ),
    (
        "report",
        &[
            ("tacet noise report before.parquet after.parquet", "one page that works offline: noise.html"),
            ("tacet noise report noise.parquet --figures figures --format svg", "also each figure, as SVG"),
        ],
    ),
    (
        "check",
        &[
            (
                "tacet noise check --max-noise 60us --rate 1e-3 --cpus 2-3",
                "a gate: status 0 quiet, 1 noisy, 2 not enough to say",
            ),
            ("tacet noise check --rate 1e-5 --record noise.parquet --json", "judge a record that exists"),
        ],
    ),
    (
        "history",
        &[
            ("tacet noise history -n 10", "the last ten verdicts of `check` on this machine"),
            ("sudo tacet noise history --json", "those of the prologues, which root ran"),
        ],
    ),
    (
        "campaign",
        &[
            ("tacet noise campaign night.toml --dry-run", "check the file, and say what would be run"),
            ("tacet noise campaign night.toml --resume", "go on after an interruption"),
        ],
    ),
    (
        "inject",
        &[(
            "tacet noise inject --noise 100us@10ms --cpus 2-3 --duration 30s",
            "how much slower does my program become by 1 % of noise?",
        )],
    ),
    ("collect", &[("tacet noise collect 1.run 2.run -o nodes.parquet", "one record of two runs of tacet-mpi-fwq")]),
    (
        "import",
        &[
            ("tacet noise import osnoise.txt -o old.parquet", "read the output of `rtla osnoise hist`"),
            ("tacet noise import cyclictest.txt --period 1ms", "read a histogram that does not have its period"),
        ],
    ),
    (
        "exact",
        &[
            (
                "tacet noise exact --boot-arguments 'nohz_full=3 isolcpus=3 rcu_nocbs=3'",
                "count each foreign instruction on CPU 3 of an emulated node",
            ),
            ("tacet noise exact --record exact.parquet", "show a record again"),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_examples_that_parse() {
        assert_eq!(tacet_words::examples::wrong(&described(), "tacet noise"), Vec::<String>::new());
    }
}
