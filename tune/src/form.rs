// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The forms of kernel files: the text that a file shows is often not the text that it accepts.
//!
//! Owns the difference. Without it an undo would write all of `always [madvise] never`, or write back the reason why a
//! partition is invalid.

use serde::{Deserialize, Serialize};

use crate::cpus::Cpus;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Shown as written, except for white space around it.
    Text,
    /// CPUs or nodes as a list.
    List,
    /// CPUs as hexadecimal words.
    Mask,
    /// Shows all choices, with the chosen one in brackets.
    Choice,
    /// Shows a word and, after it, the reason why it is not in force.
    Partition,
    /// Controllers for a cgroup's children: the file shows all, and accepts single ones with a sign.
    Controllers,
    /// One line for each resource; the wanted lines must be among the shown lines.
    Schemata,
}

impl Form {
    /// Does a file that shows `shown` hold `wanted`?
    pub fn shows(self, shown: &str, wanted: &str) -> bool {
        let (shown, wanted) = (shown.trim(), wanted.trim());
        match self {
            Form::Text | Form::Partition => shown == wanted,
            Form::List => Cpus::from_list(shown).is_some_and(|cpus| Some(cpus) == Cpus::from_list(wanted)),
            Form::Mask => Cpus::from_mask(shown).is_some_and(|cpus| Some(cpus) == Cpus::from_mask(wanted)),
            Form::Choice => chosen(shown) == Some(wanted),
            Form::Controllers => {
                wanted.trim_start_matches('+').split(" +").all(|one| shown.split(' ').any(|word| word == one))
            }
            Form::Schemata => wanted.lines().all(|line| {
                plain(line).is_some_and(|line| shown.lines().any(|other| plain(other).as_ref() == Some(&line)))
            }),
        }
    }

    /// A value that must be written first: Linux 6.1 accepts no other value for an invalid partition until it has
    /// become an ordinary cgroup.
    pub fn before(self, shown: &str) -> Option<&'static str> {
        (self == Form::Partition && shown.contains(" invalid")).then_some("member")
    }

    /// The text to write so that the file, which was changed to `wanted`, shows `shown` again.
    pub fn writable(self, shown: &str, wanted: &str) -> String {
        match self {
            Form::Text | Form::List | Form::Mask => shown.to_owned(),
            Form::Schemata => shown.lines().map(|line| format!("{}\n", line.trim())).collect(),
            Form::Choice => chosen(shown).unwrap_or(shown.trim()).to_owned(),
            Form::Partition => shown.split_whitespace().next().unwrap_or("member").to_owned(),
            Form::Controllers => {
                let had = |one: &&str| shown.trim().split(' ').any(|word| word == *one);
                let added = wanted.trim_start_matches('+').split(" +").filter(|one| !had(one));
                added.map(|one| format!("-{one}")).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// The value for people, without the other choices.
    pub fn brief(self, shown: &str) -> String {
        let text = match self {
            Form::Choice => chosen(shown).unwrap_or(shown),
            Form::Mask => &Cpus::from_mask(shown).map_or_else(|| shown.to_owned(), |cpus| cpus.to_string()),
            _ => shown,
        };
        match text.trim() {
            "" => "nothing".to_owned(),
            text => text.lines().map(str::trim).collect::<Vec<_>>().join(" "),
        }
    }
}

/// A line of a schemata file without the kernel's padding: `MB:0= 50` and `L3:0=00f` are `MB:0=50` and `L3:0=f`.
fn plain(line: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let (resource, domains) = line.trim().split_once(':')?;
    Some((resource, domains.split(';').map(domain).collect::<Option<_>>()?))
}

fn domain(text: &str) -> Option<(&str, &str)> {
    let (domain, value) = text.split_once('=')?;
    Some((domain.trim(), value.trim().trim_start_matches('0')))
}

fn chosen(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_and_what_is_taken() {
        for (form, shown, wanted, again) in [
            (Form::Text, "60\n", "3600", "60\n"),
            (Form::List, "0-7\n", "0-1", "0-7\n"),
            (Form::Mask, "00000000,000000ff\n", "3", "00000000,000000ff\n"),
            (Form::Choice, "[always] madvise never\n", "madvise", "always"),
            (Form::Partition, "root invalid (no CPU)\n", "isolated", "root"),
            (Form::Controllers, "cpu io\n", "+cpuset +cpu", "-cpuset"),
            (Form::Schemata, "    MB:0=100\n    L3:0=fff\n", "L3:0=00f\n", "MB:0=100\nL3:0=fff\n"),
        ] {
            assert!(!form.shows(shown, wanted), "{form:?}");
            assert_eq!(form.writable(shown, wanted), again, "{form:?}");
        }
    }

    #[test]
    fn the_same_in_other_words_is_the_same() {
        for (form, shown, wanted) in [
            (Form::List, "0,1\n", "0-1"),
            (Form::Mask, "00000000,00000003\n", "3"),
            (Form::Choice, "always [madvise] never\n", "madvise"),
            (Form::Controllers, "cpuset cpu io\n", "+cpuset +cpu"),
            (Form::Schemata, "    L3:0=00f;1=00f\n    MB:0=100\n", "L3:0=00f;1=00f"),
            (Form::Schemata, "    L3:0=00f;1=0f0\n    MB:0= 50;1=  0\n", "L3:0=f;1=f0\nMB:0=50;1=0\n"),
            (Form::Text, "\n", ""),
        ] {
            assert!(form.shows(shown, wanted), "{form:?}");
        }
        assert!(!Form::Partition.shows("isolated invalid (Cpu list is empty)", "isolated"));
        assert!(!Form::List.shows("nonsense", "nonsense"));
        for (shown, wanted) in [("L3:0=00f", "L3:0=f0"), ("L3:0=f;1=f", "L3:0=f"), ("L3:0=f", "MB:0=f"), ("L3", "L3")] {
            assert!(!Form::Schemata.shows(shown, wanted), "{shown}");
        }
    }
}
