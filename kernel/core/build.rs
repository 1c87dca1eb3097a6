// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes the dispatch of local calls from `abi/syscalls.tbl`: a row that says
//! `local` names its module with the first word of its reason.

use std::fmt::Write;
use std::{env, fs};

fn main() {
    let table = env::var("CARGO_MANIFEST_DIR").expect("cargo gives it") + "/../../abi/syscalls.tbl";
    println!("cargo:rerun-if-changed={table}");
    let text = fs::read_to_string(&table).unwrap_or_else(|error| panic!("{table}: {error}"));
    let mut arms = String::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.splitn(5, '\t').collect();
        let [number, name, "local", _, reason] = columns[..] else { continue };
        let (module, _) =
            reason.split_once(": ").unwrap_or_else(|| panic!("{table}: {line}: no module before the reason"));
        writeln!(arms, "        {number} => {module}::{name}(call),").expect("a string takes all");
    }
    let dispatch = format!(
        "#[inline(always)]\npub fn dispatch<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {{\n    match call.user.call_number() {{\n{arms}        _ => CallEnd::NOT_SERVED,\n    }}\n}}\n"
    );
    let out = env::var("OUT_DIR").expect("cargo gives it") + "/dispatch.rs";
    fs::write(&out, dispatch).unwrap_or_else(|error| panic!("{out}: {error}"));
}
