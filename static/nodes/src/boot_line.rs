// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line of the static kernel, for an emulated node and for one of metal. Pure.
//!
//! The kernel's reader of it is in `kernel/image/static`. Must never be given to a program by its arguments when it
//! has a key: everybody can read those.

use std::net::SocketAddr;

use crate::spec::Link;

/// The emulator's network has one node and its host, at these addresses.
const EMULATED_ADDRESS: &str = "10.0.2.15/24";
const EMULATED_HOST: &str = "10.0.2.2";

/// The words for node number `node` of emulated ones, with the daemon at `port` of this host.
pub fn emulated(node: u32, link: Link, port: u16, service_cpu: bool, key: &str) -> String {
    let service = service(service_cpu);
    match link {
        Link::Net => format!(
            "tacet.node={node} tacet.link=net tacet.address={EMULATED_ADDRESS} tacet.gateway={EMULATED_HOST} \
             tacet.iod={EMULATED_HOST}:{port} tacet.key={key}{service}"
        ),
        // frames carry the port alone
        Link::Bridge | Link::Console | Link::Com2 => {
            format!("tacet.node={node} tacet.link={link} tacet.iod=127.0.0.1:{port} tacet.key={key}{service}")
        }
    }
}

/// The word that keeps CPU 0 free of programs.
fn service(wanted: bool) -> &'static str {
    if wanted { " tacet.service_cpu=1" } else { "" }
}

/// A node of metal.
#[derive(Debug, Clone)]
pub struct Metal {
    pub node: u32,
    /// With the length of its network's prefix: `10.1.0.7/16`.
    pub address: String,
    pub gateway: Option<String>,
    pub iod: SocketAddr,
    /// The longest IP packet of the way to the daemon, in bytes, if it is not Ethernet's 1,500.
    pub mtu: Option<u32>,
    pub service_cpu: bool,
    pub key: String,
}

impl Metal {
    pub fn words(&self) -> String {
        let gateway = self.gateway.as_ref().map_or_else(String::new, |gateway| format!(" tacet.gateway={gateway}"));
        let mtu = self.mtu.map_or_else(String::new, |mtu| format!(" tacet.mtu={mtu}"));
        format!(
            "tacet.node={} tacet.link=net tacet.address={}{gateway} tacet.iod={}{mtu} tacet.key={}{}",
            self.node,
            self.address,
            self.iod,
            self.key,
            service(self.service_cpu)
        )
    }

    /// The file `/tacet/node.cfg` of the node's own disk, which the network's menu ([`network_menu`]) reads.
    pub fn own_file(&self) -> String {
        format!("set tacet_words=\"{}\"\n", self.words())
    }

    /// An entry for GRUB's menu; the image lies where GRUB finds it.
    pub fn grub(&self, image: &str) -> String {
        format!("menuentry 'Tacet static, node {}' {{\n\tmultiboot2 {image} {}\n}}\n", self.node, self.words())
    }
}

/// What GRUB does that came over the network, the same on all nodes. Must never have a key: everybody may read it there.
pub fn network_menu(image: &str) -> String {
    let modules = ["part_msdos", "part_gpt", "fat", "ext2"].map(|module| format!("insmod {module}\n")).concat();
    format!(
        "if [ \"$grub_platform\" = pc ]; then insmod biosdisk; fi\n{modules}\
         search --no-floppy --file --set=own /tacet/node.cfg\nsource ($own)/tacet/node.cfg\n\
         multiboot2 {image} $tacet_words\nboot\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metal() -> Metal {
        Metal {
            node: 7,
            address: "10.1.0.7/16".into(),
            gateway: None,
            iod: "10.1.0.1:4070".parse().unwrap(),
            mtu: None,
            service_cpu: false,
            key: "ab".into(),
        }
    }

    #[test]
    fn an_emulated_node_finds_its_host() {
        assert_eq!(
            emulated(3, Link::Net, 4070, false, "ab"),
            "tacet.node=3 tacet.link=net tacet.address=10.0.2.15/24 tacet.gateway=10.0.2.2 tacet.iod=10.0.2.2:4070 \
             tacet.key=ab"
        );
        assert_eq!(
            emulated(0, Link::Bridge, 4070, true, "ab"),
            "tacet.node=0 tacet.link=bridge tacet.iod=127.0.0.1:4070 tacet.key=ab tacet.service_cpu=1"
        );
    }

    #[test]
    fn the_network_has_the_image_and_a_nodes_own_disk_has_the_key() {
        let metal = metal();
        assert_eq!(metal.own_file(), format!("set tacet_words=\"{}\"\n", metal.words()));
        let menu = network_menu("$prefix/static.elf");
        assert!(menu.contains("source ($own)/tacet/node.cfg\nmultiboot2 $prefix/static.elf $tacet_words\n"), "{menu}");
        assert!(!menu.contains("tacet.key"));
    }

    #[test]
    fn a_metal_node_has_an_entry_for_grub() {
        let metal = metal();
        assert_eq!(
            metal.grub("/boot/static.elf"),
            "menuentry 'Tacet static, node 7' {\n\tmultiboot2 /boot/static.elf tacet.node=7 tacet.link=net \
             tacet.address=10.1.0.7/16 tacet.iod=10.1.0.1:4070 tacet.key=ab\n}\n"
        );
        let words = Metal { mtu: Some(9000), ..metal }.words();
        assert!(words.contains(" tacet.iod=10.1.0.1:4070 tacet.mtu=9000 tacet.key=ab"), "{words}");
    }
}
