// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The form of what the family prints with `--json`: each object at the top has the version.
//!
//! Called by the commands for results and by [`crate::Tool`] for errors. It must never print: each program has its own way
//! to standard output.

use serde::Serialize;

/// Of all objects. It changes if a field is removed or changes its meaning; docs/json has the schemas.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Versioned<'a, T: Serialize> {
    json_version: u32,
    #[serde(flatten)]
    facts: &'a T,
}

impl<'a, T: Serialize> Versioned<'a, T> {
    fn new(facts: &'a T) -> Self {
        Self { json_version: VERSION, facts }
    }
}

/// One object, indented; `facts` is a structure or a map.
pub fn text(facts: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&Versioned::new(facts))? + "\n")
}

/// One object of several, on one line.
pub fn line(facts: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(&Versioned::new(facts))? + "\n")
}

/// A list of objects, each with the version.
pub fn list(all: &[impl Serialize]) -> serde_json::Result<String> {
    let all: Vec<_> = all.iter().map(Versioned::new).collect();
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_object_has_the_version() {
        let facts = serde_json::json!({ "state": "up" });
        assert_eq!(line(&facts).expect("an object"), "{\"json_version\":1,\"state\":\"up\"}\n");
        let all: serde_json::Value = serde_json::from_str(&list(&[&facts, &facts]).expect("a list")).expect("JSON");
        assert_eq!(all[1]["json_version"], 1);
        assert!(text(&3).is_err(), "a number has no place for it");
    }
}
