// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The four programs in one directory, what they say about themselves, and what is true of each of their errors.
//!
//! Used by all trials. Nothing here may depend on the machine.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tacet_words::describe::Described;

/// What only a programmer says.
const FOREIGN: [&str; 8] =
    ["os error", "Os {", "ParseInt", "invalid digit", "panicked", "called `", "Error(", "invalid float"];

pub struct Bench {
    directory: tempfile::TempDir,
    pub family: Described,
}

/// What a command printed.
pub struct Said {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Bench {
    pub fn new() -> Bench {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let everybody = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), everybody).expect("its mode");
        let own = std::env::current_exe().expect("this test");
        let put = |from: &Path, name: &str| std::fs::hard_link(from, directory.path().join(name)).expect("a link");
        put(Path::new(env!("CARGO_BIN_EXE_tacet")), "tacet");
        for name in ["tacet-noise", "tacet-sched", "tacet-tune"] {
            put(&own, name);
        }
        let mut bench = Bench { directory, family: Described { commands: vec![], ..nothing() } };
        let said = bench.run(&["describe"]);
        bench.family = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.err));
        bench
    }

    /// The man pages of all four programs.
    pub fn pages(&self) -> &Path {
        static MADE: OnceLock<PathBuf> = OnceLock::new();
        MADE.get_or_init(|| {
            let pages = self.directory.path().join("man");
            for words in [&["man"][..], &["noise", "man"], &["tune", "man"], &["sched", "man"]] {
                let said = self.run(&[words, &["man"]].concat());
                assert_eq!((said.status, said.err.as_str()), (0, ""), "{words:?}");
            }
            pages
        })
    }

    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(self.directory.path());
    }

    /// Runs `tacet WORDS` without configuration, without a terminal, in a directory of its own.
    pub fn run(&self, words: &[&str]) -> Said {
        let mut command = Command::new(self.directory.path().join("tacet"));
        command.args(words).stdin(Stdio::null()).current_dir(self.directory.path());
        command.env("HOME", self.directory.path()).env_remove("XDG_CONFIG_HOME");
        command.env("XDG_RUNTIME_DIR", self.directory.path());
        Said::of(command.output().expect("it starts"))
    }

    /// Sends the signal as soon as the program catches it.
    pub fn run_until(&self, words: &[&str], signal: &str) -> Said {
        // whoever runs the tests may ignore one of them, as nohup(1) does, and the command would too
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,TERM").arg(self.directory.path().join("tacet"));
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.current_dir(self.directory.path()).env("HOME", self.directory.path()).env_remove("XDG_CONFIG_HOME");
        let child = command.spawn().expect("it starts");
        let status = format!("/proc/{}/status", child.id());
        // SIGHUP, SIGINT and SIGTERM; a process that ended has no mask
        let catches = |line: &str| u64::from_str_radix(line.trim(), 16).is_ok_and(|mask| mask & 0x4003 == 0x4003);
        while std::fs::read_to_string(&status).is_ok_and(|text| {
            text.lines().find_map(|line| line.strip_prefix("SigCgt:")).is_some_and(|line| !catches(line))
        }) && !read(Path::new(&status)).contains("State:\tZ")
        {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let pid = child.id().to_string();
        Command::new("kill").args([&format!("-{signal}"), &pid]).status().expect("kill");
        Said::of(child.wait_with_output().expect("it ends"))
    }

    /// A CPU on which this process may run.
    pub fn cpu(&self) -> String {
        let text = read(Path::new("/proc/self/status"));
        let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0");
        list.trim().chars().take_while(char::is_ascii_digit).collect()
    }

    /// The same as a user without rights, if this test runs as root and that user may reach the programs.
    pub fn run_without_root(&self, words: &[&str]) -> Said {
        const NOBODY: u32 = 65534;
        let mut command = Command::new(self.directory.path().join("tacet"));
        command.args(words).stdin(Stdio::null()).current_dir("/").uid(NOBODY).gid(NOBODY);
        command.env("HOME", "/").env_remove("XDG_CONFIG_HOME");
        command.output().map_or_else(|_| self.run(words), Said::of)
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Each command of the family that a person can give.
    pub fn commands(&self) -> Vec<(Vec<String>, &Described)> {
        self.family.leaves(&[])
    }

    /// Asserts that `said` is an error of one plain line with this status, and returns the line.
    pub fn complained(&self, words: &[&str], said: &Said, status: u8) -> String {
        assert_eq!(said.status, i32::from(status), "{words:?}: {}", said.err);
        let (program, line) = said.err.split_once(": ").unwrap_or_else(|| panic!("{words:?}: `{}`", said.err));
        assert!(["tacet", "tacet noise", "tacet sched", "tacet tune"].contains(&program), "{words:?}: {}", said.err);
        assert!(said.err.lines().count() == 1 && said.err.ends_with('\n'), "{words:?}: {}", said.err);
        for foreign in FOREIGN {
            assert!(!said.err.contains(foreign), "{words:?}: {}", said.err);
        }
        line.trim_end().to_owned()
    }

    /// Asserts that standard output has one object of this schema (docs/json/), and returns it.
    pub fn described(&self, said: &Said, schema: &str) -> Value {
        let object: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.out));
        let text = serde_json::from_str(&read(&document(&format!("json/{schema}")))).expect("a schema");
        let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
        compiler.add_resource(schema, text).expect("a schema");
        let index = compiler.compile(schema, &mut schemas).expect("a schema");
        schemas.validate(&object, index).unwrap_or_else(|error| panic!("{error:#}: {}", said.out));
        object
    }

    /// Asserts that standard output has the error as its documented object; `line` is the one on standard error.
    pub fn told_programs(&self, said: &Said, command: &str, line: &str) {
        let object = self.described(said, "error.json");
        let error = &object["error"];
        assert_eq!(error["message"], line);
        assert_eq!((&error["status"], &error["command"]), (&said.status.into(), &command.into()));
    }
}

impl Said {
    fn of(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said { status: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A file of docs/.
pub fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn nothing() -> Described {
    Described::of(&clap::Command::new("tacet"))
}
