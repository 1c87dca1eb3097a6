// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks the links between the documents: each file exists, each document is a chapter, each anchor is a heading.
//!
//! Called by `docs.rs`. It reads only, and looks at no address on the network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::Result;

/// A document's headings, as anchors, and its links to files.
struct Document {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

/// The chapters that the summary names, as paths from the top of the tree.
pub fn chapters(summary: &str) -> Result<BTreeSet<String>> {
    let mut chapters = BTreeSet::new();
    for link in document(summary).links {
        if !chapters.insert(resolve("docs/SUMMARY.md", &link)) {
            return Err(format!("docs/SUMMARY.md: {link}: named twice").into());
        }
    }
    Ok(chapters)
}

/// Checks all links of all chapters. The result are the other files that chapters link to, such as pictures.
pub fn check(top: &Path, chapters: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut documents = BTreeMap::new();
    for chapter in chapters {
        let text = fs::read_to_string(top.join(chapter)).map_err(|error| format!("{chapter}: {error}"))?;
        documents.insert(chapter.as_str(), document(&text));
    }
    let mut others = BTreeSet::new();
    for (name, document) in &documents {
        for link in &document.links {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { (*name).to_owned() } else { resolve(name, file) };
            let wrong = |cause: &str| format!("{name}: link to {link}: {cause}");
            match documents.get(target.as_str()) {
                Some(document) if anchor.is_empty() || document.anchors.contains(anchor) => {}
                Some(_) => return Err(wrong("there is no such heading").into()),
                None if !top.join(&target).is_file() => return Err(wrong("there is no such file").into()),
                None if target.ends_with(".md") => return Err(wrong("it is no chapter of docs/SUMMARY.md").into()),
                None => drop(others.insert(target)),
            }
        }
    }
    Ok(others)
}

fn document(text: &str) -> Document {
    let mut document = Document { anchors: BTreeSet::new(), links: Vec::new() };
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let mut anchor = anchor(&heading.take().unwrap_or_default());
                let again = (1..).map(|n| format!("{anchor}-{n}"));
                if document.anchors.contains(&anchor) {
                    anchor = again.into_iter().find(|name| !document.anchors.contains(name)).unwrap_or_default();
                }
                document.anchors.insert(anchor);
            }
            Event::Text(text) | Event::Code(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                if !dest_url.contains("://") && !dest_url.starts_with("mailto:") =>
            {
                document.links.push(dest_url.into_string());
            }
            _ => {}
        }
    }
    document
}

/// A heading's anchor, as mdBook and GitHub make it.
fn anchor(heading: &str) -> String {
    let kept = |letter: char| match letter {
        _ if letter.is_alphanumeric() || letter == '_' || letter == '-' => Some(letter.to_ascii_lowercase()),
        _ if letter.is_whitespace() => Some('-'),
        _ => None,
    };
    heading.trim().chars().filter_map(kept).collect()
}

/// A link of the document `from`, as a path from the top of the tree.
fn resolve(from: &str, link: &str) -> String {
    let joined = Path::new(from).parent().unwrap_or(Path::new("")).join(link);
    let mut parts = Vec::new();
    for part in joined.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            _ => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_mdbook() {
        assert_eq!(anchor("The program's data: `--memory all`"), "the-programs-data---memory-all");
        let twice = document("# Memory\n## What is slower\n# HPL\n## What is slower\n");
        assert!(twice.anchors.contains("what-is-slower") && twice.anchors.contains("what-is-slower-1"));
    }

    #[test]
    fn broken_links_are_named() {
        let top = tempfile::tempdir().expect("a folder");
        fs::create_dir(top.path().join("docs")).expect("a folder");
        let checked = |page: &str| {
            fs::write(top.path().join("docs/page.md"), page).expect("written");
            check(top.path(), &chapters("- [A page](page.md)").expect("chapters")).map_err(|error| error.to_string())
        };
        fs::write(top.path().join("docs/other.md"), "").expect("written");
        fs::write(top.path().join("picture.svg"), "").expect("written");
        assert_eq!(
            checked("# Head\n[a](page.md#head) ![b](../picture.svg) [c](#head) <https://x.y>"),
            Ok(["picture.svg".into()].into())
        );
        assert!(checked("[a](#tail)").is_err_and(|error| error.contains("no such heading")));
        assert!(checked("[a](gone.md)").is_err_and(|error| error.contains("no such file")));
        assert!(checked("[a](other.md)").is_err_and(|error| error.contains("no chapter")));
        assert!(chapters("- [a](page.md)\n- [b](page.md)").is_err());
    }
}
