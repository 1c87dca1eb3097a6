// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program's profile, that is what took its time besides its own code: as a table, or in a file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tacet_ctl::{Cost, Error, Profile, Result};

use crate::output;
use crate::text::{count, duration, word};

const HEADINGS: [&str; 6] = ["SPENT-ON", "NAME", "COUNT>", "TOTAL>", "MEAN>", "LONGEST>"];

/// Where the profile is written after the program has ended.
pub struct Report {
    file: Option<(PathBuf, File)>,
    json: bool,
}

impl Report {
    /// Creates the file before the program runs, so that a file that cannot be written is reported at once.
    /// `json`: also without a file it is for programs.
    pub fn to(path: Option<&Path>, json: bool) -> Result<Report> {
        let open = |path: &Path| match File::create(path) {
            Ok(file) => Ok((path.to_path_buf(), file)),
            Err(io) => Err(Error::io(path.display(), &io, "name a file that can be written with --profile-to")),
        };
        Ok(Report { file: path.map(open).transpose()?, json })
    }

    pub fn write(self, profile: &Profile) -> Result<()> {
        let Some((path, mut file)) = self.file else {
            output::aside(&if self.json { text(profile)? } else { describe(profile) });
            return Ok(());
        };
        file.write_all(text(profile)?.as_bytes()).map_err(|io| Error::io(path.display(), &io, "is the disk full?"))
    }
}

fn text(profile: &Profile) -> Result<String> {
    tacet_words::json::text(profile).map_err(|error| Error::new("json", error, ""))
}

/// One line with the totals, then the table.
pub fn describe(profile: &Profile) -> String {
    let threads = count(profile.threads, "thread", "threads");
    let spent: u64 = profile.costs.iter().map(|cost| cost.total_ns).sum();
    let summary = format!("{threads}: {} in user mode, {} away from it\n", duration(profile.user_ns), duration(spent));
    summary + &output::table(&HEADINGS, profile.costs.iter().map(row))
}

fn row(cost: &Cost) -> Vec<String> {
    vec![
        word(&cost.on),
        cost.name.clone(),
        cost.count.to_string(),
        duration(cost.total_ns),
        duration(cost.total_ns / cost.count.max(1)),
        duration(cost.longest_ns),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacet_ctl::SpentOn;

    fn profile() -> Profile {
        let cost = Cost {
            on: SpentOn::ForwardedCall,
            name: "write".to_string(),
            count: 3,
            total_ns: 3_000_000,
            longest_ns: 2_000_000,
        };
        Profile { threads: 1, user_ns: 2_000_000_000, costs: vec![cost] }
    }

    #[test]
    fn for_programs_it_is_an_object_with_the_version() {
        let object: serde_json::Value = serde_json::from_str(&text(&profile()).unwrap()).unwrap();
        assert_eq!((&object["json_version"], &object["costs"][0]["name"]), (&1.into(), &"write".into()));
    }

    #[test]
    fn describes_the_costs() {
        let text = describe(&profile());
        let expected = "1 thread: 2.00 s in user mode, 3.00 ms away from it\n\
                        SPENT-ON        NAME   COUNT    TOTAL     MEAN  LONGEST\n\
                        forwarded-call  write      3  3.00 ms  1.00 ms  2.00 ms\n";
        assert_eq!(text, expected);
    }
}
