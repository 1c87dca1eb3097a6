// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Provisions, boots one node, runs one command: `cargo run --example run -- KERNEL SCRIPT`.

use std::time::Instant;

use tacet_node::{Cache, Command, Node, NodeSpec, Result, provision};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let line = arguments.next().unwrap_or_else(|| "6.12".to_owned()).parse()?;
    let script = arguments.next().unwrap_or_else(|| "uname -a".to_owned());
    let cache = Cache::open()?;
    provision::ensure(&cache)?;
    let start = Instant::now();
    let node = Node::boot(&cache, &NodeSpec::new(line))?;
    eprintln!("{} up after {:.1} s", node.release(), start.elapsed().as_secs_f32());
    let output = node.run(&Command::shell(&script))?;
    print!("{}", output.text());
    eprint!("{}", output.error_text());
    node.power_off()?;
    std::process::exit(output.status.shell_code().into())
}
