// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `cargo xtask docs`: checks the documents, writes those that are made from the code, and makes the book of them by
//! mdBook in build/docs/book.
//!
//! Called by `main.rs`, and its check by `test.rs`. Owns build/docs. The documents stay where a reader of the repository
//! expects them; `stage.rs` lays copies out for mdBook. It must never need the network, but to install mdBook once.

mod links;
mod messages;
mod stage;
mod tricks;

use std::fs;
use std::path::PathBuf;

use crate::command::{cargo, program, run};
use crate::setup::on_path;
use crate::{Result, top};

/// The chapters, with paths relative to docs/.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Of one day, so that a newer mdBook cannot change the result.
const MDBOOK: &str = "mdbook@0.5.4";
const OUTPUT: &str = "build/docs";

/// Lines of the pages that a reader reads whole: details belong on other pages.
const SHORT: [(&str, usize); 2] = [("README.md", 150), ("CAVEATS.md", 120)];

/// Makes the book; with `check`, only checks the documents.
pub fn docs(check: bool) -> Result<()> {
    tricks::page(&top(), check)?;
    let summary = fs::read_to_string(top().join(SUMMARY)).map_err(|error| format!("{SUMMARY}: {error}"))?;
    let chapters = links::chapters(&summary)?;
    let others = links::check(&top(), &chapters)?;
    messages::check(&top())?;
    SHORT.iter().try_for_each(|(page, limit)| short(page, *limit))?;
    if check {
        return Ok(());
    }
    let output = top().join(OUTPUT);
    stage::stage(&top(), &output, &summary, chapters.iter().chain(&others))?;
    run(program(mdbook()?).args(["build", OUTPUT]))?;
    println!("the book: {OUTPUT}/book/index.html");
    Ok(())
}

fn short(page: &str, limit: usize) -> Result<()> {
    let lines = fs::read_to_string(top().join(page))?.lines().count();
    if lines <= limit {
        Ok(())
    } else {
        Err(format!("{page}: {lines} lines, at most {limit}: move details away").into())
    }
}

/// mdBook on the PATH, or our own, which the first call installs.
fn mdbook() -> Result<PathBuf> {
    if on_path("mdbook") {
        return Ok("mdbook".into());
    }
    let own = top().join("target/tools");
    if !own.join("bin/mdbook").exists() {
        let mut install = cargo();
        install.args([
            "install",
            "--quiet",
            "--locked",
            MDBOOK,
            "--no-default-features",
            "--features=search",
            "--root",
        ]);
        run(install.arg(&own))?;
    }
    Ok(own.join("bin/mdbook"))
}
