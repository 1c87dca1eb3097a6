// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of the module: does the kernel accept modules, is ours installed, does the loaded one fit this command?
//!
//! Called by `examine`.

use super::Check;
use super::config::{Config, Setting};
use crate::module::Module;
use crate::{Device, Machine};

const SECURE_BOOT: &str = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
const SIGN: &str =
    "sign tacet.ko with an enrolled key (`mokutil --import`; DKMS does it by itself), or turn Secure Boot off";

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    vec![loading(machine), signing(machine), presence(machine), revision(machine)]
}

fn loading(machine: &Machine) -> Check {
    const NAME: &str = "module-loading";
    if machine.text("proc/sys/kernel/modules_disabled").is_some_and(|text| text == "1") {
        return Check::problem(NAME, "kernel.modules_disabled is set", "it can only be cleared by a reboot");
    }
    if Config::read(machine).setting("MODULES") == Setting::Off {
        let remedy = "use a distribution's standard kernel";
        return Check::problem(NAME, "the kernel is built without CONFIG_MODULES", remedy);
    }
    Check::ok(NAME, "the kernel accepts modules")
}

/// Lockdown, forced signatures and Secure Boot lead to one question: does the kernel accept an unsigned module?
fn signing(machine: &Machine) -> Check {
    const NAME: &str = "module-signing";
    let lockdown = machine.text("sys/kernel/security/lockdown");
    let locked = lockdown.as_deref().and_then(selected).is_some_and(|mode| mode != "none");
    let enforced = machine.text("sys/module/module/parameters/sig_enforce").is_some_and(|text| text == "Y")
        || Config::read(machine).setting("MODULE_SIG_FORCE") == Setting::On;
    let secure_boot = std::fs::read(machine.path(SECURE_BOOT)).is_ok_and(|value| value.last() == Some(&1));
    if Module::look(machine).is_loaded() {
        return Check::ok(NAME, "the loaded module was accepted");
    }
    if locked || enforced {
        let why = if locked { "the kernel is locked down" } else { "the kernel enforces signatures" };
        return Check::warning(NAME, format!("{why}: it accepts signed modules only"), SIGN);
    }
    if secure_boot {
        return Check::warning(NAME, "Secure Boot is on: the kernel may accept signed modules only", SIGN);
    }
    Check::ok(NAME, "the kernel needs no signature")
}

/// The word in brackets, as in `[none] integrity confidentiality`.
fn selected(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

fn presence(machine: &Machine) -> Check {
    const NAME: &str = "module";
    let module = Module::look(machine);
    let release = machine.release();
    let headers = machine.exists(&format!("lib/modules/{release}/build/Makefile"));
    match (module.is_loaded(), module.file(), headers) {
        (true, _, _) => Check::ok(NAME, "loaded"),
        (false, Some(file), _) => Check::ok(NAME, format!("not loaded; `tacet up` will load {}", file.display())),
        (false, None, true) => Check::problem(
            NAME,
            format!("none is built for {release}; its headers are here"),
            "`make install` builds it",
        ),
        (false, None, false) => {
            let finding = format!("none is built for {release}, and the kernel's headers are not installed");
            Check::problem(
                NAME,
                finding,
                format!("install linux-headers-{release} (or kernel-devel), then `make install`"),
            )
        }
    }
}

fn revision(machine: &Machine) -> Check {
    const NAME: &str = "module-revision";
    if !Module::look(machine).is_loaded() {
        return Check::ok(NAME, "not known until it is loaded");
    }
    let status = Device::open_at(&machine.path("dev/tacet")).and_then(|device| device.status());
    match status {
        Ok(_) => Check::ok(NAME, "module and command speak the same revision"),
        Err(error) => Check::warning(NAME, error.to_string(), "until then the command cannot use the module"),
    }
}
