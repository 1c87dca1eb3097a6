// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds everything into build/: `bin/tacet`, `bin/tacet-noise`, `bin/tacet-sched`, `bin/tacet-tune`, `lib/tacet/kernel.bin`,
//! `lib/tacet/static.elf`, `lib/tacet/modules/<release>/tacet.ko`, `tests/user/*`, `tests/static/*`.
//!
//! Owns the layout of build/: `make install`, the `tacet` command and the node tests rely on it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tacet_node::{Cache, Kernel, ModuleBuild, provision};

use crate::command::{cargo, program, run};
use crate::setup::{FREESTANDING, on_path};
use crate::{Result, kernels, top};

/// The parts that can be built alone.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// `build/bin/tacet` and the programs that it executes
    Command,
    /// The co-kernel's flat image, and the one for static nodes
    Cokernel,
    /// The module, for each of the nodes' kernels and for the running one
    Module,
    /// The programs of tests/user, and those of tests/static for this host
    Programs,
}

impl Part {
    const ALL: [Part; 4] = [Part::Command, Part::Cokernel, Part::Module, Part::Programs];
}

/// Builds everything.
pub fn build() -> Result<()> {
    parts(&Part::ALL, &[])
}

/// Builds the named parts, or all if none is named; the module for the named kernel lines, or for all.
pub fn parts(named: &[Part], lines: &[String]) -> Result<()> {
    let named = if named.is_empty() { &Part::ALL } else { named };
    let cache = Cache::open()?;
    for part in named {
        match part {
            Part::Command => command()?,
            Part::Cokernel => {
                co_kernel()?;
                static_image()?;
            }
            Part::Module => modules(&cache, lines)?,
            Part::Programs => {
                provision::ensure(&cache)?;
                user_programs()?;
                static_programs()?;
            }
        }
    }
    Ok(())
}

fn modules(cache: &Cache, lines: &[String]) -> Result<()> {
    provision::ensure(cache)?;
    for kernel in kernels::chosen(cache, lines)? {
        module(cache, &kernel, &[])?;
    }
    if lines.is_empty() { module_here() } else { Ok(()) }
}

/// Builds `build/bin/tacet` and the programs that it executes.
pub fn command() -> Result<()> {
    commands(cargo().args(["build", "--release"]), "release")
}

/// The same of what `cargo`, which the tests are built with, has built anyway: with assertions, and without optimising
/// everything once more.
pub fn command_with(mut cargo: Command) -> Result<()> {
    commands(cargo.args(["build", "--quiet"]), "debug")
}

fn commands(cargo: &mut Command, folder: &str) -> Result<()> {
    let packages = ["tacet-cli", "tacet-noise", "tacet-sched", "tacet-tune"];
    run(cargo.args(packages.into_iter().flat_map(|package| ["--package", package])))?;
    for program in ["tacet-noise", "tacet-sched", "tacet-tune", "tacet"] {
        install(&target().join(folder).join(program), &format!("bin/{program}"))?;
    }
    Ok(())
}

/// Builds `build/lib/tacet/kernel.bin`, a flat image.
pub fn co_kernel() -> Result<()> {
    let elf = image()?;
    let flat = target().join(FREESTANDING).join("release/kernel.bin");
    run(program(objcopy()).args(["-O", "binary"]).arg(elf).arg(&flat))?;
    install(&flat, "lib/tacet/kernel.bin")
}

/// Builds the co-kernel's image as an ELF file, and installs nothing.
pub fn image() -> Result<PathBuf> {
    run(cargo().args(["build", "--release", "--package", "tacet-image", "--target", FREESTANDING]))?;
    Ok(target().join(FREESTANDING).join("release/tacet-image"))
}

/// Builds `build/lib/tacet/static.elf`, which QEMU and GRUB load.
pub fn static_image() -> Result<()> {
    let profile = ["--profile", "static", "--target", FREESTANDING];
    run(cargo().args(["build", "--package", "tacet-image-static"]).args(profile))?;
    let elf = target().join(FREESTANDING).join("static/tacet-image-static");
    let stripped = target().join(FREESTANDING).join("static/static.elf");
    run(program(objcopy()).arg("--strip-all").arg(elf).arg(&stripped))?;
    install(&stripped, "lib/tacet/static.elf")
}

fn objcopy() -> &'static str {
    if on_path("objcopy") { "objcopy" } else { "llvm-objcopy" }
}

/// Builds `build/lib/tacet/modules/<release>/tacet.ko` for a node's kernel; make gets `arguments`.
pub fn module(cache: &Cache, kernel: &Kernel, arguments: &[&str]) -> Result<PathBuf> {
    let (source, out) = (top().join("linux"), objects(&kernel.release)?);
    name_image(&out)?;
    eprintln!("+ module for {} {}", kernel.release, arguments.join(" "));
    let abi = top().join("abi");
    let pico = out.with_file_name("pico");
    let beside = [(abi.as_path(), "abi"), (pico.as_path(), "pico")];
    ModuleBuild { source: &source, beside: &beside, out: &out, arguments }.run(cache, kernel)?;
    install(&out.join("tacet.ko"), &format!("lib/tacet/modules/{}/tacet.ko", kernel.release))?;
    Ok(out)
}

