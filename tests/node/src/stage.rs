// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes a node ready: builds the programs, boots the node, copies everything into it, loads the module with test hooks.
//!
//! Everything is copied, so that a build meanwhile does not change what a scenario runs.

use std::path::{Path, PathBuf};

use crate::clock;
use crate::scenario::{Emulation, Machine};
use tacet_node::{Accelerator, Cache, Command, Kernel, KernelLine, Node, NodeSpec, Result, provision, secure_boot};

/// Inside the node.
const INSTALLED: &str = "/opt/tacet";

const INSTALL: &str = "
set -e
mkdir -p $D/tests
cd $TOP/build/stage
cp -r --parents bin lib/tacet/kernel.bin $D
cd $TOP/build/tests
cp -r faults fuzz user $D/tests
if [ -d signed ]; then cp -r signed $D/tests; fi
dmesg -n 4
# On a host with other work Linux called an emulated CPU stuck after 22 s, while it cleared pages: wait a minute, not 20 s.
echo $((60 * SLOWNESS)) > /sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
thresh=$((30 * SLOWNESS))	# the kernel takes 60 at most
sysctl -q kernel.hung_task_timeout_secs=$((60 * SLOWNESS)) kernel.watchdog_thresh=$((thresh < 60 ? thresh : 60)) kernel.core_pattern=core
# Linux 6.12 to 6.16 count the deadline server as a task: a CPU that goes offline while its tasks are starved, as on a busy
# host, is then \"not properly vacated\", with or without Tacet (CAVEATS.md).
debug=$(mktemp -d)
mount -t debugfs none $debug
case $(uname -r) in 6.12.*) for file in $debug/sched/fair_server/*/runtime; do echo 0 > $file; done ;; esac
umount $debug
# Some read fault brings its 512 pages, and they belong to no class that can be counted.
echo 0 > /sys/kernel/mm/transparent_hugepage/use_zero_page
";

const INSERT: &str = "
set -e
cd $TOP/build/stage
cp -r --parents lib/tacet/modules/$(uname -r) $D
insmod $D/lib/tacet/modules/$(uname -r)/tacet.ko test_hooks=1
";

/// Copies what is installed from /mnt/build to /mnt/stage without debug information: that is nine tenths of it, and each
/// node copies it. A file is renamed into its place, because another run may copy it now.
const STAGE: &str = "
set -eu
cd /mnt/build
for file in bin/tacet bin/tacet-noise bin/tacet-sched bin/tacet-tune lib/tacet/modules/*/tacet.ko; do
	staged=/mnt/stage/$file
	if [ ! -e $staged ] || [ $file -nt $staged ] || [ $file -ot $staged ]; then
		mkdir -p ${staged%/*}
		strip --strip-debug -o $staged.$$ $file
		touch -r $file $staged.$$
		mv $staged.$$ $staged
	fi
done
mkdir -p /mnt/stage/lib/tacet
cp lib/tacet/kernel.bin /mnt/stage/lib/tacet/kernel.$$
mv /mnt/stage/lib/tacet/kernel.$$ /mnt/stage/lib/tacet/kernel.bin
";

/// The repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// Builds the programs of `tests/faults` and `tests/fuzz` with the node's compiler, and stages what is installed.
pub fn programs(cache: &Cache) -> Result<()> {
    for name in ["faults", "fuzz"] {
        let (source, out) = (top().join("tests").join(name), created(&format!("build/tests/{name}"))?);
        let abi = top().join("abi/include");
        let shared = [(source.as_path(), "source"), (out.as_path(), "out"), (abi.as_path(), "abi")];
        provision::run_in_tree(cache, &shared, &["make", "-s", "-C", "/mnt/source", "OUT=/mnt/out", "ABI=/mnt/abi"])?;
    }
    let (build, stage) = (top().join("build"), created("build/stage")?);
    let shared = [(build.as_path(), "build"), (stage.as_path(), "stage")];
    provision::run_in_tree(cache, &shared, &["sh", "-c", STAGE])
}

fn created(name: &str) -> Result<PathBuf> {
    let directory = top().join(name);
    std::fs::create_dir_all(&directory)
        .map_err(|e| tacet_node::Error::new(directory.display(), e, "see its directory"))?;
    Ok(directory)
}

/// A node with everything in it and, unless the machine goes without, the module loaded.
pub fn node(cache: &Cache, kernel: KernelLine, machine: &Machine) -> Result<Node> {
    // Kernels of 128 CPUs and more have this from boot: a space's ended users are freed on any CPU, in any order.
    let always = "log_buf_len=4M srcutree.convert_to_big=1";
    let mut spec = NodeSpec::new(kernel).share(top()).argument(always).argument(machine.arguments);
    (spec.topology, spec.memory_mib) = (machine.cpus, machine.memory_mib);
    let modules = Kernel::installed(cache, kernel)?.modules();
    if let Some(modules) = &modules {
        spec = spec.share(modules);
        // the shadow of all memory, and freed objects that wait
        spec.memory_mib += machine.memory_mib / 2;
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        // It boots for minutes on a busy host, and INSTALL comes after that.
        spec = spec.argument("watchdog_thresh=60").argument(&clock::told(&cpuinfo).unwrap_or_default());
    }
    spec.empty_sockets = machine.empty_sockets;
    spec.nvme_mib = if machine.nvme { 64 } else { 0 };
    spec.nvme_functions = machine.nvme_functions;
    spec.nvme_mdts = machine.nvme_mdts;
    spec.nvme_more = machine.nvme_more;
    spec.iommu = machine.iommu;
    if machine.systemd {
        spec = spec.with_systemd();
    }
    match machine.emulation {
        Emulation::Parallel => (),
        Emulation::InTurn => spec.accelerator = Accelerator::TcgSingle,
        Emulation::Counted => (spec.accelerator, spec.counted_time) = (Accelerator::TcgSingle, true),
    }
    if machine.secure_boot {
        spec.secure_boot = true;
        sign(cache, kernel)?;
    }
    let node = Node::boot(cache, &spec)?;
    let place = modules.map(|modules| format!("ln -s {} /lib/modules/", modules.display()));
    let insert = machine.module.then_some(INSERT);
    for script in place.as_deref().into_iter().chain([INSTALL]).chain(insert) {
        let output = node.run(&slow_shell(kernel, script))?;
        if !output.status.success() {
            let said = output.error_text();
            return Err(tacet_node::Error::new("node", said.trim(), "`cargo xtask build` builds what it needs"));
        }
    }
    Ok(node)
}

/// Puts a signed copy of the module beside the programs.
fn sign(cache: &Cache, kernel: KernelLine) -> Result<()> {
    let kernel = Kernel::installed(cache, kernel)?;
    let failed = |e| tacet_node::Error::new("signed module", e, "`cargo xtask build module` builds what is signed");
    let signed = created("build/tests/signed")?.join("tacet.ko");
    let module = top().join("build/stage/lib/tacet/modules").join(&kernel.release).join("tacet.ko");
    std::fs::copy(module, &signed).map_err(failed)?;
    secure_boot::sign_module(cache, &kernel, &signed)
}

/// A script with the variables that every script here knows: T is the command, F the directory of our programs, Z that of
/// the fuzzers, U that of the user programs.
pub fn shell(script: &str) -> Command {
    Command::shell(script)
        .env("TOP", &top().display().to_string())
        .env("D", INSTALLED)
        .env("T", &format!("{INSTALLED}/bin/tacet"))
        .env("F", &format!("{INSTALLED}/tests/faults"))
        .env("Z", &format!("{INSTALLED}/tests/fuzz"))
        .env("U", &format!("{INSTALLED}/tests/user"))
        .env("PARAMETERS", &std::env::var("TACET_TEST_PARAMETERS").unwrap_or_default())
}

/// The same for a kernel on which things take SLOWNESS times as long.
pub fn slow_shell(kernel: KernelLine, script: &str) -> Command {
    shell(script).env("SLOWNESS", &kernel.slowness().to_string())
}
