// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the library's promises on real nodes. A bare `cargo test` ignores them, because each boot takes seconds;
//! `cargo xtask test` runs them, once for each kernel line (`TACET_TEST_KERNEL`).

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tacet_node::{Cache, Command, Emulator, KernelLine, Node, NodeSpec, Share, ShareKind, Status, Topology};

fn spec() -> NodeSpec {
    let line = std::env::var("TACET_TEST_KERNEL").unwrap_or_else(|_| "6.12".to_owned());
    NodeSpec::new(line.parse::<KernelLine>().expect("a kernel line"))
}

fn cache() -> Cache {
    Cache::open().expect("cache")
}

/// The node shared by all tests that change nothing in it.
fn node() -> &'static Node {
    static NODE: OnceLock<Node> = OnceLock::new();
    NODE.get_or_init(|| Node::boot(&cache(), &spec()).expect("boots"))
}

fn text(script: &str) -> String {
    let output = node().run(&Command::shell(script)).expect("runs");
    assert_eq!(output.status, Status::Code(0), "{script}: {}", output.error_text());
    output.text().trim().to_owned()
}

#[test]
#[ignore = "boots a node"]
fn it_runs_the_kernel_that_it_names_with_the_cpus_asked_for() {
    assert_eq!(text("uname -r"), node().release());
    assert_eq!(text("nproc"), "4");
    assert_eq!(text("id -u"), "0");
}

#[test]
#[ignore = "boots a node"]
fn output_error_output_and_status_arrive_apart() {
    let output = node().run(&Command::shell("echo out; echo err >&2; exit 7")).expect("runs");
    assert_eq!((output.text().as_str(), output.error_text().as_str()), ("out\n", "err\n"));
    assert_eq!(output.status, Status::Code(7));
    let output = node().run(&Command::shell("kill -SEGV $$")).expect("runs");
    assert_eq!(output.status, Status::Signal(11));
}

#[test]
#[ignore = "boots a node"]
fn kernel_messages_stay_on_the_console() {
    assert_eq!(text("echo '<0>shout of a test' >/dev/kmsg; echo quiet"), "quiet");
    let until = Instant::now() + Duration::from_secs(10);
    while !node().console().contains("shout of a test") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(node().console().contains("shout of a test"), "{}", node().console());
}

#[test]
#[ignore = "boots a node"]
fn input_of_any_size_comes_through_whole() {
    let sent: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    let output = node().run(&Command::new(["cat"]).input(sent.clone())).expect("runs");
    assert!(output.stdout == sent, "{} of {} bytes", output.stdout.len(), sent.len());
}

#[test]
#[ignore = "boots a node"]
fn arguments_directory_and_environment_are_kept() {
    let command = Command::new(["sh", "-c", "pwd; echo \"$X:$1:$2\"", "sh", "a b", ""]).directory("/usr").env("X", "é");
    assert_eq!(node().run(&command).expect("runs").text(), "/usr\né:a b:\n");
    let missing = node().run(&Command::new(["no-such-program"])).expect("runs");
    assert_eq!(missing.status, Status::Code(127));
}

#[test]
#[ignore = "boots a node"]
fn a_command_over_its_time_is_killed_and_the_node_lives() {
    let error =
        node().run(&Command::shell("sleep 100 & sleep 100").timeout(Duration::from_secs(2))).expect_err("killed");
    assert!(error.to_string().contains("killed after 2s"), "{error}");
    assert_eq!(text("pgrep -c sleep || true"), "0");
}

#[test]
#[ignore = "boots a node"]
fn commands_run_side_by_side() {
    let (first, second) = ("/tmp/first", "/tmp/second");
    let waits = |mine: &str, other: &str| {
        let script = format!("touch {mine}; while [ ! -e {other} ]; do sleep 0.1; done; echo met");
        node().start(&Command::shell(&script).timeout(Duration::from_secs(60))).expect("starts")
    };
    let jobs = [waits(first, second), waits(second, first)];
    for job in jobs {
        assert_eq!(job.wait().expect("ends").text(), "met\n");
    }
}

#[test]
#[ignore = "boots a node"]
fn a_process_left_behind_keeps_nobody_waiting() {
    let start = Instant::now();
    assert_eq!(text("sleep 50 & echo done"), "done");
    assert!(start.elapsed() < Duration::from_secs(40));
    text("pkill sleep");
}

