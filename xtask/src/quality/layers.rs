// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The co-kernel's layers, as its crates' dependencies show them.
//!
//! A crate of a layer depends on crates of earlier layers only, and of its own layer only on the folder that it lies in
//! (`arch/x86_64` on `arch`). The border, `abi/`, is for the host on Linux alone, and `static/wire/` for the host without
//! it. The logic of devices, `pico/`, is for the core and the hosts, and uses nothing of the co-kernel. Dependencies of tests
//! alone do not count.

use super::count::{Count, Sources};

const LAYERS: [&str; 5] = ["logic", "arch", "core", "host", "image"];
const KERNEL: &str = "kernel/";
const DEVICES: &str = "pico/";
/// The crate that a host shares with the Linux side: the border of its own node, or the language to another.
const BORDERS: [(&str, &str); 2] = [("abi", "kernel/host/linux"), ("static/wire", "kernel/host/static")];

pub fn layers(sources: &Sources) -> Count {
    let mut offenders = Vec::new();
    for (path, text) in sources {
        let Some(home) =
            path.strip_suffix("/Cargo.toml").filter(|home| home.starts_with(KERNEL) || home.starts_with(DEVICES))
        else {
            continue;
        };
        for on in dependencies(home, text) {
            if !allowed(home, &on) {
                offenders.push(format!("{home} -> {on}"));
            }
        }
    }
    Count { count: offenders.len(), offenders }
}

fn allowed(from: &str, on: &str) -> bool {
    if let Some((_, home)) = BORDERS.iter().find(|(border, _)| *border == on) {
        return from == *home;
    }
    if on.starts_with(DEVICES) {
        return from.starts_with(DEVICES) || layer(from) >= layer("kernel/core");
    }
    match (layer(from), layer(on)) {
        (Some(from), Some(on)) if from > on => true,
        (Some(upper), Some(lower)) if upper == lower => from.starts_with(&format!("{on}/")),
        _ => false,
    }
}

fn layer(path: &str) -> Option<usize> {
    let folder = path.strip_prefix(KERNEL)?.split('/').next()?;
    LAYERS.iter().position(|layer| *layer == folder)
}

/// The folders that a manifest's dependencies name by path, as paths of the repository.
fn dependencies(home: &str, manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        }
        let tests_only = section.contains("dev-dependencies");
        let path = line.split_once("path = \"").and_then(|(_, rest)| rest.split_once('"'));
        if let Some((path, _)) = path.filter(|_| section.contains("dependencies") && !tests_only) {
            found.push(joined(home, path));
        }
    }
    found
}

/// `kernel/core` and `../logic`: `kernel/logic`.
fn joined(home: &str, path: &str) -> String {
    let mut parts: Vec<&str> = home.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => (),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offenders(path: &str, text: &str) -> Vec<String> {
        layers(&[(path.to_owned(), text.to_owned())]).offenders
    }

    #[test]
    fn dependencies_go_down() {
        let core = "[dependencies]\nlogic = { path = \"../logic\" }\narch = { path = \"../arch\" }\n";
        assert!(offenders("kernel/core/Cargo.toml", core).is_empty());
        let up =
            "[dependencies]\n# x\ncore = { path = \"../core\" }\n\n[dev-dependencies]\nhost = { path = \"../host\" }\n";
        assert_eq!(offenders("kernel/arch/Cargo.toml", up), ["kernel/arch -> kernel/core"]);
        let table = "[dependencies.core]\npath = \"../core\"\n";
        assert_eq!(offenders("kernel/logic/Cargo.toml", table), ["kernel/logic -> kernel/core"]);
        assert_eq!(offenders("kernel/core/Cargo.toml", "[dependencies]\nx = { path = \"../metal\" }").len(), 1);
    }

    #[test]
    fn inside_a_layer_only_on_the_folder_above() {
        let arch = "[dependencies]\narch = { path = \"..\" }\n";
        assert!(offenders("kernel/arch/x86_64/Cargo.toml", arch).is_empty());
        let host = "[dependencies]\nlinux = { path = \"../linux\" }\n";
        assert_eq!(offenders("kernel/host/static/Cargo.toml", host).len(), 1);
    }

    #[test]
    fn devices_are_below_the_core_and_use_nothing_of_it() {
        let pico = "[dependencies]\npico = { path = \"../../pico/core\" }\n";
        assert!(offenders("kernel/core/Cargo.toml", pico).is_empty());
        assert_eq!(offenders("kernel/logic/Cargo.toml", pico), ["kernel/logic -> pico/core"]);
        let up = "[dependencies]\npico = { path = \"../../core\" }\nlogic = { path = \"../../../kernel/logic\" }\n";
        assert_eq!(offenders("pico/nvme/core/Cargo.toml", up), ["pico/nvme/core -> kernel/logic"]);
    }

    #[test]
    fn each_host_has_its_own_way_to_linux() {
        let both = "[dependencies]\nabi = { path = \"../../../abi\" }\nship = { path = \"../../../static/wire\" }\n";
        assert_eq!(offenders("kernel/host/linux/Cargo.toml", both), ["kernel/host/linux -> static/wire"]);
        assert_eq!(offenders("kernel/host/static/Cargo.toml", both), ["kernel/host/static -> abi"]);
        let abi = "[dependencies]\nabi = { path = \"../../abi\" }\n";
        assert_eq!(offenders("kernel/core/Cargo.toml", abi), ["kernel/core -> abi"]);
        let abi = "[dependencies]\nabi = { path = \"../../../abi\" }\n";
        assert!(offenders("kernel/host/linux/Cargo.toml", abi).is_empty());
    }
}
