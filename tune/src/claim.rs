// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims. A claim says which CPUs its owner wants quiet, and by which countermeasures. The owner is the node (its
//! site) or a job.
//!
//! All claims together determine the changes, so jobs may begin and end in any order. Owns the rules for names and for
//! claims that overlap. A job's name comes from outside and becomes part of a path, so it is checked strictly.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cpus::Cpus;
use crate::error::{Error, Result};
use crate::measures;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Node,
    Job(String),
}

/// Countermeasures by name, each with its number if it takes one.
pub type Chosen = BTreeMap<String, Option<u64>>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub owner: Owner,
    pub cpus: Cpus,
    pub measures: Chosen,
}

impl Owner {
    /// The name of the cgroup and resctrl group of its programs.
    pub fn group(&self) -> String {
        match self {
            Owner::Node => "tacet".to_owned(),
            Owner::Job(id) => format!("tacet-job-{id}"),
        }
    }
}

impl FromStr for Owner {
    type Err = String;

    /// Parses a job's id.
    fn from_str(id: &str) -> std::result::Result<Owner, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if id.is_empty() || id.len() > 64 || !id.chars().all(fits) || id.starts_with(['.', '-']) {
            return Err(
                "a job's id has 1 to 64 letters, digits, `.`, `_` or `-`, and begins with a letter or digit".to_owned()
            );
        }
        Ok(Owner::Job(id.to_owned()))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Node => f.write_str("node"),
            Owner::Job(id) => write!(f, "job {id}"),
        }
    }
}

/// The usual countermeasures, or those of `only`; plus those of `with`, minus those of `without`.
pub fn choose(only: &[String], with: &[String], without: &[String]) -> Result<Chosen> {
    let mut chosen = Chosen::new();
    if only.is_empty() {
        let usual = measures::ALL.iter().filter(|measure| measure.about().usual);
        chosen.extend(usual.map(|measure| (measure.about().name.to_owned(), measure.about().number.map(|n| n.usual))));
    }
    for word in only.iter().chain(with) {
        let (name, number) = parse(word)?;
        chosen.insert(name, number);
    }
    for name in without {
        let about = measures::named(name)?.about();
        chosen.remove(about.name);
    }
    Ok(chosen)
}

/// `NAME` or `NAME=NUMBER`.
fn parse(word: &str) -> Result<(String, Option<u64>)> {
    let (name, given) = word.split_once('=').map_or((word, None), |(name, number)| (name, Some(number)));
    let about = measures::named(name)?.about();
    let refuse =
        |what: &str| Err(Error::new(format!("countermeasure {word}"), what, &format!("write {}", about.written())));
    let number = match (given, about.number) {
        (None, number) => number.map(|number| number.usual),
        (Some(_), None) => return refuse("it takes no number"),
        (Some(given), Some(number)) => match given.parse() {
            Ok(value) if value <= number.largest && given.bytes().all(|byte| byte.is_ascii_digit()) => Some(value),
            _ => return refuse(&format!("{} is a number up to {}", number.what, number.largest)),
        },
    };
    Ok((about.name.to_owned(), number))
}

/// Adds a claim, which replaces its owner's earlier claim, if it does not conflict with the others.
pub fn join(claims: &[Claim], new: Claim, online: &Cpus) -> Result<Vec<Claim>> {
    let object = format!("{} of {}", new.cpus.named(), new.owner);
    let absent = new.cpus.without(online);
    if !absent.is_empty() {
        return Err(Error::new(object, format!("{} not online", is_or_are(&absent)), &format!("online are {online}")));
    }
    let mut joined: Vec<Claim> = claims.iter().filter(|claim| claim.owner != new.owner).cloned().collect();
    for other in &joined {
        let within = (other.owner == Owner::Node && new.cpus.is_subset(&other.cpus))
            || (new.owner == Owner::Node && other.cpus.is_subset(&new.cpus));
        if other.cpus.overlaps(&new.cpus) && !within {
            let shared = other.cpus.intersection(&new.cpus);
            let cause = format!("{} already {}'s", is_or_are(&shared), other.owner);
            return Err(Error::new(object, cause, "a job's CPUs are its own, and all or none of them the node's"));
        }
    }
    joined.push(new);
    let all = joined.iter().fold(Cpus::default(), |all, claim| all.union(&claim.cpus));
    if online.without(&all).is_empty() {
        return Err(Error::new(
            object,
            "no CPU would be left for the system",
            &format!("leave out one of {online}, best CPU 0"),
        ));
    }
    Ok(joined)
}

fn is_or_are(cpus: &Cpus) -> String {
    format!("{} {}", cpus.named(), if cpus.len() == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(owner: Owner, cpus: &str) -> Claim {
        Claim { owner, cpus: cpus.parse().unwrap(), measures: Chosen::new() }
    }

    fn job(id: &str, cpus: &str) -> Claim {
        claim(id.parse().unwrap(), cpus)
    }

    #[test]
    fn odd_ids_are_refused() {
        for id in ["", ".", "..", "../x", "a/b", "-x", "a b", "a\n", "$(id)", "é", &"x".repeat(65)] {
            assert!(id.parse::<Owner>().is_err(), "{id:?}");
        }
        assert_eq!("4711_3.batch".parse::<Owner>().unwrap().group(), "tacet-job-4711_3.batch");
    }

    #[test]
    fn claims_that_meet() {
        let online: Cpus = "0-7".parse().unwrap();
        let first = join(&[], job("a", "2-3"), &online).unwrap();
        assert_eq!(join(&first, job("b", "4-5"), &online).unwrap().len(), 2);
        assert_eq!(join(&first, job("a", "4-5"), &online).unwrap().len(), 1);
        for bad in [job("b", "3-4"), claim(Owner::Node, "3-7"), job("b", "8"), job("b", "0-1,4-7")] {
            assert!(join(&first, bad, &online).is_err());
        }
        assert_eq!(join(&first, claim(Owner::Node, "2-7"), &online).unwrap().len(), 2);
    }

    #[test]
    fn names_are_known_and_numbers_small() {
        let chosen = choose(&[], &["idle-states=20".into()], &["frequency".into()]).unwrap();
        assert_eq!(chosen.get("idle-states"), Some(&Some(20)));
        assert!(!chosen.contains_key("frequency") && chosen.contains_key("interrupts"));
        for word in ["nonsense", "interrupts=1", "idle-states=-1", "idle-states=", "idle-states=99999999999999999999"] {
            assert!(choose(&[], &[word.to_owned()], &[]).is_err(), "{word}");
        }
    }
}
