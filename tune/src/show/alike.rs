// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Similar objects in one line: forty interrupts with the same change are one line for a person.

use crate::cpus::Cpus;
use crate::object::Object;

/// Groups similar objects, in the order of the first of each group; `key` is what else must be equal.
pub fn lines<T>(items: &[T], object: impl Fn(&T) -> &Object, key: impl Fn(&T) -> String) -> Vec<(String, String)> {
    let mut groups: Vec<(String, String, Vec<&Object>)> = Vec::new();
    for item in items {
        let (kind, key) = (kind(object(item)), key(item));
        match groups.iter_mut().find(|(k, v, _)| *k == kind && *v == key) {
            Some((_, _, members)) => members.push(object(item)),
            None => groups.push((kind, key, vec![object(item)])),
        }
    }
    groups.into_iter().map(|(kind, key, members)| (name(&kind, &members), key)).collect()
}

/// A path with `#` in place of its numbers.
fn kind(object: &Object) -> String {
    match object {
        Object::File { path } | Object::Directory { path } => blot(path),
        Object::Affinity { .. } => "affinity".to_owned(),
        Object::Unit { property, .. } => format!("{property} of units"),
    }
}

fn blot(path: &str) -> String {
    let mut blotted = String::new();
    for c in path.chars() {
        match c {
            '0'..='9' if blotted.ends_with('#') => (),
            '0'..='9' => blotted.push('#'),
            c => blotted.push(c),
        }
    }
    blotted
}

fn name(kind: &str, members: &[&Object]) -> String {
    match members {
        [] => String::new(),
        [one] => one.to_string(),
        [Object::Affinity { .. }, ..] => named(
            "affinity of",
            members.iter().map(|object| match object {
                Object::Affinity { name, .. } => name.as_str(),
                _ => "",
            }),
        ),
        [Object::Unit { property, .. }, ..] => named(
            &format!("{property} of"),
            members.iter().map(|object| match object {
                Object::Unit { unit, .. } => unit.as_str(),
                _ => "",
            }),
        ),
        _ => numbered(members).unwrap_or_else(|| format!("{} of {kind}", members.len())),
    }
}

/// The first three, and how many more.
fn named<'a>(head: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let first = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(3) {
        0 => format!("{head} {first}"),
        more => format!("{head} {first} and {more} more"),
    }
}

/// `/proc/irq/{24-31}/smp_affinity_list`, if exactly one number differs.
fn numbered(members: &[&Object]) -> Option<String> {
    let split: Vec<Vec<String>> = members.iter().map(|object| runs(&object.to_string())).collect();
    let first = split.first()?;
    let differs = |at: &usize| split.iter().any(|parts| parts.get(*at) != first.get(*at));
    let differing: Vec<usize> = (0..first.len()).filter(differs).collect();
    let [at] = differing.as_slice() else { return None };
    let numbers: Option<Vec<u32>> = split.iter().map(|parts| parts.get(*at)?.parse().ok()).collect();
    let numbers: Cpus = numbers?.into_iter().collect();
    let text = |(index, part): (usize, &String)| if index == *at { format!("{{{numbers}}}") } else { part.clone() };
    Some(first.iter().enumerate().map(text).collect())
}

/// Splits a text into runs of digits and of other characters.
fn runs(text: &str) -> Vec<String> {
    let mut runs: Vec<String> = Vec::new();
    for c in text.chars() {
        match runs.last_mut() {
            Some(run) if run.ends_with(|last: char| last.is_ascii_digit()) == c.is_ascii_digit() => run.push(c),
            _ => runs.push(c.to_string()),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_for_objects_with_the_same_change() {
        let irq = |n| Object::file(format!("/proc/irq/{n}/smp_affinity_list"));
        let thread = |n: u32| Object::Affinity { thread: n, started: 1, name: format!("t{n}") };
        let objects =
            [irq(24), irq(25), irq(26), irq(9), Object::file("/a"), thread(1), thread(2), thread(3), thread(4)];
        let keys = |object: &Object| if *object == irq(9) { "other".to_owned() } else { "same".to_owned() };
        let said: Vec<String> = lines(&objects, |o| o, keys).into_iter().map(|(name, _)| name).collect();
        let wanted = [
            "/proc/irq/{24-26}/smp_affinity_list",
            "/proc/irq/9/smp_affinity_list",
            "/a",
            "affinity of t1, t2, t3 and 1 more",
        ];
        assert_eq!(said, wanted);
    }
}
