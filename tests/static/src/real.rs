// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs of this host: Python and sqlite3. They are skipped where they are not installed.

use std::path::Path;

use tempfile::TempDir;

use crate::Result;
use crate::case::Case;

/// A user's own Python may be a script that chooses one; this is none.
pub const PYTHON: &str = "/usr/bin/python3";
const SQLITE: &str = "/usr/bin/sqlite3";

const SCRIPTS: [(&str, &str); 5] = [
    (
        "json",
        "import json; print(json.dumps(json.loads('{\"a\": [1, 2.5, null], \"b\": \"\\\\u00e9\"}'), sort_keys=True))",
    ),
    (
        "numbers",
        "import math, random, struct, hashlib
random.seed(5); print([random.randrange(1000) for _ in range(5)], math.factorial(30), f'{math.pi:.15f}')
print(struct.pack('<idq', 1, 2.5, -3).hex(), hashlib.sha256(b'tacet' * 10000).hexdigest())",
    ),
    (
        "threads",
        "import threading, queue
work, done = queue.Queue(), []
def serve():
    while (number := work.get()) is not None: done.append(sum(range(number)))
threads = [threading.Thread(target=serve) for _ in range(4)]
[thread.start() for thread in threads]
[work.put(number) for number in range(100)]
[work.put(None) for _ in threads]
[thread.join() for thread in threads]
print(len(done), sum(done))",
    ),
    (
        "files",
        "import os, tempfile
with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    for number in range(100):
        with open(f'file{number}', 'w') as file: file.write('line\\n' * number)
    print(sum(os.path.getsize(name) for name in os.listdir('.')), sorted(os.listdir('.'))[-1])
    os.chdir('/')
print(len(open('/proc/self/map').read()) > 0 if os.path.exists('/proc/self/map') else True)",
    ),
    (
        "input",
        "import sys
for line in sys.stdin: print(line.strip()[::-1])
sys.stderr.write('an error\\n'); sys.exit(4)",
    ),
];

/// With tables, an index, a transaction and a rollback.
const SQL: &str = "create table t(n integer primary key, text);
with recursive c(n) as (select 1 union all select n + 1 from c where n < 2000) insert into t select n, hex(n) from c;
create index i on t(text); begin; delete from t; rollback;
select count(*), sum(n), max(text) from t; pragma integrity_check;
";

/// Modules of Python's own tests.
const TESTS: [&str; 5] = ["test_json", "test_math", "test_random", "test_struct", "test_thread"];

/// Runs a module's tests but those that fork or start another Python, which a node without Linux refuses. Says how many
/// ran and which failed.
const RUN_TESTS: &str = "import sys, unittest
FORK = ('.TestTool.', '.test_after_fork', '.test_struct_cleans_up_at_runtime_shutdown', '.TestForkInThread.')
def flat(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite): yield from flat(test)
        else: yield test
found = flat(unittest.defaultTestLoader.loadTestsFromName('test.' + sys.argv[1]))
chosen = [test for test in found if not any(part in test.id() for part in FORK)]
out, sys.stdout = sys.stdout, sys.stderr
result = unittest.TextTestRunner().run(unittest.TestSuite(chosen))
bad = result.failures + result.errors
print(len(chosen), result.testsRun, len(result.skipped), [test.id() for test, _ in bad], file=out)
sys.exit(bool(bad) or not chosen)";

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    if Path::new(PYTHON).exists() {
        cases.extend(SCRIPTS.map(|(name, script)| python(name, script)));
        cases.extend(own_tests());
    }
    if Path::new(SQLITE).exists() {
        cases.push(Case::same("sqlite in memory", &[SQLITE, ":memory:"]).input(SQL));
        let twice = format!("{SQL}drop table t; vacuum;\n");
        cases.push(Case::same("sqlite in a file", &[SQLITE, "/tmp/tacet-static.sqlite"]).input(twice));
    }
    cases
}

fn python(name: &str, script: &str) -> Case {
    Case::same(format!("python {name}"), &[PYTHON, "-c", script]).input("first\nsecond\n")
}

fn own_tests() -> Vec<Case> {
    let installed = || {
        let find = "import test.test_json";
        std::process::Command::new(PYTHON).args(["-c", find]).output().is_ok_and(|output| output.status.success())
    };
    if !installed() {
        return Vec::new();
    }
    TESTS.map(|name| Case::same(format!("python {name}"), &[PYTHON, "-c", RUN_TESTS, name])).into()
}

/// A directory for one case.
pub fn scratch() -> Result<TempDir> {
    tempfile::Builder::new().prefix("tacet-static-").tempdir().map_err(|error| error.to_string())
}
