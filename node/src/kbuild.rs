// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds a kernel module for a node's kernel, in the tree, with the compiler that this kernel needs.
//!
//! Owns the build directory, which holds a copy of the sources so that three kernels never share objects. Incremental.
//! Must never write into the source directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::error::{Error, OnPath, Result};
use crate::kernel::Kernel;
use crate::provision;

/// One module for one kernel.
#[derive(Debug, Clone)]
pub struct ModuleBuild<'a> {
    /// The directory with the module's `Kbuild`.
    pub source: &'a Path,
    /// Directories that the sources reach as `../<name>`, such as the border's headers.
    pub beside: &'a [(&'a Path, &'a str)],
    /// Objects and the module are left here.
    pub out: &'a Path,
    /// Further arguments of `make`: `W=1`, `C=2`, `V=1`.
    pub arguments: &'a [&'a str],
}

impl ModuleBuild<'_> {
    /// Builds, and returns the modules. The full output is in `build.log` under `out`.
    pub fn run(&self, cache: &Cache, kernel: &Kernel) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(self.out).on(self.out)?;
        copy_newer(self.source, self.out)?;
        let mut shared = vec![(self.out, "module")];
        shared.extend(self.beside);
        let headers = kernel.headers();
        let build = match &headers {
            Some(_) => "/mnt/headers".to_owned(),
            None => format!("/lib/modules/{}/build", kernel.release),
        };
        shared.extend(headers.as_deref().map(|headers| (headers, "headers")));
        let compiler = format!("CC={}", kernel.line.compiler());
        let jobs = format!("-j{}", std::thread::available_parallelism().map_or(2, usize::from));
        // without pahole there is no BTF of modules
        let mut make = vec!["make", &jobs, "-C", &build, "M=/mnt/module", &compiler, "CONFIG_DEBUG_INFO_BTF_MODULES="];
        make.extend(self.arguments);
        make.push("modules");
        let output = provision::inside(cache, &shared, &make).output();
        let output = output.map_err(|e| self.error(kernel, e, "run `cargo xtask setup`"))?;
        let log = self.out.join("build.log");
        let text = [output.stdout, output.stderr].concat();
        fs::write(&log, &text).on(&log)?;
        if !output.status.success() {
            return Err(self.error(
                kernel,
                first_error(&String::from_utf8_lossy(&text)),
                &format!("see {}", log.display()),
            ));
        }
        modules(self.out)
    }

    fn error(&self, kernel: &Kernel, cause: impl std::fmt::Display, remedy: &str) -> Error {
        Error::new(format!("module {} for {}", self.source.display(), kernel.release), cause, remedy)
    }
}

fn first_error(log: &str) -> String {
    let line = log.lines().find(|l| l.contains("rror:") || l.contains("***") || l.contains("undefined!"));
    line.or_else(|| log.lines().last()).unwrap_or("no output").replace("/mnt/module/", "")
}

/// Copies changed files and keeps their times, so that make rebuilds only those; removes sources that no longer exist.
fn copy_newer(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).on(to)?;
    for entry in fs::read_dir(from).on(from)? {
        let entry = entry.on(from)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata().on(&source)?;
        if metadata.is_dir() {
            copy_newer(&source, &target)?;
        } else if is_source(&source) && stale(&metadata, &target) {
            fs::copy(&source, &target).on(&source)?;
            let modified = metadata.modified().on(&source)?;
            fs::File::options().append(true).open(&target).on(&target)?.set_modified(modified).on(&target)?;
        }
    }
    for entry in fs::read_dir(to).on(to)?.flatten() {
        let (made, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if is_source(&made) && !name.ends_with(".mod.c") && !name.starts_with('.') && !from.join(&name).exists() {
            fs::remove_file(&made).on(&made)?;
        }
    }
    Ok(())
}

fn stale(source: &fs::Metadata, target: &Path) -> bool {
    match target.metadata() {
        Ok(target) => target.modified().ok() != source.modified().ok() || target.len() != source.len(),
        Err(_) => true,
    }
}

fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    path.is_file()
        && (["c", "h", "S", "lds", "inc"].contains(&extension)
            || name.starts_with("Kbuild")
            || name.starts_with("Makefile"))
}

fn modules(out: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(out).on(out)?.flatten().map(|e| e.path());
    let made: Vec<_> = entries.filter(|p| p.extension().is_some_and(|e| e == "ko")).collect();
    if made.is_empty() {
        return Err(Error::new(out.display(), "make left no module", "does Kbuild name one in obj-m?"));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_sources_once_and_forgets_removed_ones() {
        let scratch = tempfile::tempdir().expect("scratch");
        let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
        fs::create_dir_all(from.join("arch")).expect("source");
        for name in ["main.c", "arch/boot.S", "Kbuild", "notes.txt"] {
            fs::write(from.join(name), name).expect("source");
        }
        copy_newer(&from, &to).expect("copies");
        assert!(to.join("arch/boot.S").exists() && to.join("Kbuild").exists() && !to.join("notes.txt").exists());
        fs::write(to.join("tacet.mod.c"), "made by make").expect("generated");
        let first = to.join("main.c").metadata().expect("copied").modified().expect("time");
        fs::remove_file(from.join("Kbuild")).expect("removed");
        copy_newer(&from, &to).expect("copies");
        assert_eq!(to.join("main.c").metadata().expect("there").modified().expect("time"), first);
        assert!(!to.join("Kbuild").exists() && to.join("tacet.mod.c").exists());
    }

    #[test]
    fn the_first_error_is_reported() {
        let log = "  CC x.o\n/mnt/module/x.c:3:1: error: expected ';'\nmake: *** [x] Error 1\n";
        assert_eq!(first_error(log), "x.c:3:1: error: expected ';'");
    }
}
