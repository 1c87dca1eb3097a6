// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The processes that the tests start, and how they start them.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use tacet_iod::control::{Start, Submit};
use tacet_iod::daemon::{Config, Daemon, Handle};
use tacet_iod::submit::{Launcher, Submission};
use tacet_wire::key::Key;
use tempfile::TempDir;

/// Of all sets of nodes in the tests.
pub fn set_key() -> Key {
    Key::new(&[42; 32])
}

/// `run CONTROL NODES PROCESSES`: what `tacet static run` does.
pub fn run(control: &str, nodes: &str, processes: &str) -> ExitCode {
    run_with(&launcher(), control, nodes, processes)
}

/// `run-silent CONTROL NODES PROCESSES`: with proxies that begin, end their stream, and live on.
pub fn run_silent(control: &str, nodes: &str, processes: &str) -> ExitCode {
    let script = "read orders <&4; echo >&4; exec 3>&- 4>&-; exec sleep 1000";
    let launcher = Launcher { program: "sh".into(), arguments: vec!["-c".into(), script.into()] };
    run_with(&launcher, control, nodes, processes)
}

fn run_with(launcher: &Launcher, control: &str, nodes: &str, processes: &str) -> ExitCode {
    die_with_the_test();
    let number = |text: &str| text.parse().expect("a number");
    let submit =
        Submit { name: "test".into(), nodes: number(nodes), processes: number(processes), ..Submit::default() };
    let start = Start {
        program: b"./a.out".to_vec(),
        arguments: vec![b"a.out".to_vec(), b"\xff b".to_vec()],
        environment: vec![b"A=1".to_vec()],
        seed: vec![9; 32],
        ..Start::default()
    };
    let submission = Submission { control: control.into(), submit, start, nodes_end_with_daemon: false };
    let outcome = tacet_iod::submit::run(&submission, launcher, &mut |line| eprintln!("tacet: {line}"));
    match outcome {
        Ok(outcome) => {
            eprintln!("dropped: {:?}", outcome.dropped);
            ExitCode::from(outcome.shell_status())
        }
        Err(error) => {
            eprintln!("tacet: {error}");
            ExitCode::from(2)
        }
    }
}

/// `daemon CONTROL ADDRESS`, `daemon-for-all CONTROL ADDRESS`: what `tacet iod` does.
pub fn daemon(control: &str, address: &str, all_users: bool) -> ExitCode {
    die_with_the_test();
    let numbers = Some(PathBuf::from(format!("{control}.jobs")));
    let config = Config {
        asks: address.parse().expect("an address"),
        control: control.into(),
        key: set_key(),
        numbers,
        machines_here: false,
        nodes: None,
        all_users,
    };
    let ran = Daemon::bind(&config).and_then(|daemon| daemon.run(&Arc::new(AtomicBool::new(false))));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tacet: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `ask CONTROL REQUEST`: one line, and the reply's as the daemon writes it.
pub fn ask(control: &str, request: &str) -> ExitCode {
    let request = serde_json::from_str(request).expect("a request");
    match tacet_iod::control::ask(Path::new(control), &request) {
        Ok(reply) => println!("{}", serde_json::to_string(&reply).expect("a reply")),
        Err(error) => println!("{error}"),
    }
    ExitCode::SUCCESS
}

/// A test that is ended from outside leaves no processes.
fn die_with_the_test() {
    set_pdeathsig(Signal::SIGKILL).expect("a kernel that does it");
}

fn launcher() -> Launcher {
    Launcher { program: myself(), arguments: vec!["iod-proxy".into()] }
}

fn myself() -> PathBuf {
    std::env::current_exe().expect("the test's own path")
}

/// A daemon in a thread of the test, with a directory for its socket and the test's files.
pub struct Set {
    pub directory: TempDir,
    pub daemon: Handle,
}

impl Set {
    pub fn new() -> Self {
        Self::with(None, false)
    }

    /// A set of so many nodes, which the daemon knows.
    pub fn of(nodes: u32) -> Self {
        Self::with(Some(nodes), false)
    }

    /// A daemon of root's for all users.
    pub fn for_all_users() -> Self {
        let set = Self::with(None, true);
        std::fs::set_permissions(set.directory.path(), PermissionsExt::from_mode(0o755)).expect("a mode");
        set
    }

    fn with(nodes: Option<u32>, all_users: bool) -> Self {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let (asks, control) = ("127.0.0.1:0".parse().unwrap(), directory.path().join("c"));
        let config = Config { asks, control, key: set_key(), numbers: None, machines_here: false, nodes, all_users };
        let daemon = Daemon::bind(&config).and_then(Daemon::start).expect("a daemon");
        Set { directory, daemon }
    }

    pub fn control(&self) -> PathBuf {
        self.directory.path().join("c")
    }

    pub fn asks(&self) -> SocketAddr {
        self.daemon.address()
    }

    pub fn run(&self, nodes: u32, processes: u32) -> Run {
        Run::start(&self.control(), self.directory.path(), nodes, processes)
    }
}

/// A `run` that runs.
pub struct Run {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    pub stdout: ChildStdout,
    stderr: ChildStderr,
}

impl Run {
    pub fn start(control: &Path, directory: &Path, nodes: u32, processes: u32) -> Self {
        Self::with(Command::new(myself()), control, directory, nodes, processes)
    }

    /// `command` executes its arguments: this program, or one that changes something and then executes it.
    pub fn with(mut command: Command, control: &Path, directory: &Path, nodes: u32, processes: u32) -> Self {
        command.arg("run");
        Self::with_words(command, control, directory, nodes, processes)
    }

    /// The command's last word is which `run`.
    pub fn with_words(mut command: Command, control: &Path, directory: &Path, nodes: u32, processes: u32) -> Self {
        let words = [nodes.to_string(), processes.to_string()];
        command.arg(control).args(words).current_dir(directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("run starts");
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Run { child, stdin, stdout, stderr }
    }

    /// Waits for its end: the status, and what it printed.
    pub fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).expect("text");
        self.stderr.read_to_string(&mut stderr).expect("text");
        let status = self.child.wait().expect("its status");
        Ended { status, stdout, stderr }
    }
}

#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// An address for daemons that come one after the other: below the ports that Linux gives to anybody.
pub fn lasting_address() -> SocketAddr {
    static LAST: AtomicU16 = AtomicU16::new(0);
    let port = 10_000 + std::process::id() as u16 % 2_000 * 10 + LAST.fetch_add(1, Ordering::Relaxed);
    (Ipv4Addr::LOCALHOST, port).into()
}

/// A daemon as a process, which can be killed.
pub fn start_daemon(control: &Path, address: SocketAddr) -> Child {
    let mut command = Command::new(myself());
    command.arg("daemon").arg(control).arg(address.to_string()).stdin(Stdio::null());
    let child = command.spawn().expect("a daemon starts");
    while std::os::unix::net::UnixStream::connect(control).is_err() {
        std::thread::yield_now();
    }
    child
}

pub fn this_program() -> PathBuf {
    myself()
}
