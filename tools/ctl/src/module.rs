// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Linux module: is it loaded, where is its file, and how to load it.
//!
//! Called by `tacet up` and the doctor. It must never unload or replace a loaded module.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use serde::Serialize;

use crate::machine::installation;
use crate::{Error, Machine, Result};

const NAME: &str = "tacet";
const TEST_HOOKS: &str = "test_hooks=1";

#[derive(Debug)]
pub struct Module {
    release: String,
    loaded: bool,
    installed: Option<PathBuf>,
    near: PathBuf,
}

/// How the module was or will be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Loading {
    Loaded,
    Modprobe,
    File(PathBuf),
}

impl Module {
    pub fn look(machine: &Machine) -> Module {
        let release = machine.release();
        let near = installation().join("lib/tacet/modules").join(&release).join("tacet.ko");
        Module { loaded: machine.exists("sys/module/tacet"), installed: installed(machine, &release), near, release }
    }

    pub fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// The file that `load` would use.
    pub fn file(&self) -> Option<&Path> {
        self.installed.as_deref().or(self.near.is_file().then_some(&self.near))
    }

    /// What `load` would do.
    pub fn plan(&self) -> Result<Loading> {
        if self.loaded {
            Ok(Loading::Loaded)
        } else if self.installed.is_some() {
            Ok(Loading::Modprobe)
        } else if self.near.is_file() {
            Ok(Loading::File(self.near.clone()))
        } else {
            let cause = format!("none is installed for kernel {}", self.release);
            let remedy =
                format!("install the headers of this kernel and `make install`, or put one at {}", self.near.display());
            Err(Error::new("module tacet", cause, remedy))
        }
    }

    /// Loads the module unless it is loaded.
    pub fn load(&self, test_hooks: bool) -> Result<Loading> {
        let loading = self.plan()?;
        let parameters = if test_hooks { TEST_HOOKS } else { "" };
        match &loading {
            Loading::Loaded => {}
            Loading::Modprobe => modprobe(parameters)?,
            Loading::File(path) => insert(path, parameters, &self.release)?,
        }
        Ok(loading)
    }
}

/// The module's file below `/lib/modules`, where `make install`, DKMS and packages put it. It must be in `modules.dep`,
/// which modprobe reads.
fn installed(machine: &Machine, release: &str) -> Option<PathBuf> {
    let dir = format!("lib/modules/{release}");
    let index = machine.text(&format!("{dir}/modules.dep"))?;
    let path = index.lines().filter_map(|line| line.split_once(':')).map(|(path, _)| path);
    let mut ours = path.filter(|path| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.split_once(".ko").is_some_and(|(name, _)| name == NAME)
    });
    ours.next().map(|path| machine.path(&dir).join(path))
}

fn modprobe(parameters: &str) -> Result<()> {
    let mut command = Command::new("/sbin/modprobe");
    command.arg(NAME).args(parameters.split_whitespace()).stdin(Stdio::null());
    let output = command.output().map_err(|io| Error::io("/sbin/modprobe", &io, "install the package kmod"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let cause = words.lines().last().unwrap_or("modprobe failed").trim_start_matches("modprobe: ").to_string();
    Err(Error::new("module tacet", cause, "repeat as root; `tacet doctor` and `dmesg` say more"))
}

fn insert(path: &Path, parameters: &str, release: &str) -> Result<()> {
    let file = File::open(path).map_err(|io| Error::io(path.display(), &io, ""))?;
    let parameters = std::ffi::CString::new(parameters).unwrap_or_default();
    match finit_module(&file, &parameters, ModuleInitFlags::empty()) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(errno) => Err(refused(path, errno, release)),
    }
}

fn refused(path: &Path, errno: Errno, release: &str) -> Error {
    let (cause, remedy) = match errno {
        Errno::EPERM if nix::unistd::geteuid().is_root() => {
            ("the kernel refuses modules".to_string(), "see `tacet doctor`: lockdown and module signing")
        }
        Errno::EPERM => ("only root may load it".to_string(), "repeat with sudo"),
        Errno::EKEYREJECTED | Errno::ENOKEY | Errno::EKEYEXPIRED | Errno::EBADMSG => {
            ("the module has no signature that the kernel trusts".to_string(), "sign it with an enrolled key (mokutil)")
        }
        Errno::ENOEXEC => (format!("it was not built for kernel {release}"), "build it again: `make`"),
        Errno::ENOENT => ("the kernel lacks a symbol that it needs".to_string(), "`dmesg` names it"),
        Errno::EOPNOTSUPP | Errno::ENODEV => ("this machine cannot run it".to_string(), "`tacet doctor` says why"),
        other => (crate::error::lower_first(other.desc()), "`dmesg` may say more"),
    };
    Error::new(path.display(), cause, remedy)
}
