// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet up --dry-run` on a fake machine: a directory with the files of `/sys` and `/proc`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Fake(tempfile::TempDir);

impl Fake {
    /// Two cores of two threads, a module and an image.
    fn new() -> Fake {
        let fake = Fake(tempfile::tempdir().unwrap());
        for name in ["online", "present", "possible"] {
            fake.write(&format!("sys/devices/system/cpu/{name}"), b"0-3\n");
        }
        for (cpu, siblings) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}");
            fake.write(&format!("{dir}/topology/thread_siblings_list"), siblings.as_bytes());
            fake.write(&format!("{dir}/online"), b"1\n");
        }
        fake.write("proc/sys/kernel/osrelease", b"6.12.1\n");
        fake.write("lib/modules/6.12.1/modules.dep", b"updates/dkms/tacet.ko:\n");
        let (magic, revision) =
            (tacet_abi::TACET_IMAGE_MAGIC.to_le_bytes(), tacet_abi::TACET_ABI_REVISION.to_le_bytes());
        fake.write("kernel.bin", &[magic.as_slice(), &revision, &[0; 44]].concat());
        fake
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn up(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tacet"));
        command.args(["--config", "/dev/null", "up", "--dry-run", "--machine-root"]).arg(self.0.path());
        command.arg("--image").arg(self.path("kernel.bin")).args(arguments).output().unwrap()
    }
}

#[test]
fn says_what_would_be_done() {
    let fake = Fake::new();
    let output = fake.up(&["--cpus", "1,3", "--memory", "1G"]);
    let expected = format!(
        "would take CPUs 1,3; Linux keeps CPUs 0,2\n\
         would take 1 GiB of node 0\n\
         would keep Linux from moving locked pages (vm.compact_unevictable_allowed) until `tacet down`\n\
         would load the module by modprobe\n\
         would start {}\n",
        fake.path("kernel.bin").display()
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn json_has_the_same_facts() {
    let output = Fake::new().up(&["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["cpus"], serde_json::json!([1, 3]));
    assert_eq!(json["cpus_proposed"], true);
    assert_eq!(json["memory"], serde_json::json!([{ "node": 0, "bytes": 64 << 20 }]));
    assert_eq!(json["memory_bytes"], 64 << 20);
    assert_eq!(json["module"], "modprobe");
    assert_eq!(json["dry_run"], true);
    assert_eq!(json["up_ns"], serde_json::Value::Null);
}

#[test]
fn a_torn_core_is_a_warning() {
    let output = Fake::new().up(&["--cpus", "1"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0));
    assert!(error.starts_with("tacet: CPU 1 shares its core with CPU 3"), "{error}");
}

#[test]
fn what_is_missing_is_said_after_the_plan() {
    let fake = Fake::new();
    fake.write("kernel.bin", b"something else");
    let output = fake.up(&[]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("would take CPUs 1,3"));
    assert!(error.contains("kernel.bin: it is not a co-kernel image; "), "{error}");
}

#[test]
fn more_memory_than_the_machine_has_does_not_fit() {
    let fake = Fake::new();
    fake.write("proc/meminfo", b"MemTotal:        2097152 kB\nMemFree: 1 kB\n");
    let output = fake.up(&["--memory", "1T"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(error, "tacet: memory of 1 TiB: it does not fit: NUMA node 0 has 2 GiB; ask for less with --memory\n");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
    assert_eq!(fake.up(&["--memory", "2G"]).status.code(), Some(0));
}

#[test]
fn the_configuration_file_has_the_flags_names() {
    let fake = Fake::new();
    let config = fake.path("tacet.toml");
    std::fs::write(&config, "json = true\n[up]\ncpus = \"3\"\nmemory = \"128M\"\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tacet"));
    command
        .arg("--config")
        .arg(config)
        .args(["up", "--dry-run", "--memory", "4M", "--machine-root"])
        .arg(fake.0.path());
    let output = command.arg("--image").arg(fake.path("kernel.bin")).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["cpus"], &json["memory_bytes"]), (&serde_json::json!([3]), &serde_json::json!(4 << 20)));
}
