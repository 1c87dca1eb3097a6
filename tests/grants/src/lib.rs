// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module's judgement of calls (`pico/linux/meaning.c`, `linux/arch/x86/foreign.c`, `linux/delegate/kinds.c`) outside of a kernel: built as a
//! program, and asked about each call of each ABI.
//!
//! Called by this crate's tests: what is known of all calls, and the model of grants, which asks for each step.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The result of everything here; an error's text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Abi {
    Native,
    Ia32,
    X32,
}

/// A call, by its ABI's number, with its first two arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call {
    pub abi: Abi,
    pub number: i64,
    pub first: u64,
    pub second: u64,
}

/// What the module makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    /// The 64-bit call that does the same; -1: the module knows none.
    pub number: i64,
    /// The first and the last descriptor that may mean something else afterwards.
    pub descriptors: Option<(i64, i64)>,
    /// The open file that the first argument names may change.
    pub file: bool,
    /// Nothing of ours happens before or after it.
    pub simple: bool,
}

const SOURCES: [&str; 4] =
    ["tests/grants/c/meanings.c", "pico/linux/meaning.c", "linux/arch/x86/foreign.c", "linux/delegate/kinds.c"];
const FLAGS: [&str; 8] = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I.", "-Ilinux", "-Itests/grants/c"];

/// Asks about calls, all at once.
pub fn meanings(calls: &[Call]) -> Result<Vec<Meaning>> {
    let directory = tempfile::tempdir()?;
    let program = directory.path().join("meanings");
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let compiled = Command::new("cc").args(FLAGS).arg("-o").arg(&program).args(SOURCES).current_dir(top).output()?;
    if !compiled.status.success() {
        return Err(format!("meanings: cc failed: {}", String::from_utf8_lossy(&compiled.stderr)).into());
    }
    let questions = calls.iter().map(question).collect::<String>();
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("meanings: no input")?;
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "meanings: the writer has panicked")??;
    let said: Vec<Meaning> = String::from_utf8(output.stdout)?.lines().map(meaning).collect::<Result<_>>()?;
    if said.len() == calls.len() { Ok(said) } else { Err("meanings: not an answer for each call".into()) }
}

fn question(call: &Call) -> String {
    let abi = match call.abi {
        Abi::Native => "64",
        Abi::Ia32 => "ia32",
        Abi::X32 => "x32",
    };
    format!("{abi} {} {} {}\n", call.number, call.first, call.second)
}

fn meaning(line: &str) -> Result<Meaning> {
    let numbers: Vec<i64> = line.split(' ').map(str::parse).collect::<std::result::Result<_, _>>()?;
    let [number, first, last, file, simple] = numbers[..] else {
        return Err(format!("meanings: it said `{line}`").into());
    };
    Ok(Meaning { number, descriptors: (first >= 0).then_some((first, last)), file: file != 0, simple: simple != 0 })
}
