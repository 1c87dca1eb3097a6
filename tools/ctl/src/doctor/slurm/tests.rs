// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The checks of Slurm, on fake sites: one that is right, and each mistake alone.

use std::path::Path;

use super::{Answers, Site, examine};
use crate::Machine;
use crate::doctor::{Check, Verdict, can_run};

const SLURM: &str = "\
# a site
ClusterName=site
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup   # no affinity
PrologFlags=Contain,X11
Include nodes.conf
";
const NODES: &str = "NodeName=n[1-2] CPUs=4 RealMemory=7000 MemSpecLimit=1024 State=UNKNOWN\n";
const XML: &str =
    "<topology><object type=\"PU\"/><object type=\"PU\"/><object type=\"PU\"/><object type=\"PU\"/></topology>";

struct Fake(tempfile::TempDir, Answers);

impl Fake {
    fn right() -> Fake {
        let fake = Fake(tempfile::tempdir().unwrap(), Answers::default());
        fake.write("sys/devices/system/cpu/present", "0-3\n");
        fake.write("sys/fs/cgroup/cgroup.controllers", "cpuset\n");
        fake.write("etc/slurm/slurm.conf", SLURM);
        fake.write("etc/slurm/nodes.conf", NODES);
        fake.write("etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v2\nConstrainCores=yes\n");
        fake.write("etc/slurm/plugstack.conf", "include /etc/slurm/plugstack.conf.d/*\n");
        fake.write("etc/slurm/plugstack.conf.d/tacet.conf", "optional spank_tacet.so\n");
        fake.write("usr/lib64/slurm/spank_tacet.so", "");
        fake.write("var/lib/tacet/topology.xml", XML);
        fake.write("etc/default/slurmd", "HWLOC_XMLFILE=/var/lib/tacet/topology.xml\nHWLOC_THISSYSTEM=1\n");
        fake
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.0.path().join(path)).unwrap();
    }

    fn replace(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.0.path().join(path)).unwrap();
        assert!(text.contains(from), "{text}");
        self.write(path, &text.replace(from, to));
    }

    fn examine(&self) -> Vec<Check> {
        examine(&Site::find(&Machine::at(self.0.path()), None, &self.1))
    }

    /// The checks that are not content.
    fn complaints(&self) -> Vec<(&'static str, Verdict)> {
        let checks = self.examine();
        for check in &checks {
            assert_eq!(check.remedy.is_empty(), check.verdict == Verdict::Ok, "{check:?}");
            assert!(!check.finding.contains('\n') && !check.remedy.contains('\n'), "{check:?}");
        }
        let bad = checks.iter().filter(|check| check.verdict != Verdict::Ok);
        bad.map(|check| (check.name, check.verdict)).collect()
    }
}

#[test]
fn a_right_site_has_no_complaint() {
    assert_eq!(Fake::right().complaints(), []);
}

