// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of `tests/perf/static` for this host, and what is measured: the command, the image.
//!
//! Owns `build/tests/perf-static`. The nodes of the other benches see the directory too. Must never build Tacet.

use std::path::{Path, PathBuf};
use std::process::Command;

use tacet_noise::exact::instruments::{self, Instruments};

use crate::Result;

/// Compiled programs and plugins.
pub struct StaticPrograms {
    top: PathBuf,
    directory: PathBuf,
}

impl StaticPrograms {
    pub fn build() -> Result<StaticPrograms> {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let directory = top.join("build/tests/perf-static");
        std::fs::create_dir_all(&directory)?;
        let mut make = Command::new("make");
        make.args(["--silent", "-C"]).arg(top.join("tests/perf/static"));
        let status = make.arg(format!("OUT={}", directory.display())).status()?;
        if !status.success() {
            return Err(format!("make -C tests/perf/static: {status}").into());
        }
        Instruments::write(&directory)?;
        let programs = StaticPrograms { top, directory };
        for needed in [programs.tacet(), programs.image()] {
            if !needed.exists() {
                return Err(format!("{}: not built: run `cargo xtask build`", needed.display()).into());
            }
        }
        Ok(programs)
    }

    /// The repository.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// One of the programs, as a word of a command.
    pub fn program(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    /// A program of the tests, which `cargo xtask build` has made.
    pub fn test_program(&self, name: &str) -> String {
        self.top.join("build/tests/static").join(name).display().to_string()
    }

    /// The plugin that counts a boot.
    pub fn boot_plugin(&self) -> PathBuf {
        self.directory.join("boot.so")
    }

    /// The noise laboratory's plugin.
    pub fn plugin(&self) -> PathBuf {
        self.directory.join(instruments::PLUGIN)
    }

    pub fn tacet(&self) -> PathBuf {
        self.top.join("build/bin/tacet")
    }

    /// The kernel of the nodes.
    pub fn image(&self) -> PathBuf {
        self.top.join("build/lib/tacet/static.elf")
    }

    /// The same with its symbols, if it was built here.
    pub fn image_with_symbols(&self) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.top.join("target"), Into::into);
        target.join("x86_64-unknown-none/static/tacet-image-static")
    }
}
