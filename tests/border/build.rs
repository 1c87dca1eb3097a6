// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the C end of the border, with the headers that the module uses.

fn main() {
    println!("cargo:rerun-if-changed=src/ends.c");
    println!("cargo:rerun-if-changed=../../abi/include/tacet");
    cc::Build::new()
        .file("src/ends.c")
        .include("../../abi/include")
        .flag("-std=gnu11")
        .warnings_into_errors(true)
        .compile("ends");
}
