// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs of this host: Python, its own tests, and sqlite3. `cargo xtask setup` installs them; a case fails where its
//! program is not there. Java and hwloc, which it does not install, are left out then.

use tempfile::TempDir;

use crate::Result;
use crate::case::Case;

/// A user's own Python may be a script that chooses one; this is none.
pub const PYTHON: &str = "/usr/bin/python3";
const SQLITE: &str = "/usr/bin/sqlite3";
pub const JAVA: &str = "/usr/bin/java";
const HWLOC: &str = "/usr/bin/lstopo-no-graphics";

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

/// A log beside the file, which is mapped as far as the node lets it be: only in exclusive mode is the log's index no
/// shared mapping, which a node refuses.
const LOGGED_SQL: &str = "pragma locking_mode=exclusive; pragma journal_mode=wal; pragma mmap_size=16777216;
create table t(n integer primary key, text);
with recursive c(n) as (select 1 union all select n + 1 from c where n < 2000) insert into t select n, hex(n) from c;
update t set text = hex(n + 1) where n % 2; pragma wal_checkpoint(truncate); delete from t where n % 3 = 0; vacuum;
select count(*), sum(n), max(text) from t; pragma integrity_check;
";

/// Classes of Python's own tests, or whole modules. Each interpreter takes seconds to load, so few cases have them all.
/// `SystemRandom` ships a call for each number; the other classes of `test_random` are the generator's.
const TESTS: [(&str, &str); 3] = [
    ("values", "test_json test_struct"),
    ("numbers", "test_math test_random"),
    (
        "threads",
        "test_thread test_threading.ThreadTests test_threading.ThreadingExceptionTests test_threading.ExceptHookTests \
         test_threading.LockTests test_threading.CRLockTests test_threading.EventTests test_threading.SemaphoreTests \
         test_threading.InterruptMainTests test_threading.TimerTests",
    ),
];

/// Runs tests but those that fork or start another Python, which a static node refuses, and a few that take an
/// emulated node seconds each. Says how many ran and which failed.
const RUN_TESTS: &str = "import inspect, sys, unittest
ELSEWHERE = ('assert_python', 'script_helper', 'subprocess', 'os.fork()')
LEFT_OUT = ('.TestTool.', '.test_after_fork', '.TestForkInThread.', '.SystemRandom_', '.test_multithread_modify_file_noerror',
    '.testFsum', '.test_integers', '.test_unicode_decode', '.test_bug_9025')
def flat(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite): yield from flat(test)
        else: yield test
def here(test):
    body = getattr(type(test), getattr(test, '_testMethodName', ''), None)
    elsewhere = body and any(word in inspect.getsource(body) for word in ELSEWHERE)
    return not elsewhere and not any(part in test.id() for part in LEFT_OUT)
tests = unittest.defaultTestLoader.loadTestsFromNames(['test.' + name for name in sys.argv[1].split()])
chosen = [test for test in flat(tests) if here(test)]
out, sys.stdout = sys.stdout, sys.stderr
result = unittest.TextTestRunner().run(unittest.TestSuite(chosen))
bad = result.failures + result.errors
print(len(chosen), result.testsRun, len(result.skipped), [test.id() for test, _ in bad], file=out)
sys.exit(bool(bad) or len(chosen) < 100)";

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(SCRIPTS.map(|(name, script)| python(name, script)));
    let own = |(name, tests)| Case::same(format!("python's own tests: {name}"), &[PYTHON, "-c", RUN_TESTS, tests]);
    cases.extend(TESTS.map(|tests| own(tests).succeeds().more()));
    cases.push(Case::same("sqlite in memory", &[SQLITE, ":memory:"]).input(SQL).succeeds());
    let twice = format!("{SQL}drop table t; vacuum;\n");
    cases.push(Case::same("sqlite in a file", &[SQLITE, "/tmp/tacet-static.sqlite"]).input(twice).succeeds());
    cases.push(Case::same("sqlite with a log and a map", &[SQLITE, "logged"]).input(LOGGED_SQL).succeeds().apart());
    // the node's CPUs, not those of this host
    let cpus: String = (0..4).map(|cpu| format!("PU L#{cpu} (P#{cpu})\n")).collect();
    let optional = [
        (JAVA, Case::same("java", &[JAVA, "-Xint", "-Xmx64m", "--version"]).succeeds()),
        (HWLOC, Case::same("hwloc", &[HWLOC, "--no-io", "--only", "pu"]).expect(cpus, 0)),
    ];
    for (program, case) in optional {
        match std::path::Path::new(program).exists() {
            true => cases.push(case.more()),
            false => println!("{} is left out: {program} is not installed", case.name),
        }
    }
    cases
}

fn python(name: &str, script: &str) -> Case {
    Case::same(format!("python {name}"), &[PYTHON, "-c", script]).input("first\nsecond\n")
}

/// A directory for one case.
pub fn scratch() -> Result<TempDir> {
    tempfile::Builder::new().prefix("tacet-static-").tempdir().map_err(|error| error.to_string())
}
