// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The MPI program under Slurm's `srun`, with both MPIs: a cluster of this one machine in a temporary folder, on loopback,
//! without authentication. Needs root and Debian's packages slurmctld, slurmd and slurm-client, so it runs on request:
//! `cargo test -p tacet-noise --test slurm -- --ignored`.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tacet_noise::collect::RunFile;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mpi");

/// A running cluster; its daemons end when it is dropped.
struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    fn start() -> Cluster {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        fs::create_dir(at.join("state")).expect("a folder");
        fs::create_dir(at.join("spool")).expect("a folder");
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        fs::write(at.join("slurm.conf"), configuration(host.trim(), &at.display().to_string())).expect("written");
        // Slurm 22.05 refuses a mixture of both cgroup versions; use the mounted one.
        let second = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let plugin = if second { "v2\nIgnoreSystemd=yes" } else { "v1\nCgroupMountpoint=/sys/fs/cgroup" };
        fs::write(at.join("cgroup.conf"), format!("CgroupPlugin=cgroup/{plugin}\n")).expect("written");
        let daemon = |name: &str| {
            let log = File::create(at.join(name).with_extension("out")).expect("a file");
            let mut daemon = Command::new(name);
            daemon.args(["-D", "-c"]).env("SLURM_CONF", at.join("slurm.conf"));
            daemon.stdout(log.try_clone().expect("a file")).stderr(log).spawn().expect("Slurm's daemons")
        };
        let daemons = vec![daemon("slurmctld"), daemon("slurmd")];
        Cluster { folder, daemons }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // Not SIGKILL, so that slurmd ends the processes that it started.
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
            let _ = daemon.wait();
        }
    }
}

fn configuration(host: &str, folder: &str) -> String {
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let [controller, daemon] = ports.map(|port| port.local_addr().expect("an address").port());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "ClusterName=one\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/none\n\
         CredType=cred/none\nProctrackType=proctrack/pgid\nTaskPlugin=task/affinity\nSelectType=select/cons_tres\n\
         SwitchType=switch/none\nReturnToService=2\nSlurmctldPort={controller}\nSlurmdPort={daemon}\n\
         SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.pid\n\
         StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\n\
         NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN\n\
         PartitionName=all Nodes=ALL Default=YES State=UP\n"
    )
}

fn program(mpi: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("slurm").join(mpi);
    let mut make = Command::new("make");
    make.args(["-s", "-B", "-C", SOURCES, &format!("MPICC=mpicc.{mpi}"), &format!("OUT={}", out.display())]);
    assert!(make.status().expect("make").success());
    out.join("tacet-mpi-fwq")
}

#[test]
#[ignore = "needs root, slurmctld and slurmd"]
fn srun_starts_it_with_either_mpi() {
    let cluster = Cluster::start();
    let at = cluster.folder.path();
    let list = Command::new("srun").arg("--mpi=list").env("SLURM_CONF", at.join("slurm.conf")).output().expect("srun");
    let list = [list.stdout, list.stderr].concat();
    let pmix =
        String::from_utf8_lossy(&list).split_whitespace().find(|word| word.starts_with("pmix_v")).map(str::to_owned);
    for (mpi, manager) in [("mpich", "pmi2".to_owned()), ("openmpi", pmix.expect("Slurm with PMIx"))] {
        let file = at.join(format!("{mpi}.run"));
        let mut srun = Command::new("timeout");
        srun.args(["300", "srun", "-n", "2", &format!("--mpi={manager}")]).arg(program(mpi));
        // Allows machines with fewer than two CPUs.
        srun.args(["--oversubscribe", "--mode", "step", "--units", "2000", "--samples", "7", "-o"]).arg(&file);
        let output = srun.env("SLURM_CONF", at.join("slurm.conf")).current_dir(at).output().expect("srun");
        assert!(output.status.success(), "{mpi}: {output:?}");
        let run = RunFile::read(&file).expect("a run");
        assert_eq!((run.rows.len(), run.nodes, run.histogram.total()), (2, 1, 14), "{mpi}");
    }
}
