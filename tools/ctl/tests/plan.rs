// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Plans on a fake machine, a directory of files: two NUMA nodes, four cores
//! of two threads each, CPU n and n+4 on one core.

use tacet_ctl::{Machine, NodeMemory, Plan, PlanRequest};

struct Fake {
    dir: tempfile::TempDir,
}

impl Fake {
    fn new() -> Fake {
        let fake = Fake { dir: tempfile::tempdir().unwrap() };
        for (name, list) in [("online", "0-6"), ("present", "0-7"), ("possible", "0-15")] {
            fake.write(&format!("cpu/{name}"), list);
        }
        fake.write("node/online", "0-1");
        for cpu in 0..8 {
            fake.write(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &format!("{},{}", cpu % 4, cpu % 4 + 4));
            fake.write(&format!("cpu/cpu{cpu}/node{}/x", cpu % 4 / 2), "");
            if cpu != 0 && cpu != 5 {
                fake.write(&format!("cpu/cpu{cpu}/online"), "1");
            }
        }
        fake
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join("sys/devices/system").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    fn plan(&self, cpus: Option<&str>, memory: Option<u64>) -> Result<Plan, String> {
        let request = PlanRequest { cpus: cpus.map(|list| list.parse().unwrap()), memory, ..Default::default() };
        self.make(&request)
    }

    fn make(&self, request: &PlanRequest) -> Result<Plan, String> {
        Plan::make(&Machine::at(self.dir.path()), request).map_err(|error| error.to_string())
    }
}

const MIB: u64 = 1 << 20;

#[test]
fn proposes_all_but_the_first_core() {
    let plan = Fake::new().plan(None, None).unwrap();
    assert_eq!(plan.cpus.to_string(), "1-3,6");
    assert!(plan.cpus_proposed);
    assert_eq!(plan.memory_bytes(), 64 * MIB);
}

#[test]
fn splits_memory_over_the_nodes_of_the_cpus() {
    let plan = Fake::new().plan(Some("1,2"), Some(101 * MIB)).unwrap();
    let share = 52 * MIB;
    assert_eq!(plan.memory, [NodeMemory { node: 0, bytes: share }, NodeMemory { node: 1, bytes: share }]);
    let plan = Fake::new().plan(Some("2-3"), Some(1)).unwrap();
    assert_eq!(plan.memory, [NodeMemory { node: 1, bytes: 2 * MIB }]);
}

#[test]
fn warns_of_torn_cores() {
    let plan = Fake::new().plan(Some("2"), None).unwrap();
    assert_eq!(plan.warnings.len(), 1);
    assert!(plan.warnings[0].contains("CPU 2 shares its core with CPU 6"), "{:?}", plan.warnings);
    assert!(Fake::new().plan(Some("2,6"), None).unwrap().warnings.is_empty());
}

#[test]
fn refuses_cpus_that_cannot_be_taken() {
    let fake = Fake::new();
    for (cpus, words) in [
        ("0-2", "CPU 0: Linux keeps"),
        ("2,7", "CPU 7: it is offline"),
        ("9", "CPU 9: this machine does not have it"),
        ("5", "CPU 5: Linux cannot take it offline"),
        ("", "CPU list: it is empty"),
    ] {
        let error = fake.plan(Some(cpus), None).unwrap_err();
        assert!(error.starts_with(words), "{cpus}: {error}");
        assert!(error.contains("; "), "no remedy: {error}");
    }
}

#[test]
fn refuses_memory_that_makes_no_sense() {
    let fake = Fake::new();
    assert!(fake.plan(Some("2"), Some(0)).unwrap_err().starts_with("memory: "));
    let wish = |nodes: &[(u32, u64)]| {
        let nodes = nodes.iter().map(|(node, bytes)| NodeMemory { node: *node, bytes: *bytes }).collect();
        fake.make(&PlanRequest { cpus: Some("2".parse().unwrap()), numa_memory: Some(nodes), ..Default::default() })
    };
    assert!(wish(&[(2, MIB)]).unwrap_err().starts_with("NUMA node 2: this machine does not have it"));
    assert!(wish(&[(1, MIB), (1, MIB)]).unwrap_err().contains("given twice"));
    assert!(wish(&[(1, 0)]).unwrap_err().contains("its size is 0"));
    assert!(wish(&[]).is_err());
    assert_eq!(wish(&[(1, 3 * MIB)]).unwrap().memory, [NodeMemory { node: 1, bytes: 4 * MIB }]);
}