#[test]
#[ignore = "boots a node"]
fn shares_are_live_or_copied_at_the_same_path() {
    let scratch = tempfile::tempdir().expect("scratch");
    let (live, copy) = (scratch.path().join("live dir"), scratch.path().join("copy"));
    for directory in [&live, &copy] {
        fs::create_dir(directory).expect("directory");
        fs::write(directory.join("seen"), "from the host").expect("file");
    }
    let mut spec = spec().share(&live);
    spec.shares.push(Share { path: copy.clone(), kind: ShareKind::Copy });
    let node = Node::boot(&cache(), &spec).expect("boots");
    for directory in [&live, &copy] {
        let output =
            node.run(&Command::shell("cat seen; echo 'from the node' >made").directory(directory)).expect("runs");
        assert_eq!(output.text(), "from the host", "{}", output.error_text());
    }
    assert_eq!(fs::read_to_string(live.join("made")).expect("written"), "from the node\n");
    assert!(!copy.join("made").exists());
    node.power_off().expect("powers off");
}

#[test]
#[ignore = "boots a node"]
fn topology_is_what_was_described() {
    let mut spec = spec();
    spec.topology = Topology { sockets: 2, dies: 1, cores: 1, threads: 2, numa_nodes: 2 };
    let node = Node::boot(&cache(), &spec).expect("boots");
    let script = "lscpu -p=CPU,CORE,SOCKET,NODE | grep -v '#'";
    let output = node.run(&Command::shell(script)).expect("runs");
    assert_eq!(output.text(), "0,0,0,0\n1,0,0,0\n2,1,1,1\n3,1,1,1\n");
}

#[test]
#[ignore = "boots a node"]
fn a_panic_is_the_node_s_end_and_says_so() {
    let node = Node::boot(&cache(), &spec()).expect("boots");
    let error = node.run(&Command::shell("echo c >/proc/sysrq-trigger; sleep 60")).expect_err("dies");
    assert!(error.to_string().contains("the node died"), "{error}");
    node.wait_for_end(Duration::from_secs(20)).expect("ends");
    assert!(node.console().contains("Kernel panic"), "{}", node.console());
    assert!(node.run(&Command::shell("true")).is_err());
}

#[test]
#[ignore = "boots a node"]
fn a_node_whose_machine_stops_is_lost_at_once() {
    let node = Node::boot(&cache(), &spec()).expect("boots");
    let job = node.start(&Command::shell("sleep 1000").timeout(Duration::from_secs(600))).expect("starts");
    node.monitor("stop").ok();
    assert!(node.wait_for_end(Duration::from_secs(60)).is_ok());
    let error = job.wait().expect_err("the node is gone").to_string();
    assert!(!error.contains('\n'), "{error}");
}

#[test]
#[ignore = "boots a node"]
fn a_node_for_one_command_ends_with_it() {
    let command = Command::shell("pwd; echo err >&2; exit 3").directory("/usr");
    let once = Node::run_once(&cache(), &spec(), &command).expect("runs");
    assert_eq!(once.output.status, Status::Code(3));
    assert_eq!((once.output.text().as_str(), once.output.error_text().as_str()), ("/usr\n", "err\n"));
}

#[test]
#[ignore = "boots a node"]
fn what_cannot_boot_is_one_line() {
    let spec = spec().argument("init=/none rdinit=/none root=/dev/none");
    let error = Node::boot(&cache(), &spec).err().expect("does not boot").to_string();
    assert!(error.contains("Kernel panic") && error.contains("console.log") && !error.contains('\n'), "{error}");
}

#[test]
#[ignore = "boots two slow nodes"]
fn two_reproducible_nodes_are_the_same_to_the_last_instruction() {
    let mut spec = spec();
    (spec.reproducible, spec.emulator) = (Some(1), Emulator::Counting);
    spec.boot_timeout = Duration::from_secs(400);
    let scratch = tempfile::tempdir().expect("scratch");
    fs::write(scratch.path().join("word"), "from the host").expect("file");
    spec.shares.push(Share { path: scratch.path().to_owned(), kind: ShareKind::Copy });
    let script = "cat word; date; cat /proc/interrupts /proc/stat; head -c 16 /dev/urandom | od -x";
    let command = Command::shell(script).directory(scratch.path());
    let [first, second] = [(); 2].map(|()| Node::run_once(&cache(), &spec, &command).expect("runs"));
    assert!(first.output.text().starts_with("from the host"), "{}", first.output.error_text());
    assert_eq!(first.output.text(), second.output.text());
    assert_eq!(first.console, second.console);
}
