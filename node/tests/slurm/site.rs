// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cluster of the tests of `srun --tacet`, and the words in which they describe jobs. A test names its Slurm: `SLURM`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tacet_node::cluster::{Cluster, ClusterSpec};
use tacet_node::{Cache, Command, KernelLine, Output, SlurmRelease, provision};

use super::SLURM;

/// Each node builds the plugin against its own Slurm's headers.
const FIRST: &str = r#"
    set -e
    ln -sf "@BUILD@"/bin/tacet* /usr/local/bin/
    make -s -C "@PLUGIN@" OUT=/tmp/plugin TACET=/usr/local/bin/tacet CFLAGS='-O1 -Wall -Wextra -Werror' install
    mkdir -p /etc/slurm/plugstack.conf.d
    echo 'optional spank_tacet.so' >/etc/slurm/plugstack.conf.d/tacet.conf
    tacet up --spare 1-3 --memory 128M
    # most tests look whether all CPUs have come back
    printf '[job]\nkeep = "off"\n' >/etc/tacet.toml
    # no udev gives the device its group here
    chmod 666 /dev/tacet"#;

/// Prints the node and the CPUs that the program sees.
pub const WHERE: &str = "python3 -c 'import os; print(os.uname().nodename, *sorted(os.sched_getaffinity(0)))'";
/// Starts a hosted program that computes for ever, and waits until it does.
pub const COMPUTES: &str = r#"
    runuser -u alice -- srun -w n1 -n1 -c3 --tacet $START python3 -c 'while True: pass' >/tmp/said 2>&1 &
    while [ $SECONDS -lt 90 ]; do
        tacet job list | grep -qE ' 1-2 .* 1  *(begun|apart)' && exit
        sleep 0.2
    done
    tacet job list; cat /tmp/said; exit 1"#;
/// Succeeds as soon as the node has no job of anybody, and all that jobs had.
pub const QUIET: &str = r#"
    while [ $SECONDS -lt 90 ]; do
        jobs=$(tacet job list | tail -n +2) queue=$(squeue -h -w n1) online=$(cat /sys/devices/system/cpu/online)
        state=$(sinfo -h -N -n n1 -o %T) left=$(pgrep -x python3)
        [ "$jobs$queue$left:$online:$state" = :0-3:idle ] && [ -z "$(ls /run/tacet/slurm)" ] && exit
        sleep 0.2
    done
    echo "jobs: $jobs; queue: $queue; online: $online; n1 is $state; left: $left; records: $(ls /run/tacet/slurm)"
    sinfo -R; tail -n 20 /var/log/slurm/slurmd.log; exit 1"#;

pub const SLURMCTLD: &str = r#"
    kill -9 $(pgrep -x slurmctld)
    while pgrep -x slurmctld >/dev/null; do sleep 0.1; done
    setpriv --reuid=slurm --regid=slurm --clear-groups /usr/sbin/slurmctld"#;

pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the source tree")
}

pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let line = std::env::var("TACET_TEST_KERNEL").unwrap_or_else(|_| "6.12".to_owned());
        let (build, plugin) = (top().join("build"), top().join("packaging/slurm"));
        let mut spec = ClusterSpec::new(line.parse::<KernelLine>().expect("a kernel line"), 2);
        spec.slurm = SLURM;
        spec.node = spec.node.share(&build).share(&plugin);
        let of = |path: &Path| path.display().to_string();
        spec.first = Some(FIRST.replace("@BUILD@", &of(&build)).replace("@PLUGIN@", &of(&plugin)));
        let cache = Cache::open().expect("cache");
        provision::ensure_cluster(&cache, spec.slurm).expect("Slurm");
        Cluster::up(&cache, &spec).expect("boots")
    })
}

/// A script in which `$START` is what the user writes before a hosted program.
pub fn shell(script: &str) -> Command {
    let start = match SLURM {
        // there the plugin cannot start it
        SlurmRelease::Debian12 => "tacet run",
        SlurmRelease::Debian13 => "",
    };
    Command::shell(script).env("START", start)
}

pub fn run(script: &str) -> Output {
    cluster().node("n1").and_then(|node| node.run(&shell(script))).expect("runs")
}

/// The lines that a script says, sorted. It must succeed.
pub fn lines(script: &str) -> Vec<String> {
    lines_on("n1", script)
}

pub fn lines_on(node: &str, script: &str) -> Vec<String> {
    let output = cluster().node(node).and_then(|node| node.run(&shell(script))).expect("runs");
    assert!(output.status.success(), "{script}: {}{}", output.text(), output.error_text());
    let mut lines: Vec<String> = output.text().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

pub fn does(script: &str) {
    lines(script);
}

/// Submits a script as alice, does something meanwhile, and returns the lines of the job's files when no job is left.
pub fn batch_job(batch: &str, script: &str, meanwhile: &str, files: &str) -> Vec<String> {
    let commands = format!(
        r#"
        cd /home/alice && rm -f {files}
        runuser -u alice -- {batch} >/dev/null || exit 1
        {meanwhile}
        until [ -z "$(squeue -h)" ]; do
            [ $SECONDS -lt 180 ] || {{ squeue; tail -n 30 /var/log/slurm/slurmd.log; exit 1; }}
            sleep 0.5
        done
        cat {files}"#
    );
    let output = cluster().node("n1").and_then(|node| node.run(&shell(&commands).input(script))).expect("runs");
    assert!(output.status.success(), "{}{}", output.text(), output.error_text());
    let mut lines: Vec<String> = output.text().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// A command of Slurm that fails and says this.
pub fn refused(said: &str, command: &str) {
    let output = run(command);
    let words = output.text() + &output.error_text();
    assert!(!output.status.success(), "{command} succeeds: {words}");
    assert_eq!(words.matches(said).count(), 1, "{command} should say `{said}` once: {words}");
}
