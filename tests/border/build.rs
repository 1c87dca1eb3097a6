// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the C end of the border, and the module's choices of places and recalls, with the headers that the module uses.

fn main() {
    println!("cargo:rerun-if-changed=src/ends.c");
    println!("cargo:rerun-if-changed=src/places.c");
    println!("cargo:rerun-if-changed=src/recalls.c");
    println!("cargo:rerun-if-changed=../../abi/include/tacet");
    println!("cargo:rerun-if-changed=../../linux/memory/places.h");
    println!("cargo:rerun-if-changed=../../linux/process/recalled.h");
    cc::Build::new()
        .file("src/ends.c")
        .file("src/places.c")
        .file("src/recalls.c")
        .include("../../abi/include")
        .include("../../linux")
        .flag("-std=gnu11")
        .warnings_into_errors(true)
        .compile("ends");
}
