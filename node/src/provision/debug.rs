// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The debug kernel: Debian's source of line 6.12 with KASAN, UBSAN, lockdep and RCU's own checks, built on this host.
//!
//! Owns `debug/` in the cache. Only [`provide`] builds: it may take an hour, so nothing else may cause it. Built once for
//! each release of the line and each text of the fragment. Must never leave a directory with a result's name that is not
//! a whole result.

use std::fs;
use std::path::{Path, PathBuf};

use super::step::Step;
use super::{image, tree};
use crate::cache::Cache;
use crate::error::{OnPath, Result};
use crate::guest::hash;
use crate::kernel::{Kernel, KernelLine};

/// The options that differ from Debian's.
const FRAGMENT: &str = include_str!("debug/fragment");
const BUILD: &str = include_str!("debug/build.sh");
/// The line whose source and configuration it is made of.
const LINE: KernelLine = KernelLine::V6_12;
/// The build's tree: the nodes' own tree would carry these for nothing else.
const PACKAGES: [&str; 15] = [
    "bc",
    "bison",
    "cpio",
    "dwarves",
    "flex",
    "gcc-14",
    "kmod",
    "libc6-dev",
    "libelf-dev",
    "libssl-dev",
    "linux-source-6.12",
    "make",
    "python3-minimal",
    "rsync",
    "xz-utils",
];

/// Provides it for nodes; quick if it was built before. Waits for another process that builds it.
pub fn provide(cache: &Cache) -> Result<Kernel> {
    super::ensure(cache)?;
    let _building = cache.lock_for("lock-debug")?;
    let debian = image::release_of(cache, LINE)?;
    let key = key(&debian, FRAGMENT);
    let built = result(cache, &key, |new| build(cache, &key, &debian, new))?;
    let release = fs::read_to_string(built.join("release")).on(&built)?;
    let _provisioning = cache.lock()?;
    image::initramfs(cache, KernelLine::Debug, &release, &key, Some(&built))?;
    Kernel::installed(cache, KernelLine::Debug)
}

/// The version of the package that it was built from.
pub fn version(cache: &Cache) -> Result<String> {
    let path = cache.debug_kernel(&key(&image::release_of(cache, LINE)?, FRAGMENT)).join("version");
    fs::read_to_string(&path).on(&path)
}

/// Names a build by everything that it is made of.
fn key(debian: &str, fragment: &str) -> String {
    format!("{debian}-{}", hash(&[fragment, BUILD, &PACKAGES.join(" ")]))
}

/// The directory of a result, made by `work` if it is not there. Results of other keys are removed then.
fn result(cache: &Cache, key: &str, work: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let built = cache.debug_kernel(key);
    if built.exists() {
        return Ok(built);
    }
    let all = cache.debug_kernels();
    fs::create_dir_all(&all).on(&all)?;
    // an interrupted build of the same key continues where it was
    remove_others(cache, |name| name.ends_with(key))?;
    let new = all.join(format!("new-{key}"));
    fs::create_dir_all(&new).on(&new)?;
    work(&new)?;
    fs::rename(&new, &built).on(&built)?;
    remove_others(cache, |name| name == key)?;
    Ok(built)
}

fn remove_others(cache: &Cache, keep: impl Fn(&str) -> bool) -> Result<()> {
    let all = cache.debug_kernels();
    let entries = fs::read_dir(&all).on(&all)?.flatten();
    entries
        .filter(|entry| !keep(&entry.file_name().to_string_lossy()))
        .try_for_each(|entry| tree::remove(cache, &entry.path()))
}

fn build(cache: &Cache, key: &str, debian: &str, out: &Path) -> Result<()> {
    let all = cache.debug_kernels();
    let [of_build, scripts, work] = ["tree", "scripts", "work"].map(|name| all.join(format!("{name}-{key}")));
    let made = cache.stamp("debug-tree");
    Step::new(cache, "debug-tree", key).unless_done(|step| {
        tree::remove(cache, &of_build)?;
        let mut make = tree::mmdebstrap("apt", &PACKAGES);
        make.arg("trixie").arg(&of_build).args(tree::sources());
        step.run("making the tree of the debug kernel's build", &mut make)
    })?;
    for directory in [&scripts, &work] {
        fs::create_dir_all(directory).on(directory)?;
    }
    let base = cache.tree().join("boot").join(format!("config-{debian}"));
    fs::copy(&base, scripts.join("base")).on(&base)?;
    for (name, text) in [("fragment", FRAGMENT), ("build.sh", BUILD)] {
        fs::write(scripts.join(name), text).on(&scripts)?;
    }
    let shared = [(scripts.as_path(), "scripts"), (work.as_path(), "work"), (out, "out")];
    let script = ["sh", "/mnt/scripts/build.sh", "/mnt/scripts/base"];
    let said = "building the debug kernel, once (up to an hour on two cores)";
    Step::new(cache, "debug-kernel", key).run(said, &mut tree::inside_of(&of_build, &shared, &script))?;
    // its tree is removed with all that the result does not need
    fs::remove_file(&made).on(&made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_build_is_named_by_all_that_it_is_made_of() {
        let one = key("6.12.1+deb13-cloud-amd64", "CONFIG_KASAN=y");
        assert_eq!(one, key("6.12.1+deb13-cloud-amd64", "CONFIG_KASAN=y"));
        assert_ne!(one, key("6.12.2+deb13-cloud-amd64", "CONFIG_KASAN=y"));
        assert_ne!(one, key("6.12.1+deb13-cloud-amd64", "CONFIG_KASAN=y\nCONFIG_UBSAN=y"));
    }

    #[test]
    fn a_half_result_is_none_and_a_whole_one_is_not_made_again() {
        let scratch = tempfile::tempdir().expect("scratch");
        let cache = Cache::at(scratch.path()).expect("cache");
        let half = |new: &Path| {
            fs::write(new.join("vmlinuz"), "half").on(new)?;
            Err(Error::new("build", "interrupted", "go on"))
        };
        result(&cache, "k1", half).expect_err("it was interrupted");
        assert!(!cache.debug_kernel("k1").exists());
        let mut seen = String::new();
        let whole = |new: &Path| {
            seen = fs::read_to_string(new.join("vmlinuz")).on(new)?;
            fs::write(new.join("vmlinuz"), "whole").on(new)
        };
        let built = result(&cache, "k1", whole).expect("builds");
        // it goes on with what the interrupted one left
        assert_eq!(
            (seen.as_str(), fs::read_to_string(built.join("vmlinuz")).expect("there").as_str()),
            ("half", "whole")
        );
        result(&cache, "k1", |_| panic!("it is there")).expect("is there");
        result(&cache, "k2", |_| Ok(())).expect("builds");
        assert!(!built.exists() && cache.debug_kernel("k2").exists());
    }

    #[test]
    fn the_fragment_has_the_checkers() {
        for option in
            ["KASAN", "KASAN_GENERIC", "UBSAN", "PROVE_LOCKING", "PROVE_RCU", "DEBUG_ATOMIC_SLEEP", "DEBUG_LIST"]
        {
            assert!(FRAGMENT.lines().any(|line| line == format!("CONFIG_{option}=y")), "{option}");
        }
    }
}
