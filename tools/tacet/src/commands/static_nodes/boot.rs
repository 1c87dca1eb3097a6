// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet static boot`: emulated nodes in the background; entries for GRUB for nodes of metal.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use tacet_ctl::{Error, Result, format_bytes};
use tacet_static::boot_line::{Metal, network_menu};
use tacet_static::{key, launch};

use super::shape::{describe, wrong};
use crate::args::{StaticArgs, StaticBoot};
use crate::output;
use crate::text::{count, duration};

/// GRUB's name of the image, if the user gives none; that of a GRUB that came over the network, with its menu.
const IMAGE_FOR_GRUB: &str = "/boot/tacet/static.elf";
const IMAGE_FOR_PXE: &str = "$prefix/static.elf";

pub fn boot(args: StaticBoot, configured: StaticArgs, json: bool) -> Result<u8> {
    if args.metal {
        return metal(&args, json);
    }
    if args.down {
        return down(&args, json);
    }
    let spec = describe(args.nodes, &args.shape.or(configured), 1, None)?;
    if args.dry_run {
        super::print_start(&launch::rehearse(&args.name, &spec)?, json)?;
        return Ok(0);
    }
    let started = Instant::now();
    let facts = launch::boot(&args.name, &spec)?;
    if args.verbose {
        super::note_executor(&facts);
    }
    if json {
        output::json(&facts)?;
        return Ok(0);
    }
    let took = duration(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let nodes = count(spec.nodes, "node", "nodes");
    let each = format!("{}, {} each", count(spec.cpus, "CPU", "CPUs"), format_bytes(spec.memory_bytes));
    output::print(&format!("booted {nodes} ({each}) in {took}; end them: {}\n", end_command(&args.name)))?;
    Ok(0)
}

fn end_command(name: &str) -> String {
    let named = if name == tacet_static::state::DEFAULT_NAME { String::new() } else { format!(" --name {name}") };
    format!("tacet static boot --down{named}")
}

fn down(args: &StaticBoot, json: bool) -> Result<u8> {
    let name = &args.name;
    if args.dry_run {
        let there = tacet_static::state::booted(name)?.is_some();
        if json {
            output::json(&serde_json::json!({ "name": name, "ended": there, "dry_run": true }))?;
            return Ok(0);
        }
        output::print(&if there { format!("would end the nodes `{name}`\n") } else { format!("no nodes `{name}`\n") })?;
        return Ok(0);
    }
    if !launch::down(name)? {
        return Err(Error::new(format!("nodes `{name}`"), "none are booted", "see `tacet static boot`"));
    }
    if json {
        output::json(&serde_json::json!({ "name": name, "ended": true, "dry_run": false }))?;
        return Ok(0);
    }
    output::print(&format!("ended the nodes `{name}`\n"))?;
    Ok(0)
}

fn metal(args: &StaticBoot, json: bool) -> Result<u8> {
    let needs =
        |flag: &str| wrong(Error::new("--metal", format!("{flag} is missing"), "see `tacet static boot --help`"));
    let address = args.address.as_deref().ok_or_else(|| needs("--address"))?;
    let iod = args.iod.ok_or_else(|| needs("--iod"))?;
    if let SocketAddr::V6(_) = iod {
        return Err(wrong(Error::new("--iod", "nodes speak IPv4", "give an IPv4 address")));
    }
    let key = key::in_file(args.key.as_deref().ok_or_else(|| needs("--key"))?)?;
    let usual = if args.pxe.is_some() { IMAGE_FOR_PXE } else { IMAGE_FOR_GRUB };
    let image = args.shape.image.as_deref().unwrap_or(Path::new(usual)).display().to_string();
    let gateway = args.gateway.map(|gateway| gateway.to_string());
    let addresses = addresses(address, args.nodes)?;
    let node = |(node, address)| {
        let key = key::of_node(&key, node)?;
        let (gateway, service_cpu) = (gateway.clone(), args.shape.service_cpu);
        Ok(Metal { node, address, gateway, iod, mtu: args.mtu, service_cpu, key })
    };
    let nodes: Vec<Metal> = (0..).zip(addresses).map(node).collect::<Result<_>>()?;
    if let Some(directory) = &args.pxe {
        write_for_network(directory, &nodes, &image)?;
    }
    if json {
        let entry = |node: Metal| serde_json::json!({ "node": node.node, "kernel_arguments": node.words(), "grub": node.grub(&image) });
        let nodes: Vec<_> = nodes.into_iter().map(entry).collect();
        output::json(&serde_json::json!({ "nodes": nodes }))?;
        return Ok(0);
    }
    if let Some(directory) = &args.pxe {
        let at = directory.display();
        output::print(&format!("{at}/tftp: for the TFTP server; {at}/own/N: for node N's own disk, nobody else's\n"))?;
        return Ok(0);
    }
    output::print(&nodes.iter().map(|node| node.grub(&image)).collect::<String>())?;
    Ok(0)
}

/// The server's menu, and each node's file, which has its key.
fn write_for_network(directory: &Path, nodes: &[Metal], image: &str) -> Result<()> {
    let write = |place: String, text: &str, mode| {
        let path = directory.join(place);
        let made =
            path.parent().map_or(Ok(()), |parent| fs::DirBuilder::new().recursive(true).mode(0o755).create(parent));
        let file = || OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&path);
        let written = made.and_then(|()| file()).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|io| Error::io(path.display(), &io, "name a directory of yours with --pxe"))
    };
    write("tftp/grub/grub.cfg".into(), &network_menu(image), 0o644)?;
    nodes.iter().try_for_each(|node| write(format!("own/{}/tacet/node.cfg", node.node), &node.own_file(), 0o600))
}

/// Consecutive addresses with their network's prefix length.
fn addresses(first: &str, count: u32) -> Result<Vec<String>> {
    let fail = |cause: &str| wrong(Error::new(format!("--address {first}"), cause, "write it like 10.1.0.16/24"));
    let (address, length) = first.split_once('/').ok_or_else(|| fail("the prefix length is missing"))?;
    let address: Ipv4Addr = address.parse().map_err(|_| fail("it is no IPv4 address"))?;
    let length: u32 = length
        .parse()
        .ok()
        .filter(|length| (1..=30).contains(length))
        .ok_or_else(|| fail("the prefix length is wrong"))?;
    let network = u32::MAX << (32 - length);
    let address = u32::from(address);
    let last = address.checked_add(count.saturating_sub(1)).filter(|last| last & network == address & network);
    let last = last.ok_or_else(|| fail("the network has not so many addresses"))?;
    Ok((address..=last).map(|address| format!("{}/{length}", Ipv4Addr::from(address))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_each_other() {
        assert_eq!(addresses("10.1.0.255/16", 2).unwrap(), ["10.1.0.255/16", "10.1.1.0/16"]);
        for (bad, words) in [
            ("10.1.0.7", "prefix length is missing"),
            ("10.1.0/8", "no IPv4 address"),
            ("10.1.0.7/33", "prefix length is wrong"),
            ("10.1.0.255/24", "not so many"),
        ] {
            let error = addresses(bad, 2).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
