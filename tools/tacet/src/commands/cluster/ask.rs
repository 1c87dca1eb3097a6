// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands that ask the process which holds the cluster.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};
use tacet_ctl::{Error, Result};
use tacet_node::Cache;
use tacet_node::cluster::Door;

use super::wire::{Frame, Question};
use crate::args::{ClusterNode, ClusterRun};
use crate::commands::node_error::from_node;
use crate::output;

pub fn run(args: &ClusterRun, json: bool) -> Result<u8> {
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let on = args.on.clone().unwrap_or_else(|| "n1".to_owned());
    if args.dry_run {
        return rehearsed(json, json!({ "node": on, "command": words }), &format!("run {} on {on}", words.join(" ")));
    }
    let directory = std::env::current_dir().map_err(|io| Error::io("the current directory", &io, ""))?;
    let directory = directory.to_string_lossy().into_owned();
    let mut stream = asked(&Question::Run { on, user: args.user.clone(), directory, words })?;
    followed(&mut stream).map(|(status, _)| status)
}

pub fn status(json: bool) -> Result<u8> {
    let (status, told) = followed(&mut asked(&Question::Status)?)?;
    let facts: Value = serde_json::from_slice(&told).map_err(|error| Error::new("cluster", error, ""))?;
    if json {
        output::json(&facts)?;
        return Ok(status);
    }
    let columns = ["name", "state", "slurm", "frames_received", "frames_sent", "frames_dropped", "frames_lost"];
    let cell = |node: &Value, name: &str| node[name].as_str().map_or_else(|| node[name].to_string(), str::to_owned);
    let rows = facts["nodes"].as_array().into_iter().flatten();
    let rows = rows.map(|node| columns.iter().map(|name| cell(node, name)).collect());
    let headings = ["NODE", "STATE", "SLURM", "RECEIVED>", "SENT>", "DROPPED>", "LOST>"];
    output::print(&output::table(&headings, rows))?;
    Ok(status)
}

/// Kills or boots a node.
pub fn change(verb: &str, said: &str, args: &ClusterNode, json: bool) -> Result<u8> {
    let node = args.node.clone();
    if args.dry_run {
        return rehearsed(json, json!({ "node": node, "verb": verb }), &format!("have {node} {said}"));
    }
    let question = if verb == "kill" { Question::Kill { node } } else { Question::Boot { node } };
    done(json, followed(&mut asked(&question)?)?.0)
}

pub fn down(dry_run: bool, json: bool) -> Result<u8> {
    if dry_run {
        let running = Door::knock(&Cache::open().map_err(from_node)?).is_ok();
        let said = if running { "switch all nodes off" } else { "do nothing: no cluster runs" };
        return rehearsed(json, json!({ "running": running }), said);
    }
    done(json, followed(&mut asked(&Question::Down)?)?.0)
}

fn rehearsed(json: bool, mut facts: Value, said: &str) -> Result<u8> {
    facts["dry_run"] = true.into();
    if json {
        output::json(&facts)?
    } else {
        output::print(&format!("would {said}\n"))?
    }
    Ok(0)
}

fn done(json: bool, status: u8) -> Result<u8> {
    if json {
        output::json(&json!({ "done": status == 0 }))?;
    }
    Ok(status)
}

fn asked(question: &Question) -> Result<UnixStream> {
    let mut stream = Door::knock(&Cache::open().map_err(from_node)?).map_err(from_node)?;
    let line = serde_json::to_string(question).map_err(|error| Error::new("cluster", error, ""))? + "\n";
    stream.write_all(line.as_bytes()).map_err(|io| Error::io("the cluster", &io, ""))?;
    Ok(stream)
}

/// Passes on what comes, to the end. Returns the status and what was told for programs.
fn followed(stream: &mut UnixStream) -> Result<(u8, Vec<u8>)> {
    let mut told = Vec::new();
    loop {
        let gone = |_| Error::new("cluster", "it was switched off meanwhile", "");
        match Frame::read(stream).map_err(gone)? {
            Frame::Stdout(bytes) => passed(&mut io::stdout().lock(), &bytes)?,
            Frame::Stderr(bytes) => passed(&mut io::stderr().lock(), &bytes)?,
            Frame::Told(bytes) => told = bytes,
            Frame::Ended(status) => return Ok((status, told)),
            Frame::Failed([object, cause, remedy]) => return Err(Error::new(object, cause, remedy)),
        }
    }
}

fn passed(to: &mut impl Write, bytes: &[u8]) -> Result<()> {
    to.write_all(bytes).and_then(|()| to.flush()).map_err(|io| Error::io("the command's output", &io, ""))
}
