// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The checks, on fake machines: directories with the files of `/sys` and `/proc`.

use std::path::Path;

use super::{Check, Verdict, can_run, examine};
use crate::Machine;

struct Fake(tempfile::TempDir);

impl Fake {
    /// A machine that can run: four CPUs, Linux 6.12, headers present.
    fn good() -> Fake {
        let fake = Fake(tempfile::tempdir().unwrap());
        for name in ["online", "present", "possible"] {
            fake.write(&format!("sys/devices/system/cpu/{name}"), "0-3\n");
        }
        for cpu in 0..4 {
            fake.write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), &format!("{cpu}\n"));
            if cpu > 0 {
                fake.write(&format!("sys/devices/system/cpu/cpu{cpu}/online"), "1\n");
            }
        }
        fake.write("proc/sys/kernel/osrelease", "6.12.107-amd64\n");
        fake.write("proc/cpuinfo", "processor : 0\nflags\t\t: fpu apic x2apic\n");
        fake.write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\nHugetlb: 0 kB\n");
        fake.write("proc/buddyinfo", "Node 0, zone   Normal 1 1 1 1 1 1 1 1 1 20 300\n");
        fake.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
        fake.write("lib/modules/6.12.107-amd64/modules.dep", "updates/dkms/tacet.ko.xz:\nkernel/fs/ext4/ext4.ko:\n");
        let options = ["SMP", "MODULES", "HOTPLUG_CPU", "MMU_NOTIFIER", "CONTIG_ALLOC", "TRACEPOINTS"];
        let options = options.into_iter().chain(["KPROBES", "DYNAMIC_FTRACE_WITH_REGS"]);
        let config: String = options.map(|option| format!("CONFIG_{option}=y\n")).collect();
        fake.write("boot/config-6.12.107-amd64", &config);
        fake
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn link(&self, to: &str, path: &str) {
        std::os::unix::fs::symlink(to, self.0.path().join(path)).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.0.path().join(path)).unwrap();
    }

    fn examine(&self) -> Vec<Check> {
        examine(&Machine::at(self.0.path()))
    }

    fn verdict(&self, name: &str) -> Verdict {
        self.examine().iter().find(|check| check.name == name).unwrap().verdict
    }
}

#[test]
fn a_good_machine_can_run() {
    let checks = Fake::good().examine();
    let problems: Vec<_> = checks.iter().filter(|check| check.verdict == Verdict::Problem).collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(can_run(&checks));
}

#[test]
fn every_bad_check_says_what_to_change() {
    let fake = Fake::good();
    fake.write("proc/cpuinfo", "flags : fpu hypervisor tdx_guest fred\n");
    fake.write("proc/sys/kernel/osrelease", "5.10.0\n");
    fake.write("proc/sys/kernel/modules_disabled", "1\n");
    fake.write("sys/devices/system/cpu/online", "0\n");
    let checks = fake.examine();
    assert!(!can_run(&checks));
    for check in checks.iter().filter(|check| check.verdict != Verdict::Ok) {
        assert!(!check.remedy.is_empty(), "{check:?}");
        assert!(!check.finding.contains('\n'), "{check:?}");
    }
    let problems = checks.iter().filter(|check| check.verdict == Verdict::Problem).count();
    assert!(problems >= 5, "{checks:?}");
}

#[test]
fn a_missing_option_is_named() {
    let fake = Fake::good();
    fake.write("boot/config-6.12.107-amd64", "CONFIG_SMP=y\n# CONFIG_HOTPLUG_CPU is not set\n");
    let checks = fake.examine();
    let check = checks.iter().find(|check| check.name == "kernel-config").unwrap();
    assert!(check.finding.contains("CONFIG_HOTPLUG_CPU for taking CPUs"), "{check:?}");
    fake.remove("boot/config-6.12.107-amd64");
    assert_eq!(fake.verdict("kernel-config"), Verdict::Warning);
}

