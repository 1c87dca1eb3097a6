// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The decision on hosts that are made up: a script stands for `tacet`, a function for the device.

use super::*;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

const WORKS: &str = "printf 'tacet trial: alive\\n'";

/// A host whose trial is this script; `count` gets a line for each trial.
struct Fake {
    scratch: TempDir,
    host: Host,
}

fn fake(script: &str) -> Fake {
    let scratch = tempfile::tempdir().expect("scratch");
    let trial = scratch.path().join("tacet");
    let counted = format!("#!/bin/sh\necho >>{}\n{script}\n", scratch.path().join("count").display());
    fs::write(&trial, counted).expect("script");
    fs::set_permissions(&trial, fs::Permissions::from_mode(0o755)).expect("mode");
    let host = Host {
        device: "/dev/kvm".into(),
        open: |_| Ok(()),
        trial: Some(trial),
        limit: Duration::from_secs(60),
        memory: Some(Cache::at(&scratch.path().join("cache")).expect("cache")),
        boot: "boot".into(),
        build: 1,
    };
    Fake { scratch, host }
}

impl Fake {
    fn trials(&self) -> usize {
        fs::read_to_string(self.scratch.path().join("count")).map_or(0, |text| text.lines().count())
    }
}

#[test]
fn a_job_that_ran_is_believed_once_for_a_boot_and_a_build() {
    let mut fake = fake(WORKS);
    assert_eq!(fake.host.decide(), Choice::kvm("a job ran under it"));
    assert_eq!(fake.host.decide(), Choice::kvm("a job ran under it"));
    assert_eq!(fake.trials(), 1);
    fake.host.build = 2;
    assert!(fake.host.decide().kvm);
    fake.host.boot = "another".into();
    assert!(fake.host.decide().kvm);
    assert_eq!(fake.trials(), 3);
}

#[test]
fn a_missing_device_needs_no_trial_and_is_not_remembered() {
    let mut fake = fake(WORKS);
    fake.host.open = |_| Err(io::ErrorKind::NotFound.into());
    assert_eq!(fake.host.decide(), Choice::tcg("/dev/kvm: not there"));
    fake.host.open = |_| Err(io::ErrorKind::PermissionDenied.into());
    assert_eq!(fake.host.decide(), Choice::tcg("/dev/kvm: not permitted to this user"));
    assert_eq!(fake.trials(), 0);
    fake.host.open = |_| Ok(());
    assert!(fake.host.decide().kvm);
}

#[test]
fn an_emulator_that_gets_no_machine_is_doubt() {
    let fake =
        fake("echo 'tacet: node 0: it ended: ioctl(KVM_CREATE_VM) failed: 16 Device or resource busy' >&2; exit 125");
    let choice = fake.host.decide();
    assert!(!choice.kvm && choice.why.contains("ioctl(KVM_CREATE_VM) failed: 16"), "{choice:?}");
    assert_eq!(fake.host.decide(), choice);
    assert_eq!(fake.trials(), 1);
}

#[test]
fn a_node_that_dies_at_its_program_is_doubt() {
    let fake = fake("echo 'tacet: job 1 ends: node 0 is lost: KVM internal error. Suberror: 1' >&2; exit 125");
    let choice = fake.host.decide();
    assert!(!choice.kvm && choice.why.ends_with("KVM internal error. Suberror: 1"), "{choice:?}");
}

#[test]
fn less_than_all_words_is_doubt() {
    for script in ["true", "printf 'tacet trial: alive'", "echo noise; printf 'tacet trial: alive\\n'"] {
        assert!(!fake(script).host.decide().kvm, "{script}");
    }
    assert!(!fake("printf 'tacet trial: alive\\n'; exit 1").host.decide().kvm);
}

#[test]
fn a_job_that_hangs_is_ended_and_is_doubt() {
    let mut fake = fake("echo $$ >>${0%/*}/pid; exec sleep 1000");
    fake.host.limit = Duration::from_secs(2);
    assert_eq!(fake.host.decide(), Choice::tcg("a job under KVM did not end within 2 s"));
    if let Ok(pid) = fs::read_to_string(fake.scratch.path().join("pid")) {
        assert!(!Path::new("/proc").join(pid.trim()).exists());
    }
}

#[test]
fn without_a_command_or_a_memory_there_is_still_an_answer() {
    let mut nobody = fake(WORKS);
    nobody.host.trial = None;
    assert!(!nobody.host.decide().kvm);
    let mut forgetful = fake(WORKS);
    forgetful.host.memory = None;
    assert!(!forgetful.host.decide().kvm);
    assert_eq!(forgetful.trials(), 0);
}

#[test]
fn what_fails_after_the_trial_is_not_believed_again() {
    let fake = fake(WORKS);
    assert!(fake.host.decide().kvm);
    fake.host.distrust("a node did not boot");
    assert_eq!(fake.host.decide(), Choice::tcg("a node did not boot"));
    assert_eq!(fake.trials(), 1);
}

#[test]
fn a_person_decides_first_then_the_variable() {
    let kvm = |wanted, variable| asked_for(wanted, variable).expect("known").map(|choice| choice.kvm);
    assert_eq!(kvm(Accelerator::Auto, None), None);
    assert_eq!(kvm(Accelerator::Auto, Some("kvm")), Some(true));
    assert_eq!(kvm(Accelerator::Auto, Some("tcg")), Some(false));
    assert_eq!(kvm(Accelerator::Tcg, Some("kvm")), Some(false));
    assert_eq!(kvm(Accelerator::Kvm, Some("tcg")), Some(true));
    let error = asked_for(Accelerator::Auto, Some("xen")).unwrap_err().to_string();
    assert_eq!(error, "TACET_NODE_ACCEL=xen: no such accelerator; use tcg or kvm");
}