/// Builds the module for the running kernel, with this host's compiler, if its headers are installed.
fn module_here() -> Result<()> {
    let Some(release) = kernels::running_with_headers() else {
        return Ok(());
    };
    let (source, out) = (top().join("linux"), objects(&release)?);
    run(program("cp").args(["-Rpu", "--no-target-directory"]).arg(source).arg(&out))?;
    name_image(&out)?;
    let modules = format!("M={}", out.display());
    run(program("make").arg("-C").arg(format!("/lib/modules/{release}/build")).arg(modules).arg("modules"))?;
    install(&out.join("tacet.ko"), &format!("lib/tacet/modules/{release}/tacet.ko"))
}

/// Tells the module the digest of the image that was built, if one was: the only one that it runs where Linux verifies
/// signatures.
fn name_image(module: &Path) -> Result<()> {
    let image = top().join("build/lib/tacet/kernel.bin");
    if !image.exists() {
        return Ok(());
    }
    let output = program("sha256sum").arg(&image).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let digest = text.split_whitespace().next().ok_or("sha256sum: it said nothing")?;
    Ok(fs::write(module.join("image.sha256"), format!("{digest}\n"))?)
}

/// Builds `build/tests/user` with the nodes' compiler: its programs run in nodes whatever this host's C library is.
pub fn user_programs() -> Result<()> {
    let (source, out) = (top().join("tests"), top().join("build/tests"));
    if !source.join("user/Makefile").exists() {
        return Ok(());
    }
    fs::create_dir_all(&out)?;
    let jobs = format!("-j{}", std::thread::available_parallelism().map_or(2, usize::from));
    eprintln!("+ make {jobs} -C tests/user OUT=build/tests/user");
    let make = ["make", "--silent", &jobs, "-C", "/mnt/source/user", "OUT=/mnt/out/user"];
    Ok(provision::run_in_tree(&Cache::open()?, &[(&source, "source"), (&out, "out")], &make)?)
}

/// Builds `build/tests/static` with this host's compilers: its programs run here and on emulated static nodes.
pub fn static_programs() -> Result<()> {
    let jobs = format!("-j{}", std::thread::available_parallelism().map_or(2, usize::from));
    for (source, out) in [("tests/static/programs", "static"), ("tests/user", "static/user")] {
        let out = format!("OUT={}", top().join("build/tests").join(out).display());
        run(program("make").args(["--silent", &jobs, "-C"]).arg(top().join(source)).arg(out))?;
    }
    Ok(())
}

/// The directory of a release's objects. The border's headers and the fast paths of devices are beside the copy of the
/// sources, as in the repository.
fn objects(release: &str) -> Result<PathBuf> {
    let directory = top().join("build/modules").join(release);
    fs::create_dir_all(directory.join("linux"))?;
    let abi = directory.join("abi");
    if !abi.exists() {
        symlink(top().join("abi"), abi)?;
    }
    run(program("cp").args(["-Rpu", "--no-target-directory"]).arg(top().join("pico")).arg(directory.join("pico")))?;
    Ok(directory.join("linux"))
}

/// Replaces a file and never overwrites it: a node may still run the old one, and another build may install it too.
fn install(from: &Path, to: &str) -> Result<()> {
    let to = top().join("build").join(to);
    let parent = to.parent().unwrap_or(&to);
    fs::create_dir_all(parent)?;
    let new = to.with_extension(format!("new-{}", std::process::id()));
    fs::copy(from, &new).map_err(|e| format!("{}: {e}", from.display()))?;
    Ok(fs::rename(&new, &to)?)
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top().join("target"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What make says when the module is built for a kernel with these options.
    fn said(options: &str) -> String {
        let kbuild = top().join("linux/Kbuild");
        let mut make = program("make");
        make.arg("-f")
            .arg(kbuild)
            .arg(format!("src={}", top().join("linux").display()))
            .args(options.split_whitespace());
        String::from_utf8_lossy(&make.output().expect("make").stderr).into_owned()
    }

    #[test]
    fn a_kernel_on_which_the_module_cannot_work_is_refused_in_one_line() {
        let good = "CONFIG_MODULES=y CONFIG_X86_64=y CONFIG_SMP=y CONFIG_HOTPLUG_CPU=y CONFIG_MMU_NOTIFIER=y \
                    CONFIG_CONTIG_ALLOC=y CONFIG_TRACEPOINTS=y";
        assert!(!said(good).contains("tacet:"), "{}", said(good));
        assert!(!said("").contains("tacet:"), "no configuration: {}", said(""));
        for (options, word) in [
            (format!("{good} CONFIG_PREEMPT_RT=y"), "PREEMPT_RT"),
            (good.replace("CONFIG_SMP=y", ""), "CONFIG_SMP"),
            (good.replace("CONFIG_TRACEPOINTS=y", ""), "CONFIG_TRACEPOINTS"),
        ] {
            let said = said(&options);
            assert!(said.lines().count() == 1 && said.contains("*** tacet: ") && said.contains(word), "{said}");
        }
    }
}
