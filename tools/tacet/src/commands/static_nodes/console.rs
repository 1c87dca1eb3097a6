// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet static console`: what a node said on its serial line.

use std::fs::File;
use std::io::Read;
use std::thread;
use std::time::Duration;

use tacet_ctl::status::{MACHINE, USAGE};
use tacet_ctl::{Error, Result};
use tacet_static::state;

use crate::args::StaticConsole;
use crate::output;

const GLANCE: Duration = Duration::from_millis(100);

pub fn console(args: &StaticConsole, json: bool) -> Result<u8> {
    let name = &args.set.name;
    let object = format!("node {} of `{name}`", args.node);
    let Some(facts) = state::booted(name)? else {
        return Err(Error::new(object, "the nodes are not booted", "see `tacet static boot`"));
    };
    match &facts.spec {
        None => return Err(Error::new(object, "it is of metal", "look at its own serial line").with_status(MACHINE)),
        Some(spec) if args.node >= spec.nodes => {
            return Err(
                Error::new(object, format!("there are {} nodes", spec.nodes), "count from 0").with_status(USAGE)
            );
        }
        Some(_) => (),
    }
    let directory = state::directory(name)?;
    let path = directory.join(format!("node-{}.log", args.node));
    let fail = |io: std::io::Error| Error::io(path.display(), &io, "");
    let mut file = File::open(&path).map_err(fail)?;
    loop {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(fail)?;
        if !bytes.is_empty() {
            let text = String::from_utf8_lossy(&bytes);
            if json {
                output::json_line(&serde_json::json!({ "node": args.node, "text": text }))?;
            } else {
                output::print(&text)?;
            }
        }
        if !args.follow || !state::is_locked(&directory) {
            return Ok(0);
        }
        thread::sleep(GLANCE);
    }
}