#[test]
fn each_mistake_alone_has_its_own_name() {
    const CONF: &str = "etc/slurm/slurm.conf";
    const CGROUP: &str = "etc/slurm/cgroup.conf";
    const SLURMD: &str = "etc/default/slurmd";
    const PLUGINS: &str = "etc/slurm/plugstack.conf.d/tacet.conf";
    use Verdict::{Problem, Warning};
    for (path, from, to, name, verdict) in [
        (CONF, "proctrack/cgroup", "proctrack/linuxproc", "slurm-cgroups", Problem),
        (CGROUP, "cgroup/v2", "cgroup/v1", "slurm-cgroups", Problem),
        (CGROUP, "ConstrainCores=yes", "ConstrainCores=no", "slurm-cores", Problem),
        (CGROUP, "ConstrainCores=yes", "#ConstrainCores=yes", "slurm-cores", Problem),
        (CONF, "TaskPlugin=task/cgroup", "TaskPlugin=task/affinity", "slurm-tasks", Problem),
        (CONF, "TaskPlugin=task/cgroup", "#", "slurm-tasks", Problem),
        (CONF, "TaskPlugin=task/cgroup", "taskplugin=task/affinity,task/cgroup", "slurm-tasks", Warning),
        (CONF, "Contain,X11", "Alloc", "slurm-prologue", Problem),
        (CONF, "Contain,X11", "Contain,RunInJob", "slurm-prologue", Problem),
        (PLUGINS, "optional", "required", "slurm-plugin", Warning),
        (PLUGINS, "spank_tacet", "pyxis", "slurm-plugin", Problem),
        (SLURMD, "HWLOC_XMLFILE", "OTHER", "slurm-topology", Problem),
        (SLURMD, "HWLOC_THISSYSTEM=1", "", "slurm-topology", Problem),
        (CONF, "ClusterName=site", "SlurmdParameters=config_overrides", "slurm-overrides", Problem),
        ("etc/slurm/nodes.conf", "MemSpecLimit=1024", "", "slurm-memory", Warning),
        (CONF, "ClusterName=site", "PreemptMode=SUSPEND,GANG", "slurm-preemption", Warning),
        ("var/lib/tacet/topology.xml", "<topology><object type=\"PU\"/>", "<topology>", "slurm-topology", Problem),
    ] {
        let fake = Fake::right();
        fake.replace(path, from, to);
        assert_eq!(fake.complaints(), [(name, verdict)], "{path}: {from} -> {to}");
    }
}

#[test]
fn what_is_missing_has_its_name_too() {
    for (path, name) in [
        ("sys/fs/cgroup/cgroup.controllers", "slurm-cgroups"),
        ("usr/lib64/slurm/spank_tacet.so", "slurm-plugin"),
        ("var/lib/tacet/topology.xml", "slurm-topology"),
        ("etc/default/slurmd", "slurm-topology"),
        ("etc/slurm/slurm.conf", "slurm-conf"),
    ] {
        let fake = Fake::right();
        fake.remove(path);
        assert_eq!(fake.complaints(), [(name, Verdict::Problem)], "{path}");
    }
}

#[test]
fn the_controllers_words_are_explained() {
    let mut fake = Fake::right();
    fake.1.node =
        "NodeName=n1\n   State=IDLE\n   Reason=Low socket*core*thread count, Low CPUs [slurm@2026]\n".to_owned();
    assert_eq!(fake.complaints(), [("slurm-node", Verdict::Problem)]);
    let check = fake.examine().pop().unwrap();
    assert!(check.finding.contains("Low CPUs") && check.remedy.contains("slurm-topology"), "{check:?}");
    fake.1.node = "   Reason=maintenance [root@2026]\n".to_owned();
    assert_eq!(fake.complaints(), [("slurm-node", Verdict::Warning)]);
}

#[test]
fn a_slurm_in_which_users_start_programs_themselves_is_named() {
    for (version, warned) in
        [("22.05.8", true), ("23.02.7", true), ("23.11.0", false), ("24.11.5", false), ("x", false)]
    {
        let mut fake = Fake::right();
        fake.1.config = format!("SLURM_VERSION           = {version}\n");
        let complaints = if warned { vec![("slurm-start", Verdict::Warning)] } else { vec![] };
        assert_eq!(fake.complaints(), complaints, "{version}");
    }
}

#[test]
fn a_node_without_files_asks_the_controller() {
    let mut fake = Fake::right();
    fake.remove("etc/slurm/slurm.conf");
    fake.remove("etc/slurm/cgroup.conf");
    fake.1.config = "Configuration data as of 2026\nProctrackType           = proctrack/cgroup\n\
         TaskPlugin              = task/cgroup\nPrologFlags             = Alloc,Contain\n\
         PluginDir               = /usr/lib64/slurm\nSlurmdParameters        = (null)\n\nCgroup Support Configuration:\n\
         CgroupPlugin            = cgroup/v2\nConstrainCores          = yes\n"
        .to_owned();
    // what the nodes' lines say is not in it
    assert_eq!(fake.complaints(), [("slurm-memory", Verdict::Warning)]);
    assert!(can_run(&fake.examine()));
}
