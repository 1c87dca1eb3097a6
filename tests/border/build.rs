// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the C end of the border, and the module's choice of places, with the headers that the module uses.

fn main() {
    println!("cargo:rerun-if-changed=src/ends.c");
    println!("cargo:rerun-if-changed=src/places.c");
    println!("cargo:rerun-if-changed=../../abi/include/tacet");
    println!("cargo:rerun-if-changed=../../linux/memory/places.h");
    cc::Build::new()
        .file("src/ends.c")
        .file("src/places.c")
        .include("../../abi/include")
        .include("../../linux")
        .flag("-std=gnu11")
        .warnings_into_errors(true)
        .compile("ends");
}
