// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words after `--`, as cargo's own runner reads them: parts of names, `--exact`, `--list`.

/// Names the part to run: `first` of `make test`, `more` of `make test-more`; both without it.
const PART: &str = "TACET_TEST_PART";

#[derive(Debug, Default)]
pub struct Options {
    names: Vec<String>,
    part: Option<String>,
    exact: bool,
    pub list: bool,
}

impl Options {
    pub fn parse(words: impl Iterator<Item = String>) -> Options {
        let mut options = Options { part: std::env::var(PART).ok(), ..Options::default() };
        for word in words {
            match word.as_str() {
                "--exact" => options.exact = true,
                "--list" => options.list = true,
                // of cargo's runner, without a meaning here
                flag if flag.starts_with('-') => (),
                _ => options.names.push(word),
            }
        }
        options
    }

    pub fn choose(&self, name: &str, in_more: bool) -> bool {
        let of_part = match self.part.as_deref() {
            Some("first") => !in_more,
            Some("more") => in_more,
            _ => true,
        };
        let fits = |wanted: &String| if self.exact { name == wanted } else { name.contains(wanted.as_str()) };
        of_part && (self.names.is_empty() || self.names.iter().any(fits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose() {
        let parse =
            |words: &[&str]| Options { part: None, ..Options::parse(words.iter().map(|word| (*word).to_owned())) };
        assert!(parse(&["--quiet"]).choose("files", false));
        assert!(parse(&["fil"]).choose("files", true) && !parse(&["fil"]).choose("pipes", true));
        assert!(!parse(&["--exact", "fil"]).choose("files", false));
        let first = Options { part: Some("first".into()), ..parse(&["fil"]) };
        assert!(first.choose("files", false) && !first.choose("files", true) && !first.choose("pipes", false));
    }
}
