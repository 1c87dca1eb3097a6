// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a person has written down about the depth of the stack, because the code does not say it.

use std::collections::BTreeSet;

use super::code::{Address, Functions, WORD};

#[derive(Debug, Default)]
pub struct Written {
    /// Callers, and whom their indirect calls reach.
    reaches: Vec<(String, Vec<String>)>,
    /// A function of a circle of functions that call each other or itself, and how many of these are at work at most.
    repeats: Vec<(String, usize)>,
    /// Handwritten code, and its frame.
    frames: Vec<(String, usize)>,
    /// Functions that never return, and in which no exception is counted.
    lasts: Vec<String>,
}

impl Written {
    pub fn read(text: &str) -> Result<Self, String> {
        let mut written = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let wrong = || format!("stack: no such line: {line}");
            let number = |text: &str| text.parse().map_err(|_| wrong());
            if let Some((caller, callees)) = line.split_once(" reaches ") {
                written.reaches.push((caller.into(), callees.split(" | ").map(str::to_owned).collect()));
            } else if let Some((times, name)) = line.strip_prefix("repeat ").and_then(|rest| rest.split_once(' ')) {
                written.repeats.push((name.into(), number(times)?));
            } else if let Some((bytes, name)) = line.strip_prefix("frame ").and_then(|rest| rest.split_once(' ')) {
                written.frames.push((name.into(), number(bytes)?));
            } else if let Some(name) = line.strip_prefix("last ") {
                written.lasts.push(name.into());
            } else {
                return Err(wrong());
            }
        }
        Ok(written)
    }

    /// Adds what is written to what the code says. The first line that nothing needs.
    pub fn apply(&self, functions: &mut Functions) -> Result<Option<String>, String> {
        let names: Vec<(Address, String)> =
            functions.iter().map(|(&at, function)| (at, function.name.clone())).collect();
        let (mut used, mut unclear) = (BTreeSet::new(), Vec::new());
        for function in functions.values_mut() {
            if let Some((name, bytes)) = self.frames.iter().find(|(pattern, _)| matches(pattern, &function.name)) {
                used.insert(name.as_str());
                function.frame = *bytes;
                function.calls.iter_mut().for_each(|(before, _)| *before = (*before).min(bytes + WORD));
            }
            let Some(&before) = function.indirect.iter().max() else { continue };
            let Some((caller, callees)) = self.reaches.iter().find(|(caller, _)| matches(caller, &function.name))
            else {
                unclear.push(function.name.as_str());
                continue;
            };
            used.insert(caller.as_str());
            for callee in callees.iter().filter(|callee| *callee != "itself") {
                let found = names.iter().filter(|(_, name)| matches(callee, name));
                let found: Vec<Address> = found.map(|&(address, _)| address).collect();
                if found.is_empty() {
                    return Err(format!("stack: {caller} reaches {callee}, which is not in the image"));
                }
                function.calls.extend(found.into_iter().map(|address| (before, address)));
            }
        }
        if !unclear.is_empty() {
            return Err(format!("stack: nobody has written whom these reach: {}", unclear.join(", ")));
        }
        let is_there = |pattern: &str| names.iter().any(|(_, name)| matches(pattern, name));
        let callers = self.reaches.iter().map(|(name, _)| name).chain(self.frames.iter().map(|(name, _)| name));
        let mut stale = callers.filter(|name| !used.contains(name.as_str()));
        let mut absent = self.repeats.iter().map(|(name, _)| name).chain(&self.lasts).filter(|name| !is_there(name));
        Ok(stale.next().or(absent.next()).cloned())
    }

    /// How often functions of a circle are at work at most, if that is written for one of them.
    pub fn times<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Option<usize> {
        names.find_map(|name| self.repeats.iter().find(|(pattern, _)| matches(pattern, name))).map(|(_, times)| *times)
    }

    pub fn is_last(&self, name: &str) -> bool {
        self.lasts.iter().any(|last| matches(last, name))
    }
}

/// `*` stands for anything.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let (last, middle) = parts.split_last().map_or(("", &[][..]), |(last, middle)| (*last, middle));
    for part in middle {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(last)
}
