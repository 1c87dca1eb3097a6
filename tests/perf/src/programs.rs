// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs for the nodes and the emulator: the C programs of this directory, the noise laboratory's plugin and its
//! program of quanta, and Tacet itself.
//!
//! Owns `build/tests/perf`. Must never build Tacet: the benches measure the result of `cargo xtask build`.

use std::fs;
use std::path::{Path, PathBuf};

use tacet_node::{Cache, provision};
use tacet_noise::exact::instruments::{self, Instruments};

use crate::Result;

/// Paths that are the same on the host and in the nodes.
#[derive(Debug, Clone)]
pub struct Programs {
    top: PathBuf,
}

impl Programs {
    /// Compiles the programs with the nodes' compiler, and finds the laboratory's instruments.
    pub fn build(cache: &Cache) -> Result<Programs> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        let top = source.join("../..").canonicalize()?;
        let programs = Programs { top };
        let out = programs.directory();
        fs::create_dir_all(&out)?;
        let (abi, exact) = (programs.top.join("abi/include"), programs.top.join("noise/exact"));
        let faults = programs.top.join("tests/faults");
        let shared = [(source, "source"), (&out, "out"), (&abi, "abi"), (&exact, "exact"), (&faults, "faults")];
        let paths = ["OUT=/mnt/out", "ABI=/mnt/abi", "EXACT=/mnt/exact", "FAULTS=/mnt/faults"];
        let make = [&["make", "--silent", "-C", "/mnt/source"][..], &paths].concat();
        provision::run_in_tree(cache, &shared, &make)?;
        Instruments::write(&out)?;
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

    /// The build directory, which the nodes see.
    pub fn build_directory(&self) -> PathBuf {
        self.top.join("build")
    }

    /// One of the guest programs, as a word of a command.
    pub fn program(&self, name: &str) -> String {
        self.directory().join(name).display().to_string()
    }

    /// A file or directory of this crate; nodes do not see it.
    pub fn source(&self, name: &str) -> PathBuf {
        self.top.join("tests/perf").join(name)
    }

    /// The plugin for the emulator.
    pub fn plugin(&self) -> PathBuf {
        self.directory().join(instruments::PLUGIN)
    }

    /// The command.
    pub fn tacet(&self) -> PathBuf {
        self.build_directory().join("bin/tacet")
    }

    /// The countermeasures.
    pub fn tune(&self) -> PathBuf {
        self.build_directory().join("bin/tacet-tune")
    }

    /// The co-kernel.
    pub fn image(&self) -> PathBuf {
        self.build_directory().join("lib/tacet/kernel.bin")
    }

    /// The module for a release.
    pub fn module(&self, release: &str) -> PathBuf {
        self.build_directory().join("lib/tacet/modules").join(release).join("tacet.ko")
    }

    fn directory(&self) -> PathBuf {
        self.build_directory().join("tests/perf")
    }
}
