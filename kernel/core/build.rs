// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes the dispatches of the core's calls from `abi/syscalls.tbl`, one for each personality: the rows that the hosted
//! column calls local, and those that the static column calls core. The first word of a row's reason names the module.

use std::fmt::Write;
use std::{env, fs};

fn main() {
    let table = env::var("CARGO_MANIFEST_DIR").expect("cargo gives it") + "/../../abi/syscalls.tbl";
    println!("cargo:rerun-if-changed={table}");
    let text = fs::read_to_string(&table).unwrap_or_else(|error| panic!("{table}: {error}"));
    let (mut hosted, mut on_static) = (String::new(), String::new());
    for line in text.lines() {
        let columns: Vec<&str> = line.splitn(5, '\t').collect();
        let [number, name, in_hosted, in_static, reason] = columns[..] else { continue };
        let is_core = in_static.split("; ").next() == Some("core");
        for (serves, arms) in [(in_hosted == "local", &mut hosted), (is_core, &mut on_static)] {
            if serves {
                let module = reason.split_once(": ").map(|(module, _)| module);
                let module = module.unwrap_or_else(|| panic!("{table}: {line}: no module before the reason"));
                writeln!(arms, "        {number} => {module}::{name}(call),").expect("a string takes all");
            }
        }
    }
    let made = dispatch("dispatch_hosted", &hosted) + &dispatch("dispatch_static", &on_static);
    let out = env::var("OUT_DIR").expect("cargo gives it") + "/dispatch.rs";
    fs::write(&out, made).unwrap_or_else(|error| panic!("{out}: {error}"));
}

fn dispatch(name: &str, arms: &str) -> String {
    format!(
        "#[inline(always)]\nfn {name}<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {{\n    match call.user.call_number() {{\n{arms}        _ => CallEnd::NOT_SERVED,\n    }}\n}}\n"
    )
}
