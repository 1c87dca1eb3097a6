// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks whether this kernel can load schedulers at run time, and suggests the nearest alternative if not.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tacet_words::Failure;

use crate::Result;

/// The files of sched_ext.
const DIRECTORY: &str = "/sys/kernel/sched_ext";
/// The name under which the kernel shows our scheduler.
pub const NAME: &str = "tacet_hpl";
/// The kernel may wait for ever while it loads or unloads a scheduler; the commands do not.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The kernel's thread that unloads schedulers.
const HELPER: &str = "sched_ext_helper";

/// Fails with one line if this kernel cannot run HPL.
pub fn check() -> Result<()> {
    let release = nix::sys::utsname::uname().map(|name| name.release().to_string_lossy().into_owned());
    let release = release.unwrap_or_default();
    if !Path::new(DIRECTORY).exists() {
        return Err(Failure::machine(format!(
            "Linux {release} has no sched_ext, which HPL needs (tried on Linux 6.14 to 7.3; CONFIG_SCHED_CLASS_EXT); \
             the nearest alternative is the real-time class with bound ranks, \
             `chrt --fifo 1 mpiexec --bind-to core ...`"
        ))
        .into());
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        let why = format!("Linux {release}: no /sys/kernel/btf/vmlinux: HPL needs CONFIG_DEBUG_INFO_BTF");
        return Err(Failure::machine(why).into());
    }
    Ok(())
}

/// Fails with one line without root.
pub fn check_root() -> Result<()> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    Err(Failure::machine("not permitted: loading and ending a scheduler needs root").into())
}

/// The name of the scheduler that the kernel has loaded; `None` for Linux's own.
pub fn loaded() -> Option<String> {
    let name = fs::read_to_string(Path::new(DIRECTORY).join("root/ops")).ok()?;
    let state = fs::read_to_string(Path::new(DIRECTORY).join("state")).unwrap_or_default();
    (state.trim() != "disabled").then(|| name.trim().to_owned())
}

/// The kernel's word for what it does with its scheduler: `disabled`, `enabling`, `enabled` or `disabling`.
pub fn state() -> String {
    fs::read_to_string(Path::new(DIRECTORY).join("state")).unwrap_or_default().trim().to_owned()
}

/// Why a start or an end takes long, in one line, for whoever has to report it.
pub fn progress() -> String {
    explain(&state(), &helper_stack(Path::new("/proc")))
}

fn explain(state: &str, stack: &str) -> String {
    let place = if stack.is_empty() { String::new() } else { format!(", {HELPER} waits in {stack}") };
    match state {
        "disabling" => format!(
            "the kernel still unloads HPL{place}; tasks that began since then come first: end or stop those that compute; \
             HPL cannot start until the kernel is done; if it never is, restart the node"
        ),
        "enabling" => format!("the kernel still loads HPL{place}; `tacet sched stop` asks it to unload it"),
        other => format!("the kernel's scheduler is {other}{place}"),
    }
}

/// The innermost functions in which the helper thread waits.
fn helper_stack(processes: &Path) -> String {
    let found = fs::read_dir(processes).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_helper = |path: &std::path::PathBuf| {
        // the kernel cuts names at 15 letters, except those of its own threads here
        fs::read_to_string(path.join("comm")).is_ok_and(|comm| HELPER.starts_with(comm.trim()) && comm.len() > 10)
    };
    let stacks = found.filter(is_helper).filter_map(|path| fs::read_to_string(path.join("stack")).ok());
    let name = |line: &str| Some(line.split_whitespace().nth(1)?.split('+').next()?.to_owned());
    let busy = stacks.map(|stack| stack.lines().take(4).filter_map(name).collect::<Vec<_>>());
    // one that waits for work has nothing to do with it
    busy.filter(|names| !names.iter().any(|name| name == "kthread_worker_fn")).map(|names| names.join(" < ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_end_names_where_the_kernel_waits() {
        let scratch = tempfile::tempdir().expect("a directory");
        let process = |number: &str, comm: &str, stack: &str| {
            let path = scratch.path().join(number);
            fs::create_dir(&path).expect("a directory");
            fs::write(path.join("comm"), comm).expect("a file");
            fs::write(path.join("stack"), stack).expect("a file");
        };
        process("7", "sched_ext_helpe\n", "[<0>] synchronize_rcu+0x1/0x2\n[<0>] scx_root_disable+0x3/0x4\n");
        process("8", "sched_ext_helpe\n", "[<0>] kthread_worker_fn+0x1/0x2\n");
        process("9", "bash\n", "[<0>] do_wait+0x1/0x2\n");
        let stack = helper_stack(scratch.path());
        assert_eq!(stack, "synchronize_rcu < scx_root_disable");
        let said = explain("disabling", &stack);
        assert!(
            said.contains("still unloads HPL") && said.contains("synchronize_rcu") && !said.contains('\n'),
            "{said}"
        );
        assert!(explain("enabling", "").contains("still loads"));
    }
}
