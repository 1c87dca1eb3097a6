// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real programs with packages of their own: Java's threads, a `git clone` by dulwich, and numpy's and scipy's own tests.
//! `cargo xtask setup` installs Python's packages on Debian, and no Java (`default-jdk-headless`). Each case is left out, with a
//! line, where its package is not there.

use std::process::Command;

use crate::Result;
use crate::case::{Case, Same};
use crate::nodes::Nodes;
use crate::place::top;
use crate::process;
use crate::real::{JAVA, PYTHON, scratch};
use crate::unplug::expect;

const JAVAC: &str = "javac";

/// A repository with some history. A commit looks for programs to execute, which a node refuses: this is made here.
const ORIGIN: &str = "import os, sys
from dulwich import porcelain
author = b'A <a@b>'
os.chdir(sys.argv[1])
with porcelain.init('.') as origin:
    for number in range(20):
        name = f'file{number % 5}'
        with open(name, 'a') as file: file.write(f'line {number}\\n' * (number + 1))
        porcelain.add(origin, [name])
        porcelain.commit(origin, message=b'change %d' % number, author=author, committer=author)";

/// Clones it, and says what the clone has.
const CLONE: &str = "import hashlib, os, sys
from dulwich import porcelain
from dulwich.repo import Repo
with open(os.devnull, 'wb') as nowhere: porcelain.clone(sys.argv[1], 'copy', errstream=nowhere).close()
with Repo('copy') as copy: print(copy.head().decode(), len(list(copy.get_walker())))
for name in sorted(os.listdir('copy')):
    if name != '.git': print(name, hashlib.sha256(open(os.path.join('copy', name), 'rb').read()).hexdigest())";

/// Says how many tests passed, failed and were left out, and which failed.
const RUN_TESTS: &str = "import sys, pytest
class Counts:
    def __init__(self): self.by, self.bad = {}, []
    def pytest_runtest_logreport(self, report):
        if report.when == 'call' or report.outcome != 'passed':
            self.by[report.outcome] = self.by.get(report.outcome, 0) + 1
            if report.outcome == 'failed': self.bad.append(report.nodeid)
counts = Counts()
pytest.main(['-s', '-p', 'no:cacheprovider', '-p', 'no:terminal', '--pyargs', *sys.argv[1:]], plugins=[counts])
print(sorted(counts.by.items()), counts.bad)
sys.exit(bool(counts.bad) or counts.by.get('passed', 0) < 20)";

/// A package, what it needs, and those of its tests that take seconds.
const TESTS: [(&str, &str, &str); 2] = [
    ("numpy", "numpy, pytest, hypothesis", "numpy.polynomial.tests.test_chebyshev"),
    ("scipy", "scipy.spatial, pytest", "scipy.spatial.transform.tests.test_rotation_groups"),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |case: Case, is_there: bool, needs: &str| match is_there {
        true => cases.push(case.more()),
        false => println!("{} is left out: {needs} is not installed", case.name),
    };
    let java = Command::new(JAVAC).arg("--version").output().is_ok() && std::path::Path::new(JAVA).exists();
    add(Case::shared("java with 64 threads", threads_of_java), java, JAVAC);
    add(Case::shared("git clone by dulwich", clone), has("dulwich"), "dulwich");
    for (name, needs, tests) in TESTS {
        let title = format!("{name}'s own tests");
        add(Case::own(&title, move || own_tests(tests)), has(needs), needs);
    }
    cases
}

fn has(modules: &str) -> bool {
    let found = Command::new(PYTHON).args(["-c", &format!("import {modules}")]).output();
    found.is_ok_and(|output| output.status.success())
}

/// On a node with memory for copies of all that the packages map.
fn own_tests(tests: &str) -> Result<()> {
    let nodes = Nodes::boot(1, &["--cpus", "4", "--node-memory", "1G"])?;
    let words = [PYTHON, "-c", RUN_TESTS, tests].map(str::to_owned).to_vec();
    Same { words, succeeds: true, ..Same::default() }.check(&nodes)?;
    expect(&nodes.down()?, 0)
}

fn clone(nodes: &Nodes) -> Result<()> {
    let origin = scratch()?;
    let place = origin.path().display().to_string();
    let made = process::run(Command::new(PYTHON).args(["-c", ORIGIN, &place]), b"")?;
    if made.status != 0 {
        return Err(made.error_text());
    }
    let words = [PYTHON, "-c", CLONE, &place].map(str::to_owned).to_vec();
    Same { words, apart: true, succeeds: true, ..Same::default() }.check(nodes)
}

/// More threads than the node has CPUs, which wait for each other: in futexes, so the CPUs are not kept.
fn threads_of_java(nodes: &Nodes) -> Result<()> {
    let classes = scratch()?;
    let (source, place) = (top().join("tests/static/programs/Threads.java"), classes.path().display().to_string());
    let compiled = process::run(Command::new(JAVAC).args(["--release", "11", "-d", &place]).arg(source), b"")?;
    if compiled.status != 0 {
        return Err(compiled.error_text());
    }
    let words = [JAVA, "-Xint", "-Xmx64m", "-Xss256k", "-cp", &place, "Threads"];
    let words = words.map(str::to_owned).to_vec();
    let expected = Some((b"interrupted\n1000298 64000 64 thread 63 2016\n".to_vec(), 3));
    Same { words, expected, ..Same::default() }.check(nodes)
}
