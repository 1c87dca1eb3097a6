// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux in the same emulator: the project's kernel, booted directly, with one program as its init.
//!
//! Owns the archive with the program. The board is the one of the other benches: this kernel has no drivers for a microvm.

use std::path::Path;
use std::time::Duration;

use tacet_node::{Kernel, KernelLine, Process};

use super::Bench;
use super::boot::{Counted, read};
use crate::Result;

/// Where the emulator enters a compressed kernel in protected mode.
const ENTRY: u64 = 0x10_0000;
/// Emulated and counted it takes ten seconds.
const PATIENCE: Duration = Duration::from_secs(240);

pub fn kernel(bench: &Bench) -> Result<Kernel> {
    Ok(Kernel::installed(bench.cache, KernelLine::V6_12)?)
}

/// Boots it and ends with its init.
pub fn boot(bench: &Bench) -> Result<Counted> {
    let directory = tempfile::tempdir_in(&bench.scratch)?;
    let (archive, log) = (directory.path().join("initramfs"), directory.path().join("plugin.log"));
    std::fs::write(&archive, with_init(&std::fs::read(bench.programs.program("first"))?))?;
    let mut command = bench.emulator.qemu.command();
    command
        .args("-nodefaults -no-user-config -no-reboot -display none -machine q35 -accel tcg,thread=multi".split(' '));
    command.args("-cpu max -smp 1 -m 512M -serial null".split(' '));
    command.arg("-kernel").arg(kernel(bench)?.image()).arg("-initrd").arg(&archive);
    command.args(["-append", "console=ttyS0 quiet panic=-1 no_timer_check tsc=reliable"]);
    command.arg("-plugin").arg(format!("{},entry={ENTRY:#x}", bench.programs.boot_plugin().display()));
    command.args(["-d", "plugin", "-D"]).arg(&log);
    run(command, &directory.path().join("emulator.log"))?;
    read(&std::fs::read_to_string(&log)?)
}

fn run(command: std::process::Command, log: &Path) -> Result<()> {
    let process = Process::start(command, log)?;
    match process.wait(PATIENCE) {
        Some(_) => Ok(()),
        None => Err(format!("Linux did not come to its init within {PATIENCE:?}").into()),
    }
}

/// An archive of Linux's initramfs (cpio, newc) with `/init`.
fn with_init(program: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, mode, content) in [("init", 0o100_755, program), ("TRAILER!!!", 0, &[][..])] {
        let fields = [1, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        archive.extend(b"070701");
        fields.iter().for_each(|field| archive.extend(format!("{field:08x}").bytes()));
        archive.extend(name.bytes());
        archive.push(0);
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(4), 0);
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_program_where_its_header_says() {
        let archive = with_init(b"program");
        assert_eq!(&archive[..6], b"070701");
        assert_eq!(&archive[54..62], b"00000007");
        assert_eq!(&archive[110..115], b"init\0");
        assert_eq!(&archive[116..123], b"program");
        assert!(archive.ends_with(b"TRAILER!!!\0\0\0\0") && archive.len().is_multiple_of(4));
    }
}
