// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The emulator's command line for one node. Pure: it looks nothing up and starts nothing.
//!
//! Called by `node.rs` and by `--dry-run`. Must never contain the key: everybody can read the arguments of a process, so
//! the kernel's words are in a file of settings.

use std::path::{Path, PathBuf};

use tacet_node::guard_words;

use crate::spec::{Card, Link, Machine, Spec};

/// One node's files in the state directory of its set.
#[derive(Debug)]
pub struct Files {
    pub node: u32,
    /// Settings with the kernel's command line; for the owner's eyes.
    pub settings: PathBuf,
    /// Everything that the kernel says on the serial line.
    pub console: PathBuf,
    /// The socket of a link that is bridged.
    pub link: PathBuf,
    /// The socket by which the emulator tells whether its machine runs.
    pub guard: PathBuf,
    /// The emulator's own words.
    pub log: PathBuf,
}

impl Files {
    pub fn of(directory: &Path, node: u32) -> Files {
        let file = |kind: &str| directory.join(format!("node-{node}.{kind}"));
        let [settings, console, link, guard, log] = ["settings", "log", "link", "guard", "qemu"].map(file);
        Files { node, settings, console, link, guard, log }
    }
}

/// The content of the file of settings.
pub fn settings(words: &str) -> String {
    format!("[machine]\n  append = \"{words}\"\n")
}

/// All arguments after the program's name.
pub fn arguments(spec: &Spec, files: &Files, version: (u32, u32), kvm: bool) -> Vec<String> {
    let mut line: Vec<String> = Vec::new();
    let mut words = |text: &str| line.extend(text.split(' ').map(str::to_owned));
    words("-nodefaults -no-user-config -no-reboot -display none");
    // modern devices: the older kind of virtio has another layout
    words(match spec.machine {
        Machine::Microvm => "-machine microvm -global virtio-mmio.force-legacy=false",
        Machine::Q35 => "-machine q35",
    });
    words(if kvm { "-accel kvm -cpu host" } else { "-accel tcg,thread=multi" });
    if !kvm {
        // version 9's cmpxchg16b corrupts flags
        words(if version < (10, 0) { "-cpu max,cx16=off" } else { "-cpu max" });
    }
    words(&format!("-smp {} -m {}M", spec.cpus, spec.memory_bytes >> 20));
    words("-device isa-debug-exit,iobase=0xf4,iosize=0x4");
    line.extend(["-kernel".into(), spec.image.display().to_string()]);
    line.extend(["-readconfig".into(), files.settings.display().to_string()]);
    line.extend(["-chardev".into(), format!("file,id=console,path={}", escaped(&files.console))]);
    line.extend(["-serial", "chardev:console"].map(str::to_owned));
    line.extend(guard_words(&files.guard));
    link(&mut line, spec, files);
    line.extend(spec.emulator_arguments.iter().map(|word| word.replace("{node}", &files.node.to_string())));
    line
}

fn link(line: &mut Vec<String>, spec: &Spec, files: &Files) {
    let bus = match spec.machine {
        Machine::Microvm => "device",
        Machine::Q35 => "pci",
    };
    if spec.link == Link::Bridge {
        let socket = escaped(&files.link);
        line.extend(["-netdev".into(), format!("stream,id=link,server=off,addr.type=unix,addr.path={socket}")]);
        line.extend(["-device".into(), format!("virtio-net-{bus},netdev=link")]);
        return;
    }
    if spec.link == Link::Net {
        line.extend(["-netdev".into(), "user,id=link,ipv6=off".into()]);
        // the kernel is there already: no firmware needs the card
        let card = match spec.card {
            Card::Virtio => format!("virtio-net-{bus},netdev=link"),
            Card::E1000e | Card::Igb => format!("{},netdev=link,romfile=", spec.card),
        };
        line.extend(["-device".into(), card]);
        return;
    }
    line.extend(["-chardev".into(), format!("socket,id=link,path={}", escaped(&files.link))]);
    if spec.link == Link::Com2 {
        return line.extend(["-serial", "chardev:link"].map(str::to_owned));
    }
    line.extend(["-device".into(), format!("virtio-serial-{bus}")]);
    line.extend(["-device", "virtconsole,chardev=link"].map(str::to_owned));
}

/// In a value of the emulator's option lists, a comma must be doubled.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(spec: &Spec) -> String {
        arguments(spec, &Files::of(Path::new("/s"), 2), (11, 1), false).join(" ")
    }

    #[test]
    fn a_microvm_has_its_network_card_on_mmio() {
        let spec = Spec { cpus: 2, ..Spec::new("/static.elf".into()) };
        let bridged = line(&spec);
        let cable = "-netdev stream,id=link,server=off,addr.type=unix,addr.path=/s/node-2.link";
        assert!(bridged.ends_with(&format!("{cable} -device virtio-net-device,netdev=link")), "{bridged}");
        let line = line(&Spec { link: Link::Net, ..spec });
        assert!(line.contains("-machine microvm "), "{line}");
        assert!(line.contains("-smp 2 -m 256M"), "{line}");
        assert!(line.contains("-kernel /static.elf -readconfig /s/node-2.settings"), "{line}");
        assert!(line.contains("path=/s/node-2.log"), "{line}");
        assert!(line.ends_with("-netdev user,id=link,ipv6=off -device virtio-net-device,netdev=link"), "{line}");
    }

    #[test]
    fn a_card_is_one_of_three() {
        let of = |card| line(&Spec { machine: Machine::Q35, link: Link::Net, card, ..Spec::new("/static.elf".into()) });
        assert!(of(Card::Virtio).ends_with("-device virtio-net-pci,netdev=link"));
        assert!(of(Card::E1000e).ends_with("-device e1000e,netdev=link,romfile="));
        assert!(of(Card::Igb).ends_with("-device igb,netdev=link,romfile="));
    }

    #[test]
    fn a_console_link_is_a_socket() {
        let spec = Spec { machine: Machine::Q35, link: Link::Console, ..Spec::new("/static.elf".into()) };
        let console = line(&spec);
        assert!(console.contains("-chardev socket,id=link,path=/s/node-2.link -device virtio-serial-pci"), "{console}");
        let com2 = line(&Spec { link: Link::Com2, ..spec });
        assert!(com2.ends_with("-serial chardev:link") && !com2.contains("virtio"), "{com2}");
    }

    #[test]
    fn no_argument_has_the_key() {
        let spec = Spec::new("/static.elf".into());
        assert!(!line(&spec).contains("key"));
        assert_eq!(settings("tacet.key=ab"), "[machine]\n  append = \"tacet.key=ab\"\n");
    }

    #[test]
    fn further_words_know_the_node() {
        let words = ["-D", "/log-{node}"].map(str::to_owned).to_vec();
        let spec = Spec { emulator_arguments: words, ..Spec::new("/static.elf".into()) };
        assert!(line(&spec).ends_with("-D /log-2"));
    }

    #[test]
    fn commas_are_doubled() {
        let spec = Spec::new("/static.elf".into());
        let line = arguments(&spec, &Files::of(Path::new("/a,b"), 0), (11, 1), false).join(" ");
        assert!(line.contains("path=/a,,b/node-0.log"), "{line}");
    }
}
