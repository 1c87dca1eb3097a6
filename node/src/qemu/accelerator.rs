// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Probes whether KVM really boots a guest here: `/dev/kvm` may exist and yet hang.
//!
//! Owns the file with the answer, one for each boot of the host.

use std::env;
use std::fs;
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use super::emulator::Qemu;
use super::process::Process;
use crate::cache::Cache;
use crate::error::{Error, OnPath, Result};
use crate::kernel::{Kernel, KernelLine};
use crate::spec::{Accelerator, NodeSpec};

/// How a node is executed, after the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    Kvm,
    Tcg,
    TcgSingle,
}

/// A guest under KVM answers within a second; an emulated one takes three.
const PATIENCE: Duration = Duration::from_secs(8);

/// Chooses how the described node is executed.
pub(crate) fn resolve(cache: &Cache, spec: &NodeSpec, qemu: &Qemu) -> Result<Execution> {
    if spec.reproducible.is_some() || spec.counted_time {
        return Ok(Execution::TcgSingle);
    }
    match (spec.accelerator, env::var("TACET_NODE_ACCEL").as_deref()) {
        (Accelerator::Tcg, _) => Ok(Execution::Tcg),
        (Accelerator::TcgSingle, _) => Ok(Execution::TcgSingle),
        (Accelerator::Kvm, _) | (Accelerator::Auto, Ok("kvm")) => Ok(Execution::Kvm),
        (Accelerator::Auto, Ok("tcg")) => Ok(Execution::Tcg),
        (Accelerator::Auto, Ok(other)) => {
            Err(Error::new(format!("TACET_NODE_ACCEL={other}"), "no such accelerator", "use tcg or kvm"))
        }
        (Accelerator::Auto, Err(_)) if !spec.plugins.is_empty() => Ok(Execution::Tcg),
        (Accelerator::Auto, Err(_)) => Ok(if kvm_works(cache, qemu)? { Execution::Kvm } else { Execution::Tcg }),
    }
}

/// Probes once for each boot of the host.
fn kvm_works(cache: &Cache, qemu: &Qemu) -> Result<bool> {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let answer = cache.accelerator_answer(boot_id.trim());
    if let Ok(text) = fs::read_to_string(&answer) {
        return Ok(text == "works");
    }
    let _lock = cache.lock()?;
    let works = OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok() && boots(cache, qemu)?;
    fs::write(&answer, if works { "works" } else { "does not boot a guest" }).on(&answer)?;
    Ok(works)
}

/// Boots a kernel as far as its first program, which reports on the serial line.
fn boots(cache: &Cache, qemu: &Qemu) -> Result<bool> {
    let kernel = Kernel::installed(cache, KernelLine::V6_12)?;
    let console = cache.log("kvm-probe-console");
    fs::remove_file(&console).ok();
    let mut command = qemu.command();
    command.args(
        "-nodefaults -no-user-config -no-reboot -display none -machine q35 -accel kvm -cpu host -m 512".split(' '),
    );
    command.arg("-kernel").arg(kernel.image()).arg("-initrd").arg(kernel.initramfs());
    command.args(["-append", "console=ttyS0 quiet panic=-1 no_timer_check tacet.probe"]);
    command.arg("-serial").arg(format!("file:{}", console.display()));
    let process = Process::start(command, &cache.log("kvm-probe"))?;
    process.wait(PATIENCE);
    Ok(said_alive(&console))
}

fn said_alive(console: &Path) -> bool {
    fs::read(console).is_ok_and(|text| String::from_utf8_lossy(&text).contains("tacet probe: alive"))
}
