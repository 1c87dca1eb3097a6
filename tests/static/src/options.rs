// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words after `--`, as cargo's own runner reads them: parts of names, `--exact`, `--list`.

#[derive(Debug, Default)]
pub struct Options {
    names: Vec<String>,
    exact: bool,
    pub list: bool,
}

impl Options {
    pub fn parse(words: impl Iterator<Item = String>) -> Options {
        let mut options = Options::default();
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

    pub fn choose(&self, name: &str) -> bool {
        let fits = |wanted: &String| if self.exact { name == wanted } else { name.contains(wanted.as_str()) };
        self.names.is_empty() || self.names.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose() {
        let parse = |words: &[&str]| Options::parse(words.iter().map(|word| (*word).to_owned()));
        assert!(parse(&["--quiet"]).choose("files"));
        assert!(parse(&["fil"]).choose("files") && !parse(&["fil"]).choose("pipes"));
        assert!(!parse(&["--exact", "fil"]).choose("files"));
    }
}
