// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lays the documents out for mdBook: the same paths as in the tree, below one folder, so that links stay as they are.
//!
//! Called by `docs.rs`. Owns build/docs/src and build/docs/book.toml.

use std::fs;
use std::path::Path;

use crate::Result;

const BOOK: &str = r#"[book]
title = "Tacet"
language = "en"
src = "src"

[build]
build-dir = "book"
create-missing = false

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"

[output.html.fold]
enable = true
level = 1
"#;

pub fn stage<'a>(top: &Path, output: &Path, summary: &str, files: impl Iterator<Item = &'a String>) -> Result<()> {
    let source = output.join("src");
    if source.exists() {
        fs::remove_dir_all(&source)?;
    }
    for file in files {
        let failed = |error| format!("{file}: {error}");
        let from = top.join(file);
        let to =
            source.join(file.strip_suffix("README.md").map_or(file.clone(), |folder| folder.to_owned() + "index.md"));
        fs::create_dir_all(to.parent().unwrap_or(&source))?;
        if file.ends_with(".md") {
            fs::write(to, indexed(&fs::read_to_string(from).map_err(failed)?))?;
        } else {
            fs::copy(from, to).map_err(failed)?;
        }
    }
    fs::write(source.join("SUMMARY.md"), indexed(&from_the_top(summary)))?;
    Ok(fs::write(output.join("book.toml"), BOOK)?)
}

/// The summary with paths from the top of the tree instead of from docs/.
fn from_the_top(summary: &str) -> String {
    summary.replace("](../", "](\u{0}").replace("](", "](docs/").replace("](docs/\u{0}", "](")
}

/// The links of a text: mdBook gives the page of a README.md the name index, and does not follow with its links.
fn indexed(text: &str) -> String {
    text.replace("README.md)", "index.md)").replace("README.md#", "index.md#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_of_a_folder() {
        assert_eq!(
            indexed("[a](README.md), [b](x/README.md#c), in README.md"),
            "[a](index.md), [b](x/index.md#c), in README.md"
        );
    }

    #[test]
    fn paths_from_the_top() {
        assert_eq!(from_the_top("[a](../A.md)\n- [b](b/c.md)"), "[a](A.md)\n- [b](docs/b/c.md)");
    }
}
