// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `docs/internals.md`: what the module does with the kernel's internals, made from comments beside the code.
//!
//! Each is three paragraphs in a comment of `linux/` or `pico/`: `TRICK name: what it does`, `BREAKS what breaks it`,
//! `NOTICED which check notices`. A trick without one of them is an error.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::Result;

pub const PAGE: &str = "docs/internals.md";
const FOLDERS: [&str; 2] = ["linux", "pico"];
const WORDS: [&str; 3] = ["TRICK", "BREAKS", "NOTICED"];
const HEAD: &str = "\
# Tricks with the kernel's internals

The module uses exported symbols only, and still relies on how the kernel works inside. Each trick is here with what
breaks it and what notices that: when the module is built, when it is loaded, while it runs, or by a test that each
kernel has to pass. A developer who ports the module to a new kernel begins with this list, and with `linux/compat.h`.

Made from comments in the code by `cargo xtask docs`.
";

struct Trick {
    file: String,
    name: String,
    /// In the order of [`WORDS`].
    texts: [String; 3],
}

/// Writes the page; with `check`, only says whether it is current.
pub fn page(top: &Path, check: bool) -> Result<()> {
    let mut tricks = Vec::new();
    for folder in FOLDERS {
        collect(top, &top.join(folder), &mut tricks)?;
    }
    let page = render(&tricks);
    let path = top.join(PAGE);
    if fs::read_to_string(&path).ok().as_ref() == Some(&page) {
        return Ok(());
    }
    if check {
        return Err(format!("{PAGE}: not what comments in the code say: run `cargo xtask docs`").into());
    }
    Ok(fs::write(path, page)?)
}

fn collect(top: &Path, folder: &Path, tricks: &mut Vec<Trick>) -> Result<()> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(top, &path, tricks)?;
        } else if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            let file = path.strip_prefix(top)?.display().to_string();
            tricks.extend(found(&file, &fs::read_to_string(&path)?)?);
        }
    }
    Ok(())
}

/// The tricks in a file's comments.
fn found(file: &str, source: &str) -> Result<Vec<Trick>> {
    let mut tricks: Vec<Trick> = Vec::new();
    let mut at = None;
    for line in source.lines() {
        let Some(line) = line.trim_start().strip_prefix("* ") else {
            at = None;
            continue;
        };
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let word = WORDS.iter().position(|word| *word == first);
        if word == Some(0) {
            let (name, what) = rest.split_once(": ").ok_or_else(|| format!("{file}: `{line}`: no `name: what`"))?;
            let texts = [what.to_string(), String::new(), String::new()];
            tricks.push(Trick { file: file.to_string(), name: name.to_string(), texts });
        }
        at = word.or(at);
        let (Some(at), Some(trick)) = (at, tricks.last_mut()) else { continue };
        match word {
            Some(0) => {}
            Some(_) => trick.texts[at].push_str(rest),
            None => write!(trick.texts[at], " {line}")?,
        }
    }
    for trick in &tricks {
        if let Some(missing) = trick.texts.iter().position(String::is_empty) {
            return Err(format!("{file}: trick `{}`: nothing after {}", trick.name, WORDS[missing]).into());
        }
    }
    Ok(tricks)
}

fn render(tricks: &[Trick]) -> String {
    let mut page = HEAD.to_string();
    for Trick { file, name, texts: [what, breaks, noticed] } in tricks {
        page += &format!(
            "\n## {}\n\n[`{file}`](../{file}): {what}\n\n- Breaks it: {breaks}\n- Noticed by: {noticed}\n",
            capital(name)
        );
    }
    page
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/*
 * A file.
 *
 * TRICK a page of ours: it is there,
 * and nobody knows.
 * BREAKS somebody
 * knows.
 * NOTICED a test.
 */
/* Not a trick. */
";

    #[test]
    fn a_trick_has_three_parts_whatever_their_lines() {
        let tricks = found("a.c", SOURCE).unwrap();
        assert_eq!(tricks.len(), 1);
        assert_eq!(tricks[0].name, "a page of ours");
        assert_eq!(tricks[0].texts, ["it is there, and nobody knows.", "somebody knows.", "a test."]);
        assert!(render(&tricks).contains("\n## A page of ours\n\n[`a.c`](../a.c): it is there"));
    }

    #[test]
    fn a_trick_that_nothing_notices_is_refused() {
        let error = found("a.c", &SOURCE.replace(" * NOTICED a test.\n", "")).err().unwrap().to_string();
        assert_eq!(error, "a.c: trick `a page of ours`: nothing after NOTICED");
        assert!(found("a.c", &SOURCE.replace("ours: it", "ours it")).is_err());
    }
}