#[test]
fn lockdown_and_secure_boot_are_doubts_not_problems() {
    let fake = Fake::good();
    fake.write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    assert_eq!(fake.verdict("module-signing"), Verdict::Warning);
    fake.write("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    assert_eq!(fake.verdict("module-signing"), Verdict::Ok);
    fake.write("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "\u{6}\0\0\0\u{1}");
    assert_eq!(fake.verdict("module-signing"), Verdict::Warning);
}

#[test]
fn exclusive_cpusets_are_named() {
    let fake = Fake::good();
    fake.write("sys/fs/cgroup/slurm/job1/cpuset.cpus.partition", "isolated\n");
    fake.write("sys/fs/cgroup/slurm/job1/cpuset.cpus.effective", "2-3\n");
    let checks = fake.examine();
    let check = checks.iter().find(|check| check.name == "cpusets").unwrap();
    assert!(check.finding.contains("slurm/job1 (CPUs 2-3)"), "{check:?}");
}

#[test]
fn small_memory_is_a_problem_only_when_nothing_helps() {
    let fake = Fake::good();
    fake.write("proc/buddyinfo", "Node 0, zone   Normal 900 1 1 1 1 1 1 1 1 0 0\n");
    assert_eq!(fake.verdict("memory"), Verdict::Warning);
    // A partition takes nothing of it.
    let movable = "Node 0, zone  Movable 1 1 1 1 1 1 1 1 1 20 300\n";
    fake.write("proc/buddyinfo", &format!("Node 0, zone   Normal 900 1 1 1 1 1 1 1 1 0 0\n{movable}"));
    assert_eq!(fake.verdict("memory"), Verdict::Warning);
    fake.write("proc/meminfo", "MemTotal: 80000 kB\nMemAvailable: 4000 kB\n");
    assert_eq!(fake.verdict("memory"), Verdict::Problem);
}

/// Linux 6.12 to 6.16 count their deadline server as a task.
#[test]
fn other_tasks_pay_if_the_function_tracer_is_missing_or_off() {
    let fake = Fake::good();
    assert_eq!(fake.verdict("other-tasks"), Verdict::Ok);
    fake.write("proc/sys/kernel/ftrace_enabled", "0\n");
    assert_eq!(fake.verdict("other-tasks"), Verdict::Warning);
    fake.write("proc/sys/kernel/ftrace_enabled", "1\n");
    assert_eq!(fake.verdict("other-tasks"), Verdict::Ok);
    fake.write("boot/config-6.12.107-amd64", "CONFIG_SMP=y\nCONFIG_KPROBES=y\n");
    assert_eq!(fake.verdict("other-tasks"), Verdict::Warning);
}

#[test]
fn a_deadline_server_that_counts_as_a_task_is_a_warning() {
    let fake = Fake::good();
    assert_eq!(fake.verdict("deadline-server"), Verdict::Warning);
    for cpu in 0..4 {
        assert_eq!(fake.verdict("deadline-server"), Verdict::Warning);
        fake.write(&format!("sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"), "0\n");
    }
    assert_eq!(fake.verdict("deadline-server"), Verdict::Ok);
    fake.remove("sys/kernel/debug/sched/fair_server/cpu2/runtime");
    for (release, verdict) in [("6.11.2", Verdict::Ok), ("6.16.9", Verdict::Warning), ("6.17.0", Verdict::Ok)] {
        fake.write("proc/sys/kernel/osrelease", release);
        assert_eq!(fake.verdict("deadline-server"), verdict, "{release}");
    }
}

#[test]
fn what_a_real_machine_has_and_an_emulated_one_has_not() {
    let fake = Fake::good();
    fake.write("proc/cpuinfo", "flags : fpu apic x2apic sme constant_tsc nonstop_tsc\n");
    for name in ["memory-encryption", "time-stamp-counter", "clock", "microcode", "preemption"] {
        assert_eq!(fake.verdict(name), Verdict::Ok, "{name}");
    }
    fake.write("proc/cmdline", "quiet mem_encrypt=on\n");
    assert_eq!(fake.verdict("memory-encryption"), Verdict::Problem);
    fake.write("proc/cmdline", "mem_encrypt=on mem_encrypt=off\n");
    assert_eq!(fake.verdict("memory-encryption"), Verdict::Ok);
    fake.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm\n");
    assert_eq!(fake.verdict("time-stamp-counter"), Verdict::Warning);
    fake.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n");
    assert_eq!(fake.verdict("time-stamp-counter"), Verdict::Ok);
    fake.write("proc/cpuinfo", "flags : fpu apic x2apic constant_tsc\n");
    assert_eq!(fake.verdict("time-stamp-counter"), Verdict::Warning);
    fake.write("sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq", "2000000\n");
    fake.write("sys/devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq", "3000000\n");
    assert_eq!(fake.verdict("clock"), Verdict::Warning);
    fake.write("sys/devices/system/cpu/microcode/reload", "");
    assert_eq!(fake.verdict("microcode"), Verdict::Warning);
    fake.write("sys/kernel/realtime", "1\n");
    assert_eq!(fake.verdict("preemption"), Verdict::Problem);
}

#[test]
fn fast_paths_of_nvme_controllers() {
    let said = |fake: &Fake| fake.examine().into_iter().find(|check| check.name == "fast-paths").unwrap();
    let fake = Fake::good();
    assert!(said(&fake).finding.starts_with("none: this machine has no NVMe controller"), "{:?}", said(&fake));

    let device = "sys/bus/pci/devices/0000:00:04.0";
    fake.write(&format!("{device}/class"), "0x010802\n");
    let check = said(&fake);
    assert_eq!((check.verdict, check.remedy.as_str()), (Verdict::Warning, "`modprobe nvme`"), "{check:?}");
    fake.link("../../../../bus/pci/drivers/nvme", &format!("{device}/driver"));
    assert!(said(&fake).finding.contains("does not describe its types"), "{:?}", said(&fake));
    fake.write("sys/kernel/btf/vmlinux", "");
    let check = said(&fake);
    assert_eq!(check.verdict, Verdict::Ok);
    assert!(check.finding.ends_with("if it has some to spare; it has no virtual functions (SR-IOV)"), "{check:?}");

    fake.write(&format!("{device}/sriov_totalvfs"), "7\n");
    assert!(said(&fake).finding.ends_with("or one of 7 virtual functions"), "{:?}", said(&fake));
    fake.write("sys/module/nvme/initstate", "live\n");
    let check = said(&fake);
    assert!(check.finding.starts_with("0000:00:04.0: one of 7 virtual functions; none in Linux's: "), "{check:?}");
}
