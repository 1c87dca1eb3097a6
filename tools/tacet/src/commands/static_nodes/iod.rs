// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet iod`: the daemon for nodes of metal, in the foreground, for a service manager.

use tacet_ctl::status::MACHINE;
use tacet_ctl::{Error, Result};
use tacet_static::state::{self, Facts, State};
use tacet_static::{daemon, key};

use crate::args::IodArgs;
use crate::output;

pub fn iod(args: &IodArgs, json: bool) -> Result<u8> {
    if args.dry_run {
        return rehearse(args, json);
    }
    let told = tacet_words::interrupted::flag();
    let end = told.map_err(|error| Error::new("signals", error, "").with_status(MACHINE))?;
    let state = State::create(&args.name)?;
    let control = match &args.control {
        Some(control) => control.clone(),
        // Nobody else can enter the directory of the set.
        None if args.all_users => state::socket_for_all(&args.name)?,
        None => state.path().join("control"),
    };
    let daemon = daemon::bind_for_metal(&args.key, args.listen, &control, args.nodes, args.all_users)?;
    let address = daemon.address().map_err(daemon::from_iod)?;
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    let (name, port) = (args.name.clone(), address.port());
    let facts = Facts { name, pid, port, control, spec: None, kvm: false, why_kvm: "nodes of metal".into() };
    state.publish(&facts)?;
    if json {
        output::json(&facts)?;
    } else {
        output::print(&format!("serving nodes at {address}, commands at {}\n", facts.control.display()))?;
    }
    daemon.run(&end).map_err(daemon::from_iod)?;
    Ok(0)
}

fn rehearse(args: &IodArgs, json: bool) -> Result<u8> {
    let made = if args.key.exists() {
        key::in_file(&args.key)?;
        ""
    } else {
        ", which would be made"
    };
    if json {
        let key_exists = made.is_empty();
        let facts =
            serde_json::json!({ "listen": args.listen, "key": args.key, "key_exists": key_exists, "dry_run": true });
        output::json(&facts)?;
        return Ok(0);
    }
    let (listen, file) = (args.listen, args.key.display());
    output::print(&format!("would serve nodes at {listen} with the key in {file}{made}\n"))?;
    Ok(0)
}
