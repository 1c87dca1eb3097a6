// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The example notebook, docs/examples/noise.ipynb: its cells are Python, and executed on a new record they agree with
//! `tacet noise analyse`. The second test needs packages of Python's, so it runs on request: `cargo xtask notebook`.

mod programs;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const NOTEBOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/noise.ipynb");
/// Where `cargo xtask notebook` has Python's packages.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/notebook/bin/python");
/// Compiles each cell, and refuses results of an earlier run.
const CHECK: &str = "
import json, sys
code = [cell for cell in json.load(open(sys.argv[1]))['cells'] if cell['cell_type'] == 'code']
for cell in code:
    compile(''.join(cell['source']), 'cell', 'exec')
    assert cell['outputs'] == [] and cell['execution_count'] is None, 'clear the outputs'
print(len(code))
";

#[test]
fn its_cells_are_python_and_hold_no_old_results() {
    let output = Command::new("/usr/bin/python3").args(["-c", CHECK, NOTEBOOK]).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "5");
}

fn measure(method: &str, programs: &Path, folder: &Path) {
    let words = ["measure", "--method", method, "--quantum", "1ms", "--duration", "2s", "--cpus", "0", "--force"];
    let mut noise = Command::new(programs.join("tacet-noise"));
    assert!(noise.args(words).current_dir(folder).output().expect("it runs").status.success());
}

/// Executes the notebook on the record `noise.parquet` of the folder.
fn execute(programs: &Path, folder: &Path) -> Output {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut nbconvert = Command::new(PYTHON);
    nbconvert.args(["-m", "nbconvert", "--to", "markdown", "--execute", "--output-dir", "."]).arg(NOTEBOOK);
    // a record that is named, since nbconvert executes in the notebook's own folder
    nbconvert.env("NOISE_RECORD", folder.join("noise.parquet")).env("PATH", path).current_dir(folder);
    nbconvert.output().expect("run `cargo xtask notebook`, which installs what this test needs")
}

#[test]
#[ignore = "needs Python's packages: cargo xtask notebook"]
fn it_agrees_with_the_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    let programs = programs::folder();
    measure("fwq", &programs, folder.path());
    let executed = execute(&programs, folder.path());
    assert!(executed.status.success(), "{}", String::from_utf8_lossy(&executed.stderr));
    let page = fs::read_to_string(folder.path().join("noise.md")).expect("noise.md");
    assert!(page.contains("all 1 CPUs agree") && page.matches("![png]").count() == 2, "{page}");
    measure("ftq", &programs, folder.path());
    assert!(!execute(&programs, folder.path()).status.success(), "the notebook explains fixed work alone");
}
