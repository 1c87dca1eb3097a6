// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The reader as a program, compiled with the sanitizers: an access outside of a buffer ends it with a report.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{Result, Types};

/// The compiled program; it goes with this value.
pub struct Reader {
    directory: TempDir,
}

/// One line of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The field, its offset and its size in bytes.
    Place(String, u64, u64),
    /// An enumerator and its value.
    Value(String, i64),
    /// The refusal.
    Refused(String),
}

/// What the program is made of, from the top of the tree.
const SOURCES: [&str; 5] = [
    "tests/layouts/c/layouts.c",
    "pico/linux/btf.c",
    "pico/linux/layout.c",
    "pico/linux/layout_text.c",
    "pico/nvme/linux/fields.c",
];
const FLAGS: [&str; 10] = [
    "-std=gnu11",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-I.",
    "-Itests/layouts/c",
];

impl Reader {
    /// Compiles it with this host's compiler.
    pub fn build() -> Result<Reader> {
        let directory = tempfile::tempdir()?;
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut compile = Command::new("cc");
        compile.args(FLAGS).arg("-o").arg(directory.path().join("layouts")).args(SOURCES).current_dir(top);
        let output = compile.output()?;
        if !output.status.success() {
            return Err(format!("layouts: cc failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(Reader { directory })
    }

    /// The places of all wanted fields.
    pub fn table(&self, types: &Types) -> Result<Vec<Said>> {
        let built_in = PathBuf::from("-");
        let [nvme, core] = [&types.nvme, &types.core].map(|file| file.as_ref().unwrap_or(&built_in));
        self.run(&["table".as_ref(), types.base.as_ref(), nvme.as_ref(), core.as_ref()])
    }

    /// One field: `words` are the program's KIND BYTES TYPE FIELD [FIELD].
    pub fn find(&self, base: &Path, split: Option<&Path>, words: &str) -> Result<Vec<Said>> {
        let mut all = vec!["find".as_ref(), base, split.unwrap_or("-".as_ref())];
        all.extend(words.split_whitespace().map(Path::new));
        self.run(&all)
    }

    /// Reads damaged copies; returns how many were still BTF.
    pub fn fuzz(&self, base: &Path, split: Option<&Path>, rounds: u32, seed: u32) -> Result<u32> {
        let (rounds, seed) = (rounds.to_string(), seed.to_string());
        let split = split.unwrap_or("-".as_ref());
        let text = self.text(&["fuzz".as_ref(), base, split, rounds.as_ref(), seed.as_ref()])?;
        Ok(text.split_whitespace().next().ok_or("layouts: it said nothing")?.parse()?)
    }

    fn run(&self, words: &[&Path]) -> Result<Vec<Said>> {
        self.text(words)?.lines().map(said).collect()
    }

    /// A refusal's status is 1; every other one but 0 is a mistake or a sanitizer's report.
    fn text(&self, words: &[&Path]) -> Result<String> {
        let mut program = Command::new(self.directory.path().join("layouts"));
        // the buffers live as long as the program
        program.args(words).env("ASAN_OPTIONS", "detect_leaks=0:exitcode=99");
        let output = program.output()?;
        match output.status.code() {
            Some(0 | 1) => Ok(String::from_utf8(output.stdout)?),
            _ => Err(format!("layouts: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
        }
    }
}

fn said(line: &str) -> Result<Said> {
    if let Some(refusal) = line.strip_prefix("refused ") {
        return Ok(Said::Refused(refusal.to_owned()));
    }
    match line.split(' ').collect::<Vec<_>>()[..] {
        [field, "=", value] => Ok(Said::Value(field.to_owned(), value.parse()?)),
        [field, offset, bytes] => Ok(Said::Place(field.to_owned(), offset.parse()?, bytes.parse()?)),
        _ => Err(format!("layouts: it said `{line}`").into()),
    }
}
