// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hands the linker script to the linker, for the bare target only.

fn main() {
    println!("cargo:rerun-if-changed=link.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        let directory = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo:rustc-link-arg=-T{directory}/link.ld");
    }
}
